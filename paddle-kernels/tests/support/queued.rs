//! A device for tests: the CPU behind a queue. Another thread does the queued work, at unpredictable times.
//!
//! It behaves in ways that a backend may and the CPU does not: nothing has been done when a launch returns, and
//! elements that are read arrive later. If the runtime touches memory on which work is queued, it panics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use paddle_core::memory::OutOfMemory;
use paddle_core::ops::Op;
use paddle_core::plan::{
    Backend, Fault, Group, HostSlice, HostSliceMut, Launch, Layout, Location, Memories, Memory, OWN_MEMORIES,
    OperandType, Piece, Precision, Takes, Token, Unsupported, Values,
};
use paddle_core::program::DType;
use paddle_kernels::Cpu;
use paddle_kernels::{cpu, memory};

/// The CPU behind a queue.
#[derive(Clone, Debug)]
pub(crate) struct Queued(pub(crate) Cpu);

/// A kernel that checks that its constants are constant.
pub(crate) struct Kernel {
    kernel: cpu::Kernel,
    constants: Vec<(usize, OperandType)>,
    /// The version of the parameters at the last launch, and the constants at that time.
    seen: Mutex<Option<(u64, Vec<Vec<u8>>)>>,
}

impl Kernel {
    fn check(&self, launch: Launch<'_>, memories: &Memories<'_, memory::Buffer>) {
        let Some(version) = launch.version else { return };
        let constants = self.constants.iter().map(|(at, ty)| {
            let Location { memory, offset } = launch.locations[*at];
            let bytes = ty.elements(launch.sizes) * ty.dtype.bytes();
            memories.get(memory).bytes()[offset..][..bytes].to_vec()
        });
        let constants = constants.collect();
        let mut seen = self.seen.lock().unwrap();
        if let Some((before, were)) = &*seen
            && *before == version
        {
            assert!(*were == constants, "constants change, but not the version of the parameters");
        }
        *seen = Some((version, constants));
    }
}

/// Memory, and the number of jobs in queues that touch it.
#[derive(Clone, Default)]
pub(crate) struct Buffer {
    bytes: Arc<Mutex<memory::Buffer>>,
    pending: Arc<AtomicUsize>,
}

impl Buffer {
    /// The memory. Panics if queued work touches it.
    fn idle(&self) -> MutexGuard<'_, memory::Buffer> {
        let pending = self.pending.load(Ordering::Acquire);
        assert_eq!(pending, 0, "the host touches memory that the device works on");
        self.bytes.lock().unwrap()
    }
}

/// A job of a queue.
type Job = Box<dyn FnOnce(&Cpu, &mut <Cpu as Backend>::Queue) + Send>;

/// The sending end of a queue.
pub(crate) struct Queue {
    jobs: Sender<Job>,
    /// The receivers of the elements of each token.
    reads: BTreeMap<usize, Receiver<Result<Elements, Fault>>>,
    next: usize,
    /// A nanosecond for each launch that was put into the queue, while it measures: a time that tests know.
    worked: Option<Duration>,
}

/// Elements on their way between the host and the device.
#[derive(Debug)]
enum Elements {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Elements {
    fn zeros(dtype: DType, count: usize) -> Self {
        match dtype {
            DType::Bool => Elements::Bool(vec![false; count]),
            DType::I32 => Elements::I32(vec![0; count]),
            DType::I64 => Elements::I64(vec![0; count]),
            DType::F32 => Elements::F32(vec![0.0; count]),
            DType::F64 => Elements::F64(vec![0.0; count]),
        }
    }

    fn of(from: HostSlice<'_>) -> Self {
        match from {
            HostSlice::Bool(from) => Elements::Bool(from.to_vec()),
            HostSlice::I32(from) => Elements::I32(from.to_vec()),
            HostSlice::I64(from) => Elements::I64(from.to_vec()),
            HostSlice::F32(from) => Elements::F32(from.to_vec()),
            HostSlice::F64(from) => Elements::F64(from.to_vec()),
        }
    }

    fn slice(&self) -> HostSlice<'_> {
        match self {
            Elements::Bool(values) => HostSlice::Bool(values),
            Elements::I32(values) => HostSlice::I32(values),
            Elements::I64(values) => HostSlice::I64(values),
            Elements::F32(values) => HostSlice::F32(values),
            Elements::F64(values) => HostSlice::F64(values),
        }
    }

    fn slice_mut(&mut self) -> HostSliceMut<'_> {
        match self {
            Elements::Bool(values) => HostSliceMut::Bool(values),
            Elements::I32(values) => HostSliceMut::I32(values),
            Elements::I64(values) => HostSliceMut::I64(values),
            Elements::F32(values) => HostSliceMut::F32(values),
            Elements::F64(values) => HostSliceMut::F64(values),
        }
    }

    fn copy(&self, to: HostSliceMut<'_>) {
        match (self, to) {
            (Elements::Bool(from), HostSliceMut::Bool(to)) => to.copy_from_slice(from),
            (Elements::I32(from), HostSliceMut::I32(to)) => to.copy_from_slice(from),
            (Elements::I64(from), HostSliceMut::I64(to)) => to.copy_from_slice(from),
            (Elements::F32(from), HostSliceMut::F32(to)) => to.copy_from_slice(from),
            (Elements::F64(from), HostSliceMut::F64(to)) => to.copy_from_slice(from),
            (from, to) => panic!("{from:?} is waited for as {}", to.dtype()),
        }
    }
}

impl Queue {
    fn new(cpu: Cpu) -> Self {
        let (jobs, work) = channel::<Job>();
        thread::spawn(move || {
            let mut queue = cpu.queue().unwrap();
            for (number, job) in work.into_iter().enumerate() {
                // Some jobs are late, some very late.
                match number.wrapping_mul(2_654_435_761) >> 7 & 63 {
                    0 => thread::sleep(Duration::from_micros(100)),
                    1..16 => thread::yield_now(),
                    _ => {}
                }
                job(&cpu, &mut queue);
            }
        });
        Queue { jobs, reads: BTreeMap::new(), next: 0, worked: None }
    }

    fn put(&self, job: impl FnOnce(&Cpu, &mut <Cpu as Backend>::Queue) + Send + 'static) {
        self.jobs.send(Box::new(job)).expect("the device works until its queue is gone");
    }
}

/// The memories that a job needs, one by one. The thread borrows them when it starts the job.
struct Lent(Vec<(Memory, Buffer)>);

impl Lent {
    fn new(locations: &[Location], memories: &Memories<'_, Buffer>) -> Lent {
        let mut needed: Vec<Memory> = locations.iter().map(|at| at.memory).collect();
        needed.sort();
        needed.dedup();
        let lend = |memory| {
            let buffer = memories.get(memory).clone();
            buffer.pending.fetch_add(1, Ordering::AcqRel);
            (memory, buffer)
        };
        Lent(needed.into_iter().map(lend).collect())
    }

    /// Calls `work` with the memories borrowed as the CPU's.
    fn with<R>(self, work: impl FnOnce(&mut Memories<'_, memory::Buffer>) -> R) -> R {
        let mut own: [memory::Buffer; OWN_MEMORIES] = std::array::from_fn(|_| memory::Buffer::new());
        let (mut parameters, mut states) = (Vec::new(), Vec::new());
        let mut swap = |(memory, buffer): &(Memory, Buffer)| {
            let numbered = |buffers: &mut Vec<memory::Buffer>, number: u32| {
                let number = number as usize;
                buffers.resize_with(buffers.len().max(number + 1), memory::Buffer::new);
                std::mem::swap(&mut buffers[number], &mut buffer.bytes.lock().unwrap());
            };
            match memory {
                Memory::Arena => std::mem::swap(&mut own[0], &mut buffer.bytes.lock().unwrap()),
                Memory::Tape => std::mem::swap(&mut own[1], &mut buffer.bytes.lock().unwrap()),
                Memory::Pool => std::mem::swap(&mut own[2], &mut buffer.bytes.lock().unwrap()),
                Memory::Prepared => std::mem::swap(&mut own[3], &mut buffer.bytes.lock().unwrap()),
                Memory::Parameter(number) => numbered(&mut parameters, *number),
                Memory::State(number) => numbered(&mut states, *number),
            }
        };
        self.0.iter().for_each(&mut swap);
        let parameters_lent = Values::Write(&mut parameters);
        let result =
            work(&mut Memories::Of { own: &mut own, parameters: parameters_lent, states: &mut states });
        for (memory, buffer) in &self.0 {
            let from = match memory {
                Memory::Arena => &mut own[0],
                Memory::Tape => &mut own[1],
                Memory::Pool => &mut own[2],
                Memory::Prepared => &mut own[3],
                Memory::Parameter(number) => &mut parameters[*number as usize],
                Memory::State(number) => &mut states[*number as usize],
            };
            std::mem::swap(from, &mut buffer.bytes.lock().unwrap());
            buffer.pending.fetch_sub(1, Ordering::AcqRel);
        }
        result
    }
}

impl Backend for Queued {
    type Buffer = Buffer;
    type Kernel = Arc<Kernel>;
    type Queue = Queue;
    type Fallback = Cpu;

    fn name(&self) -> &'static str {
        "queued"
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        self.0.element_bytes(dtype)
    }

    fn supports(&self, op: &Op, types: &[DType]) -> bool {
        self.0.supports(op, types)
    }

    fn computes_in(&self, precision: Precision) -> bool {
        self.0.computes_in(precision)
    }

    fn prefers(&self, op: &Op) -> Option<Layout> {
        self.0.prefers(op)
    }

    fn takes(&self, op: &Op, operand: usize, layout: &Layout) -> Takes {
        self.0.takes(op, operand, layout)
    }

    fn compile(&self, group: &Group) -> Result<Arc<Kernel>, Unsupported> {
        let constants = group.constants.iter().map(|&at| (at, group.inputs[at].clone())).collect();
        Ok(Arc::new(Kernel { kernel: self.0.compile(group)?, constants, seen: Mutex::new(None) }))
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        let bytes = Arc::new(Mutex::new(self.0.allocate(bytes)?));
        Ok(Buffer { bytes, pending: Arc::default() })
    }

    fn poison(&self, buffer: &mut Buffer) {
        buffer.idle().fill_poison();
    }

    fn upload(&self, from: HostSlice<'_>, to: &mut Buffer, offset: usize) {
        self.0.upload(from, &mut to.idle(), offset);
    }

    fn download(&self, from: &Buffer, offset: usize, to: HostSliceMut<'_>) {
        self.0.download(&from.idle(), offset, to);
    }

    fn duplicate(&self, buffer: &Buffer) -> Result<Buffer, OutOfMemory> {
        let bytes = Arc::new(Mutex::new(self.0.duplicate(&buffer.idle())?));
        Ok(Buffer { bytes, pending: Arc::default() })
    }

    fn queue(&self) -> Result<Queue, OutOfMemory> {
        Ok(Queue::new(self.0.clone()))
    }

    fn rearrange(
        &self,
        queue: &mut Queue,
        buffer: &mut Buffer,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), OutOfMemory> {
        // An allocation without memory for it fails now.
        drop(self.0.allocate(bytes)?);
        let (buffer, pieces) = (buffer.clone(), pieces.to_vec());
        buffer.pending.fetch_add(1, Ordering::AcqRel);
        queue.put(move |cpu, queue| {
            cpu.rearrange(queue, &mut buffer.bytes.lock().unwrap(), bytes, &pieces).unwrap();
            buffer.pending.fetch_sub(1, Ordering::AcqRel);
        });
        Ok(())
    }

    fn reserve(&self, kernel: &Arc<Kernel>, sizes: &[usize]) -> Result<(), OutOfMemory> {
        self.0.reserve(&kernel.kernel, sizes)
    }

    fn launch(
        &self,
        queue: &mut Queue,
        kernel: &Arc<Kernel>,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Buffer>,
    ) {
        let (kernel, lent) = (Arc::clone(kernel), Lent::new(launch.locations, memories));
        let (sizes, locations) = (launch.sizes.to_vec(), launch.locations.to_vec());
        let Launch { seed, number, version, .. } = launch;
        if let Some(worked) = &mut queue.worked {
            *worked += Duration::from_nanos(1);
        }
        queue.put(move |cpu, queue| {
            let launch = Launch { sizes: &sizes, locations: &locations, seed, number, version };
            lent.with(|memories| {
                kernel.check(launch, memories);
                cpu.launch(queue, &kernel.kernel, launch, memories);
            });
        });
    }

    fn read(
        &self,
        queue: &mut Queue,
        at: Location,
        dtype: DType,
        count: usize,
        memories: &mut Memories<'_, Buffer>,
    ) -> Token {
        let (lent, (to, read)) = (Lent::new(&[at], memories), channel());
        queue.put(move |cpu, queue| {
            let token = lent.with(|memories| cpu.read(queue, at, dtype, count, memories));
            let mut elements = Elements::zeros(dtype, count);
            let waited = cpu.wait(queue, token, elements.slice_mut());
            // Nobody waits for the elements of a run that failed.
            let _ = to.send(waited.map(|()| elements));
        });
        queue.reads.insert(queue.next, read);
        queue.next += 1;
        Token(queue.next - 1)
    }

    fn write(
        &self,
        queue: &mut Queue,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, Buffer>,
    ) {
        let (lent, elements) = (Lent::new(&[to], memories), Elements::of(from));
        queue.put(move |cpu, queue| {
            lent.with(|memories| cpu.write(queue, elements.slice(), to, memories));
        });
    }

    fn wait(&self, queue: &mut Queue, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        let read = queue.reads.remove(&token.0).expect("a token is waited for once");
        read.recv().expect("the device has read it")?.copy(to);
        Ok(())
    }

    fn finish(&self, queue: &mut Queue) -> Result<(), Fault> {
        let (to, finished) = channel();
        queue.put(move |cpu, queue| to.send(cpu.finish(queue)).expect("the host waits for it"));
        queue.reads.clear();
        finished.recv().expect("the device has finished")
    }

    fn measure(&self, queue: &mut Queue, on: bool) {
        queue.worked = on.then_some(Duration::ZERO);
    }

    fn worked(&self, queue: &mut Queue) -> Option<Duration> {
        queue.worked.as_mut().map(std::mem::take)
    }
}
