//! One launch of one group.

use paddle_core::ops::{Op, Program, Sample};
use paddle_core::plan::{
    ALIGNMENT, Backend, Extent, Group, GroupOp, KernelError, Launch, Location, Memory, Operand, OperandType,
};
use paddle_core::program::{DType, Type};

use crate::draw::Draw;
use crate::host::Host;

/// A group with what it is launched on.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) group: Group,
    pub(crate) sizes: Vec<usize>,
    pub(crate) inputs: Vec<Host>,
    /// For each output, the input whose place it takes.
    pub(crate) in_place: Vec<Option<usize>>,
}

/// The layout of a value of a sample: the sizes of its row spaces are the sizes of the launch.
fn layout(ty: &Type) -> OperandType {
    let size = |dim: &paddle_core::program::Dim| dim.constant().expect("samples have known sizes") as usize;
    let rows = ty.rows.map(|rows| Extent::Bound(rows.0 as usize));
    let shape = rows.into_iter().chain(ty.dims.iter().map(|dim| Extent::Fixed(size(dim)))).collect();
    OperandType { dtype: ty.dtype, shape }
}

impl Case {
    /// The operator of a sample, on arbitrary inputs.
    pub(crate) fn of(sample: &Sample, draw: &mut Draw) -> Case {
        let program = sample.program().unwrap_or_else(|error| panic!("{sample:?}: {error}"));
        let [operator] = &program.block(Program::GLOBAL).ops[..] else {
            panic!("the program of a sample has one operator");
        };
        let layouts = |vars: &[_]| vars.iter().map(|&var| layout(program.ty(var))).collect::<Vec<_>>();
        let (mut inputs, outputs) = (layouts(program.inputs()), layouts(&operator.outputs));
        let mut slots = sample.slots.clone();
        let mut values: Vec<Host> = sample.inputs.iter().map(|input| draw.input(input)).collect();
        let mut sizes = sample.row_counts();
        for slot in operator.op.schema().offsets() {
            let offsets = sample.inputs[sample.slots[slot]].offsets().expect("a sample of sequences");
            slots.push(inputs.len());
            inputs.push(OperandType { dtype: DType::I64, shape: vec![Extent::Bound(sizes.len())] });
            sizes.push(offsets.len());
            values.push(Host::I64(offsets));
        }
        let op = GroupOp {
            op: operator.op.clone(),
            inputs: slots.into_iter().map(Operand::Input).collect(),
            outputs: (0..outputs.len()).map(Operand::Output).collect(),
        };
        let in_place = vec![None; outputs.len()];
        Case {
            group: Group { ops: vec![op], inputs, outputs, temporaries: Vec::new(), random_stream: 11 },
            sizes,
            inputs: values,
            in_place,
        }
    }

    /// The only operator.
    pub(crate) fn op(&self) -> &Op {
        &self.group.ops[0].op
    }

    /// The results of a launch: the outputs, then the state that it changed.
    pub(crate) fn run<B: Backend>(&self, backend: &B) -> Result<Vec<Host>, KernelError> {
        let mut placed = Placed::new(self, backend);
        for buffer in &mut placed.buffers {
            backend.poison(buffer);
        }
        placed.upload();
        placed.launch()?;
        Ok(placed.results())
    }
}

/// A case with its operands in memory.
pub(crate) struct Placed<'a, B: Backend> {
    case: &'a Case,
    backend: &'a B,
    locations: Vec<Location>,
    pub(crate) buffers: Vec<B::Buffer>,
}

impl<'a, B: Backend> Placed<'a, B> {
    pub(crate) fn new(case: &'a Case, backend: &'a B) -> Self {
        let group = &case.group;
        // Inputs are in turn in each memory, outputs behind them, with a gap after each.
        let memories = [Memory::Arena, Memory::Tape, Memory::Pool, Memory::Parameters];
        let mut ends = [0; Memory::COUNT];
        let mut locations: Vec<Location> = Vec::new();
        for (i, layout) in group.inputs.iter().chain(&group.outputs).enumerate() {
            let output = i.checked_sub(group.inputs.len());
            if let Some(input) = output.and_then(|output| case.in_place[output]) {
                locations.push(locations[input]);
                continue;
            }
            let memory = memories[i % memories.len()];
            let end = &mut ends[memory as usize];
            locations.push(Location { memory, offset: *end });
            let bytes = layout.elements(&case.sizes) * backend.element_bytes(layout.dtype);
            *end = (*end + bytes + 1).next_multiple_of(ALIGNMENT);
        }
        let buffers = ends.iter().map(|&end| backend.allocate(end).unwrap()).collect();
        Placed { case, backend, locations, buffers }
    }

    pub(crate) fn upload(&mut self) {
        for (input, location) in self.case.inputs.iter().zip(&self.locations) {
            let buffer = &mut self.buffers[location.memory as usize];
            self.backend.upload(input.slice(), buffer, location.offset);
        }
    }

    pub(crate) fn launch(&mut self) -> Result<(), KernelError> {
        let Case { group, sizes, .. } = self.case;
        let kernel = self.backend.compile(group).unwrap_or_else(|error| panic!("{}", error.message));
        let launch = Launch { sizes, locations: &self.locations, seed: 5 };
        self.backend.launch(&kernel, launch, &mut self.buffers)
    }

    /// What is written: the outputs, then the state that is changed.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&'a OperandType, Location)> {
        let Group { ops, inputs, outputs, .. } = &self.case.group;
        let changed = ops[0].changed().map(|operand| match operand {
            Operand::Input(i) => i,
            other => panic!("{other:?} is changed"),
        });
        let operands = (inputs.len()..self.locations.len()).chain(changed);
        let layouts: Vec<&OperandType> = inputs.iter().chain(outputs).collect();
        operands.map(move |i| (layouts[i], self.locations[i])).collect::<Vec<_>>().into_iter()
    }

    pub(crate) fn results(&self) -> Vec<Host> {
        let read = |(layout, location): (&OperandType, Location)| {
            let mut host =
                Host::zeros(kept_as(self.backend, layout.dtype), layout.elements(&self.case.sizes));
            self.backend.download(&self.buffers[location.memory as usize], location.offset, host.slice_mut());
            host
        };
        self.written().map(read).collect()
    }
}

/// The type in which a backend's results are seen whole.
pub(crate) fn kept_as(backend: &impl Backend, dtype: DType) -> DType {
    match dtype {
        DType::F32 if backend.element_bytes(dtype) == DType::F64.bytes() => DType::F64,
        _ => dtype,
    }
}
