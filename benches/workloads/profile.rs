//! A backend that measures another: where the time of a step goes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paddle::core::ops::Op;
use paddle::core::plan::{
    Backend, Body, Extent, Fault, Group, HostSlice, HostSliceMut, Launch, Layout, Location, Memories,
    OperandType, OutOfMemory, Piece, Takes, Token, Unsupported,
};
use paddle::core::program::DType;

/// Measures everything that `inner` is asked to do in a run.
#[derive(Clone)]
pub(crate) struct Profiled<B> {
    inner: B,
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// A kernel, and the number of its entry.
pub(crate) struct Numbered<K> {
    kernel: K,
    entry: usize,
}

/// One kind of work.
struct Entry {
    name: String,
    calls: u32,
    total: Duration,
}

/// The work that is not kernels: the first entries.
#[derive(Clone, Copy)]
enum Other {
    Upload,
    Download,
    Read,
    Write,
}

const OTHERS: [&str; 4] = ["upload", "download", "read", "write"];

impl<B> Profiled<B> {
    pub(crate) fn new(inner: B) -> Self {
        let profiled = Profiled { inner, entries: Arc::default() };
        for name in OTHERS {
            profiled.add_entry(name.to_string());
        }
        profiled
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_entry(&self, name: String) -> usize {
        let mut entries = self.entries();
        entries.push(Entry { name, calls: 0, total: Duration::ZERO });
        entries.len() - 1
    }

    /// Forgets what was measured.
    pub(crate) fn reset(&self) {
        for entry in self.entries().iter_mut() {
            (entry.calls, entry.total) = (0, Duration::ZERO);
        }
    }

    /// A line for each kind of work, the longest first, per step; then what is left of `wall`.
    pub(crate) fn report(&self, steps: u32, wall: Duration) -> String {
        let steps = f64::from(steps);
        let mut lines: Vec<_> = self
            .entries()
            .iter()
            .filter(|entry| entry.calls > 0)
            .map(|entry| (entry.total.as_secs_f64(), f64::from(entry.calls) / steps, entry.name.clone()))
            .collect();
        lines.sort_by(|a, b| b.0.total_cmp(&a.0));
        let measured: f64 = lines.iter().map(|line| line.0).sum();
        // Half of what a measurement costs falls into what it measures.
        let calls: f64 = lines.iter().map(|line| line.1).sum();
        let clock = calls * steps * self.seconds_per_measurement() / 2.0;
        let wall = wall.as_secs_f64();
        lines.push((clock, calls, "reading the clock, outside of the above".to_string()));
        lines.push((wall - measured - clock, 1.0, "between kernels".to_string()));
        lines.push((wall, 1.0, "a step".to_string()));
        let line = |(seconds, calls, name): (f64, f64, String)| {
            let (micros, share) = (seconds * 1e6 / steps, 100.0 * seconds / wall);
            format!("{micros:9.3} µs {share:5.1} % {calls:6.2} × {name}\n")
        };
        lines.into_iter().map(line).collect()
    }

    fn seconds_per_measurement(&self) -> f64 {
        const COUNT: u32 = 10_000;
        let entry = self.add_entry("nothing".to_string());
        let start = Instant::now();
        for _ in 0..COUNT {
            self.time(entry, || ());
        }
        start.elapsed().as_secs_f64() / f64::from(COUNT)
    }

    fn time<R>(&self, entry: usize, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        let entry = &mut self.entries()[entry];
        entry.calls += 1;
        entry.total += took;
        result
    }

    fn time_other<R>(&self, other: Other, work: impl FnOnce() -> R) -> R {
        self.time(other as usize, work)
    }
}

/// The operators of a group and the shapes of its operands, as far as they are known.
fn name(group: &Group) -> String {
    let ops: Vec<_> = match group.body {
        Some(Body::Move(kind)) => vec![kind.name()],
        _ => group.operators().map(|op| op.op.name()).collect(),
    };
    let shape = |layout: &OperandType| {
        let size = |extent: &Extent| match extent {
            Extent::Fixed(size) => size.to_string(),
            Extent::Bound(_) => "_".to_string(),
        };
        format!("[{}]", layout.shape.iter().map(size).collect::<Vec<_>>().join(", "))
    };
    let shapes = |layouts: &[OperandType]| layouts.iter().map(shape).collect::<Vec<_>>().join(" ");
    format!("{} {} -> {}", ops.join("+"), shapes(&group.inputs), shapes(&group.outputs))
}

impl<B: Backend> Backend for Profiled<B> {
    type Buffer = B::Buffer;
    type Kernel = Numbered<B::Kernel>;
    type Queue = B::Queue;
    type Fallback = B::Fallback;

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        self.inner.element_bytes(dtype)
    }

    fn supports(&self, op: &Op) -> bool {
        self.inner.supports(op)
    }

    fn fallback(&self) -> Option<&B::Fallback> {
        self.inner.fallback()
    }

    fn fuses(&self, body: &Op) -> bool {
        self.inner.fuses(body)
    }

    fn prefers(&self, op: &Op) -> Option<Layout> {
        self.inner.prefers(op)
    }

    fn takes(&self, op: &Op, operand: usize, layout: &Layout) -> Takes {
        self.inner.takes(op, operand, layout)
    }

    fn compile(&self, group: &Group) -> Result<Self::Kernel, Unsupported> {
        Ok(Numbered { kernel: self.inner.compile(group)?, entry: self.add_entry(name(group)) })
    }

    fn allocate(&self, bytes: usize) -> Result<B::Buffer, OutOfMemory> {
        self.inner.allocate(bytes)
    }

    fn poison(&self, buffer: &mut B::Buffer) {
        self.inner.poison(buffer);
    }

    fn upload(&self, from: HostSlice<'_>, to: &mut B::Buffer, offset: usize) {
        self.time_other(Other::Upload, || self.inner.upload(from, to, offset));
    }

    fn download(&self, from: &B::Buffer, offset: usize, to: HostSliceMut<'_>) {
        self.time_other(Other::Download, || self.inner.download(from, offset, to));
    }

    fn duplicate(&self, buffer: &B::Buffer) -> Result<B::Buffer, OutOfMemory> {
        self.inner.duplicate(buffer)
    }

    fn queue(&self) -> Result<B::Queue, OutOfMemory> {
        self.inner.queue()
    }

    fn rearrange(
        &self,
        queue: &mut B::Queue,
        buffer: &mut B::Buffer,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), OutOfMemory> {
        self.inner.rearrange(queue, buffer, bytes, pieces)
    }

    fn reserve(&self, kernel: &Self::Kernel, sizes: &[usize]) -> Result<(), OutOfMemory> {
        self.inner.reserve(&kernel.kernel, sizes)
    }

    fn launch(
        &self,
        queue: &mut B::Queue,
        kernel: &Self::Kernel,
        launch: Launch<'_>,
        memories: &mut Memories<'_, B::Buffer>,
    ) {
        self.time(kernel.entry, || self.inner.launch(queue, &kernel.kernel, launch, memories));
    }

    fn read(
        &self,
        queue: &mut B::Queue,
        at: Location,
        dtype: DType,
        count: usize,
        memories: &mut Memories<'_, B::Buffer>,
    ) -> Token {
        self.time_other(Other::Read, || self.inner.read(queue, at, dtype, count, memories))
    }

    fn write(
        &self,
        queue: &mut B::Queue,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, B::Buffer>,
    ) {
        self.time_other(Other::Write, || self.inner.write(queue, from, to, memories));
    }

    fn wait(&self, queue: &mut B::Queue, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        self.inner.wait(queue, token, to)
    }

    fn finish(&self, queue: &mut B::Queue) -> Result<(), Fault> {
        self.inner.finish(queue)
    }
}
