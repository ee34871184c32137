//! One launch of one group.

use paddle_core::ops::{Op, Sample};
use paddle_core::plan::{
    ALIGNMENT, Backend, Extent, Group, GroupOp, KernelError, Launch, Layout, Location, Memory, Operand,
};
use paddle_core::program::{DType, Program, Type};

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
fn layout(ty: &Type) -> Layout {
    let size = |dim: &paddle_core::program::Dim| dim.constant().expect("samples have known sizes") as usize;
    let rows = ty.rows.map(|rows| Extent::Bound(rows.0 as usize));
    let shape = rows.into_iter().chain(ty.dims.iter().map(|dim| Extent::Fixed(size(dim)))).collect();
    Layout { dtype: ty.dtype, shape }
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
        if let Some(slot) = operator.op.operation().sequences() {
            let offsets = sample.inputs[slots[slot]].offsets().expect("a sample of sequences");
            slots.push(inputs.len());
            inputs.push(Layout { dtype: DType::I64, shape: vec![Extent::Bound(sizes.len())] });
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
            group: Group { ops: vec![op], inputs, outputs, temporaries: Vec::new(), stream: 11 },
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
        let kernel = backend.compile(&self.group).unwrap_or_else(|error| panic!("{}", error.message));
        let group = &self.group;
        // Inputs are in turn in each memory, outputs behind them.
        let memories = [Memory::Arena, Memory::Tape, Memory::Pool, Memory::Parameters];
        let mut ends = [0; Memory::COUNT];
        let mut locations = Vec::new();
        for (i, layout) in group.inputs.iter().chain(&group.outputs).enumerate() {
            let output = i.checked_sub(group.inputs.len());
            if let Some(input) = output.and_then(|output| self.in_place[output]) {
                locations.push(locations[input]);
                continue;
            }
            let memory = memories[i % memories.len()];
            let end = &mut ends[memory as usize];
            locations.push(Location { memory, offset: *end });
            let bytes = layout.elements(&self.sizes) * backend.element_bytes(layout.dtype);
            *end = (*end + bytes).next_multiple_of(ALIGNMENT);
        }
        let mut buffers: Vec<B::Buffer> = ends.iter().map(|&end| backend.allocate(end).unwrap()).collect();
        for buffer in &mut buffers {
            backend.poison(buffer);
        }
        for (input, location) in self.inputs.iter().zip(&locations) {
            backend.upload(input.slice(), &mut buffers[location.memory as usize], location.offset);
        }
        let launch = Launch { sizes: &self.sizes, locations: &locations, seed: 5 };
        backend.launch(&kernel, launch, &mut buffers)?;
        let read = |(layout, location): (&Layout, &Location)| {
            let mut host = Host::zeros(kept_as(backend, layout.dtype), layout.elements(&self.sizes));
            backend.download(&buffers[location.memory as usize], location.offset, host.slice_mut());
            host
        };
        let outputs = group.outputs.iter().zip(&locations[group.inputs.len()..]);
        let changes = group.ops[0].op.operation().changes().iter();
        let changed = changes.map(|&k| match group.ops[0].inputs[k] {
            Operand::Input(i) => (&group.inputs[i], &locations[i]),
            other => panic!("{other:?} is changed"),
        });
        Ok(outputs.chain(changed).map(read).collect())
    }
}

/// The type in which a backend's results are seen whole.
pub(crate) fn kept_as(backend: &impl Backend, dtype: DType) -> DType {
    match dtype {
        DType::F32 if backend.element_bytes(dtype) == DType::F64.bytes() => DType::F64,
        _ => dtype,
    }
}
