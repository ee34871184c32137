//! A backend that measures another: where the time of a step goes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use paddle::core::ops::Op;
use paddle::core::plan::{
    Backend, Elements, Group, HostSlice, HostSliceMut, KernelError, Launch, Layout, Location, OutOfMemory,
    Rows, Unsupported,
};
use paddle::core::program::DType;

/// Measures everything that `inner` is asked to do in a run.
#[derive(Clone)]
pub(crate) struct Profiled<B> {
    inner: B,
    times: Arc<Mutex<BTreeMap<String, Time>>>,
}

/// A kernel and what it is called in the report.
pub(crate) struct Named<K> {
    kernel: K,
    name: String,
}

#[derive(Clone, Copy, Default)]
struct Time {
    calls: u32,
    total: Duration,
}

impl<B> Profiled<B> {
    pub(crate) fn new(inner: B) -> Self {
        Profiled { inner, times: Arc::default() }
    }

    /// Forgets what was measured.
    pub(crate) fn reset(&self) {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A line for each kind of work, the longest first, per step; then what is left of `wall`.
    pub(crate) fn report(&self, steps: u32, wall: Duration) -> String {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<_> = times.iter().collect();
        lines.sort_by_key(|(_, time)| std::cmp::Reverse(time.total));
        let per_step = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(steps);
        let share = |time: Duration| 100.0 * time.as_secs_f64() / wall.as_secs_f64();
        let line = |calls: f64, time: Duration, name: &str| {
            format!("{:9.3} µs {:5.1} % {calls:6.2} × {name}\n", per_step(time), share(time))
        };
        let measured: Duration = times.values().map(|time| time.total).sum();
        let mut report: String = lines
            .into_iter()
            .map(|(name, time)| line(f64::from(time.calls) / f64::from(steps), time.total, name))
            .collect();
        report += &line(1.0, wall.saturating_sub(measured), "between kernels, and the clock itself");
        report += &line(1.0, wall, "a step");
        report
    }

    fn time<R>(&self, name: &str, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        if !times.contains_key(name) {
            times.insert(name.to_string(), Time::default());
        }
        if let Some(time) = times.get_mut(name) {
            time.calls += 1;
            time.total += took;
        }
        result
    }
}

/// The operators of a group and the shapes of its operands, as far as they are known.
fn name(group: &Group) -> String {
    let ops: Vec<_> = group.ops.iter().map(|op| op.op.name()).collect();
    let shape = |layout: &Layout| {
        let size = |extent: &paddle::core::plan::Extent| match extent {
            paddle::core::plan::Extent::Fixed(size) => size.to_string(),
            paddle::core::plan::Extent::Bound(_) => "_".to_string(),
        };
        format!("[{}]", layout.shape.iter().map(size).collect::<Vec<_>>().join(", "))
    };
    let shapes = |layouts: &[Layout]| layouts.iter().map(shape).collect::<Vec<_>>().join(" ");
    format!("{} {} -> {}", ops.join("+"), shapes(&group.inputs), shapes(&group.outputs))
}

impl<B: Backend> Backend for Profiled<B> {
    type Buffer = B::Buffer;
    type Kernel = Named<B::Kernel>;

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
        Ok(Named { kernel: self.inner.compile(group)?, name: name(group) })
    }

    fn allocate(&self, bytes: usize) -> Result<B::Buffer, OutOfMemory> {
        self.inner.allocate(bytes)
    }

    fn grow(&self, buffer: &mut B::Buffer, bytes: usize) -> Result<(), OutOfMemory> {
        self.inner.grow(buffer, bytes)
    }

    fn poison(&self, buffer: &mut B::Buffer) {
        self.inner.poison(buffer);
    }

    fn upload(&self, from: HostSlice<'_>, to: &mut B::Buffer, offset: usize) {
        self.time("upload", || self.inner.upload(from, to, offset));
    }

    fn download(&self, from: &B::Buffer, offset: usize, to: HostSliceMut<'_>) {
        self.time("download", || self.inner.download(from, offset, to));
    }

    fn launch(
        &self,
        kernel: &Self::Kernel,
        launch: Launch<'_>,
        buffers: &mut [B::Buffer],
    ) -> Result<(), KernelError> {
        self.time(&kernel.name, || self.inner.launch(&kernel.kernel, launch, buffers))
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
        self.time("select", || self.inner.select(mask, rows, yes, no, buffers))
    }

    fn gather(&self, rows: Rows, from: Location, index: Location, to: Location, buffers: &mut [B::Buffer]) {
        self.time("gather", || self.inner.gather(rows, from, index, to, buffers));
    }

    fn scatter(&self, rows: Rows, from: Location, index: Location, to: Location, buffers: &mut [B::Buffer]) {
        self.time("scatter", || self.inner.scatter(rows, from, index, to, buffers));
    }

    fn copy(&self, bytes: usize, from: Location, to: Location, buffers: &mut [B::Buffer]) {
        self.time("copy", || self.inner.copy(bytes, from, to, buffers));
    }

    fn zero(&self, elements: Elements, at: Location, buffers: &mut [B::Buffer]) {
        self.time("zero", || self.inner.zero(elements, at, buffers));
    }

    fn add(&self, elements: Elements, from: Location, to: Location, buffers: &mut [B::Buffer]) {
        self.time("add", || self.inner.add(elements, from, to, buffers));
    }
}
