//! One launch of one group.

use paddle_core::ops::{Op, Program, Sample};
use paddle_core::plan::{
    ALIGNMENT, Backend, Body, Extent, Group, GroupOp, KernelError, Location, Operand, OperandType,
};
use paddle_core::program::{DType, Type};

use crate::device::{Device, MEMORIES};
use crate::draw::Draw;
use crate::host::Host;

/// A group with its operands.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) group: Group,
    pub(crate) sizes: Vec<usize>,
    pub(crate) inputs: Vec<Host>,
    /// For each output, the input that it replaces.
    pub(crate) in_place: Vec<Option<usize>>,
}

/// The layout of a sample's value. The sizes of its row spaces are those of the launch.
fn layout(ty: &Type) -> OperandType {
    let size = |dim: &paddle_core::program::Dim| dim.constant().expect("samples have known sizes") as usize;
    let rows = ty.rows.map(|rows| Extent::Bound(rows.0 as usize));
    let shape = rows.into_iter().chain(ty.dims.iter().map(|dim| Extent::Fixed(size(dim)))).collect();
    OperandType::new(ty.dtype, shape)
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
            inputs.push(OperandType::new(DType::I64, vec![Extent::Bound(sizes.len())]));
            sizes.push(offsets.len());
            values.push(Host::I64(offsets));
        }
        let op = GroupOp {
            op: operator.op.clone(),
            inputs: slots.into_iter().map(Operand::Input).collect(),
            outputs: (0..outputs.len()).map(Operand::Output).collect(),
        };
        let in_place = vec![None; outputs.len()];
        Case { group: Group::of(op, inputs, outputs, 11), sizes, inputs: values, in_place }
    }

    /// The operator, if it is the only one.
    pub(crate) fn op(&self) -> &Op {
        &self.group.operators().next().expect("a case has an operator").op
    }

    /// The operator with its operands, for changes.
    pub(crate) fn op_mut(&mut self) -> &mut GroupOp {
        match &mut self.group.body {
            Some(Body::Operator(op)) => op,
            _ => &mut self.group.epilogue[0],
        }
    }

    /// Whether a backend has kernels for all operators.
    fn is_supported(&self, backend: &impl Backend) -> bool {
        self.group.operators().all(|op| {
            let operands = op.inputs.iter().chain(&op.outputs);
            let types: Vec<DType> = operands.map(|&operand| self.group.ty(operand).dtype).collect();
            backend.supports(&op.op, &types)
        })
    }

    /// The results of a launch: the outputs, then the changed states.
    pub(crate) fn run<B: Backend>(&self, backend: &B) -> Result<Vec<Host>, KernelError> {
        // What a backend lacks is run by its fallback.
        if let (false, Some(fallback)) = (self.is_supported(backend), backend.fallback()) {
            return self.run(fallback);
        }
        let mut placed = Placed::new(self, backend);
        placed.device.poison();
        placed.upload();
        placed.launch()?;
        Ok(placed.results())
    }
}

/// A case with its operands in memory.
pub(crate) struct Placed<'a, B: Backend> {
    case: &'a Case,
    locations: Vec<Location>,
    pub(crate) device: Device<'a, B>,
}

impl<'a, B: Backend> Placed<'a, B> {
    pub(crate) fn new(case: &'a Case, backend: &'a B) -> Self {
        let group = &case.group;
        // Inputs are placed in the memories in turn, outputs behind them, with a gap after each.
        let mut ends = [0; MEMORIES.len()];
        let mut locations: Vec<Location> = Vec::new();
        for (i, layout) in group.inputs.iter().chain(&group.outputs).enumerate() {
            let output = i.checked_sub(group.inputs.len());
            if let Some(input) = output.and_then(|output| case.in_place[output]) {
                locations.push(locations[input]);
                continue;
            }
            let at = i % MEMORIES.len();
            let end = &mut ends[at];
            locations.push(Location { memory: MEMORIES[at], offset: *end });
            let bytes = layout.elements(&case.sizes) * backend.element_bytes(layout.dtype);
            *end = (*end + bytes + 1).next_multiple_of(ALIGNMENT);
        }
        Placed { case, locations, device: Device::new(backend, ends) }
    }

    pub(crate) fn upload(&mut self) {
        for (input, location) in self.case.inputs.iter().zip(&self.locations) {
            self.device.upload(input.slice(), *location);
        }
    }

    pub(crate) fn launch(&mut self) -> Result<(), KernelError> {
        let Case { group, sizes, .. } = self.case;
        let kernel = self.device.backend.compile(group).unwrap_or_else(|error| panic!("{}", error.message));
        self.device.launch(&kernel, sizes, &self.locations, 5)
    }

    /// The written operands: the outputs, then the changed states.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&'a OperandType, Location)> {
        let Group { inputs, outputs, .. } = &self.case.group;
        let changed = self.case.group.operators().flat_map(|op| op.changed());
        let changed = changed.map(|operand| match operand {
            Operand::Input(i) => i,
            other => panic!("{other:?} is changed"),
        });
        let operands = (inputs.len()..self.locations.len()).chain(changed);
        let layouts: Vec<&OperandType> = inputs.iter().chain(outputs).collect();
        operands.map(move |i| (layouts[i], self.locations[i])).collect::<Vec<_>>().into_iter()
    }

    pub(crate) fn results(&mut self) -> Vec<Host> {
        let written: Vec<_> = self.written().collect();
        let read = |(layout, location): (&OperandType, Location)| {
            let dtype = kept_as(self.device.backend, layout.dtype);
            let mut host = Host::zeros(dtype, layout.elements(&self.case.sizes));
            self.device.download(location, host.slice_mut());
            host
        };
        written.into_iter().map(read).collect()
    }
}

/// The type that shows a backend's results without loss.
pub(crate) fn kept_as(backend: &impl Backend, dtype: DType) -> DType {
    match dtype {
        DType::F32 if backend.element_bytes(dtype) == DType::F64.bytes() => DType::F64,
        _ => dtype,
    }
}
