//! A backend that measures another: where the time of a step goes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paddle::core::ops::Op;
use paddle::core::plan::{
    Backend, Elements, Extent, Group, HostSlice, HostSliceMut, KernelError, Launch, Location, Move,
    OperandType, OutOfMemory, Rows, Unsupported,
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
    Select,
    Gather,
    Scatter,
    Copy,
    Zero,
    Add,
    Sequences,
}

const OTHERS: [&str; 9] =
    ["upload", "download", "select", "gather", "scatter", "copy", "zero", "add", "sequences"];

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
    let ops: Vec<_> = group.ops.iter().map(|op| op.op.name()).collect();
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

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        self.inner.element_bytes(dtype)
    }

    fn supports(&self, op: &Op) -> bool {
        self.inner.supports(op)
    }

    fn compile(&self, group: &Group) -> Result<Self::Kernel, Unsupported> {
        Ok(Numbered { kernel: self.inner.compile(group)?, entry: self.add_entry(name(group)) })
    }

    fn allocate(&self, bytes: usize) -> Result<B::Buffer, OutOfMemory> {
        self.inner.allocate(bytes)
    }

    fn grow(&self, buffer: &mut B::Buffer, bytes: usize) -> Result<(), OutOfMemory> {
        self.inner.grow(buffer, bytes)
    }

    fn rearrange(&self, buffer: &mut B::Buffer, bytes: usize, moves: &[Move]) -> Result<(), OutOfMemory> {
        self.inner.rearrange(buffer, bytes, moves)
    }

    fn share(&self, buffer: &B::Buffer) -> B::Buffer {
        self.inner.share(buffer)
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

    fn reserve(&self, kernel: &Self::Kernel, sizes: &[usize]) -> Result<(), OutOfMemory> {
        self.inner.reserve(&kernel.kernel, sizes)
    }

    fn launch(
        &self,
        kernel: &Self::Kernel,
        launch: Launch<'_>,
        buffers: &mut [B::Buffer],
    ) -> Result<(), KernelError> {
        self.time(kernel.entry, || self.inner.launch(&kernel.kernel, launch, buffers))
    }

    fn test(&self, at: Location, buffers: &[B::Buffer]) -> bool {
        self.inner.test(at, buffers)
    }

    fn select(
        &self,
        mask: Location,
        rows: usize,
        yes: Location,
        no: Location,
        buffers: &mut [B::Buffer],
    ) -> usize {
        self.time_other(Other::Select, || self.inner.select(mask, rows, yes, no, buffers))
    }

    fn gather(&self, rows: Rows, from: Location, index: Location, to: Location, buffers: &mut [B::Buffer]) {
        self.time_other(Other::Gather, || self.inner.gather(rows, from, index, to, buffers));
    }

    fn scatter(&self, rows: Rows, from: Location, index: Location, to: Location, buffers: &mut [B::Buffer]) {
        self.time_other(Other::Scatter, || self.inner.scatter(rows, from, index, to, buffers));
    }

    fn add_rows(
        &self,
        rows: Rows,
        dtype: DType,
        from: Location,
        index: Location,
        to: Location,
        buffers: &mut [B::Buffer],
    ) {
        self.time_other(Other::Add, || self.inner.add_rows(rows, dtype, from, index, to, buffers));
    }

    fn compact(&self, rows: Rows, index: Location, at: Location, buffers: &mut [B::Buffer]) {
        self.time_other(Other::Gather, || self.inner.compact(rows, index, at, buffers));
    }

    fn number(&self, count: usize, to: Location, buffers: &mut [B::Buffer]) {
        self.time_other(Other::Sequences, || self.inner.number(count, to, buffers));
    }

    fn order(
        &self,
        sequences: usize,
        offsets: Location,
        order: Location,
        steps: Location,
        counts: &mut Vec<usize>,
        buffers: &mut [B::Buffer],
    ) -> Result<(), OutOfMemory> {
        let sort = || self.inner.order(sequences, offsets, order, steps, counts, buffers);
        self.time_other(Other::Sequences, sort)
    }

    fn take_sequences(
        &self,
        sequences: usize,
        offsets: Location,
        index: Location,
        to: Location,
        tokens: Location,
        buffers: &mut [B::Buffer],
    ) -> usize {
        let take = || self.inner.take_sequences(sequences, offsets, index, to, tokens, buffers);
        self.time_other(Other::Sequences, take)
    }

    fn rebase(&self, count: usize, from: Location, to: Location, buffers: &mut [B::Buffer]) {
        self.time_other(Other::Sequences, || self.inner.rebase(count, from, to, buffers));
    }

    fn collect(
        &self,
        rows: usize,
        tokens: usize,
        rounds: Location,
        offsets: Location,
        buffers: &mut [B::Buffer],
    ) {
        self.time_other(Other::Sequences, || self.inner.collect(rows, tokens, rounds, offsets, buffers));
    }

    fn copy(&self, bytes: usize, from: Location, to: Location, buffers: &mut [B::Buffer]) {
        self.time_other(Other::Copy, || self.inner.copy(bytes, from, to, buffers));
    }

    fn zero(&self, elements: Elements, at: Location, buffers: &mut [B::Buffer]) {
        self.time_other(Other::Zero, || self.inner.zero(elements, at, buffers));
    }

    fn add(&self, elements: Elements, from: Location, to: Location, buffers: &mut [B::Buffer]) {
        self.time_other(Other::Add, || self.inner.add(elements, from, to, buffers));
    }
}
