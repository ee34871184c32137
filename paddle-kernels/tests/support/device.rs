//! A backend with memories, to launch groups on.

use paddle_core::plan::{
    Backend, Extent, Fault, Group, HostSlice, HostSliceMut, KernelError, Launch, Location, Memories, Memory,
    Move, OWN_MEMORIES, OperandType, Values,
};
use paddle_core::program::DType;

/// A memory of each kind.
pub(crate) const MEMORIES: [Memory; 5] =
    [Memory::Arena, Memory::Tape, Memory::Pool, Memory::Parameter(0), Memory::State(0)];

/// An operand: its location and its type.
pub(crate) type Placed = (Location, OperandType);

/// An operand of this type and shape.
pub(crate) fn placed(at: Location, dtype: DType, shape: &[usize]) -> Placed {
    (at, OperandType::new(dtype, shape.iter().map(|&size| Extent::Fixed(size)).collect()))
}

/// A backend, a queue, and a memory of each kind.
pub(crate) struct Device<'a, B: Backend> {
    pub(crate) backend: &'a B,
    queue: B::Queue,
    own: [B::Buffer; OWN_MEMORIES],
    parameters: [B::Buffer; 1],
    states: [B::Buffer; 1],
}

impl<'a, B: Backend> Device<'a, B> {
    /// Makes a device with these numbers of bytes in each of [`MEMORIES`].
    pub(crate) fn new(backend: &'a B, [arena, tape, pool, parameter, state]: [usize; 5]) -> Self {
        let allocate = |bytes| backend.allocate(bytes).unwrap();
        Device {
            backend,
            queue: backend.queue().unwrap(),
            own: [allocate(arena), allocate(tape), allocate(pool), allocate(0)],
            parameters: [allocate(parameter)],
            states: [allocate(state)],
        }
    }

    fn parts(&mut self) -> (&mut B::Queue, Memories<'_, B::Buffer>) {
        let parameters = Values::Write(&mut self.parameters);
        (&mut self.queue, Memories::Of { own: &mut self.own, parameters, states: &mut self.states })
    }

    pub(crate) fn buffer(&mut self, memory: Memory) -> &mut B::Buffer {
        match memory {
            Memory::Arena => &mut self.own[0],
            Memory::Tape => &mut self.own[1],
            Memory::Pool => &mut self.own[2],
            Memory::Prepared => &mut self.own[3],
            Memory::Parameter(number) => &mut self.parameters[number as usize],
            Memory::State(number) => &mut self.states[number as usize],
        }
    }

    pub(crate) fn poison(&mut self) {
        let backend = self.backend;
        MEMORIES.into_iter().for_each(|memory| backend.poison(self.buffer(memory)));
    }

    pub(crate) fn upload(&mut self, from: HostSlice<'_>, to: Location) {
        let backend = self.backend;
        backend.upload(from, self.buffer(to.memory), to.offset);
    }

    pub(crate) fn download(&mut self, from: Location, to: HostSliceMut<'_>) {
        let backend = self.backend;
        backend.download(self.buffer(from.memory), from.offset, to);
    }

    /// Launches a compiled group, and waits for it.
    pub(crate) fn launch(
        &mut self,
        kernel: &B::Kernel,
        sizes: &[usize],
        locations: &[Location],
        seed: u64,
    ) -> Result<(), KernelError> {
        let backend = self.backend;
        let (queue, mut memories) = self.parts();
        backend.launch(
            queue,
            kernel,
            Launch { sizes, locations, seed, number: 7, version: None },
            &mut memories,
        );
        backend.finish(queue).map_err(|Fault { launch, error }| {
            assert_eq!(launch, 7, "a fault names its launch");
            error
        })
    }

    /// Runs a move, and waits for it.
    pub(crate) fn run(
        &mut self,
        kind: Move,
        inputs: &[Placed],
        outputs: &[Placed],
    ) -> Result<(), KernelError> {
        let types = |operands: &[Placed]| operands.iter().map(|(_, ty)| ty.clone()).collect();
        let group = Group::of_move(kind, types(inputs), types(outputs));
        let kernel = self.backend.compile(&group).unwrap_or_else(|error| panic!("{}", error.message));
        let locations: Vec<Location> = inputs.iter().chain(outputs).map(|(at, _)| *at).collect();
        self.launch(&kernel, &[], &locations, 0)
    }

    /// Reads a value as a run does, and waits for it.
    pub(crate) fn read(&mut self, from: Location, dtype: DType, to: HostSliceMut<'_>) {
        let (backend, count) = (self.backend, to.len());
        let (queue, mut memories) = self.parts();
        let token = backend.read(queue, from, dtype, count, &mut memories);
        backend.wait(queue, token, to).unwrap();
    }

    /// Splits rows by a mask, and returns the number of true ones. The count is written behind everything in the last
    /// memory.
    pub(crate) fn select(
        &mut self,
        mask: Location,
        rows: usize,
        yes: Location,
        no: Location,
        count: Location,
    ) -> usize {
        let numbers = |at| placed(at, DType::I32, &[rows]);
        let outputs = [numbers(yes), numbers(no), placed(count, DType::I32, &[1])];
        self.run(Move::SelectRows, &[placed(mask, DType::Bool, &[rows])], &outputs).unwrap();
        let mut found = [0];
        self.read(count, DType::I32, HostSliceMut::I32(&mut found));
        found[0] as usize
    }
}
