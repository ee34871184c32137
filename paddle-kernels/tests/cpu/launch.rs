//! Launches on memory that holds other data before.

use paddle_core::ops::{Op, Program, Sample};
use paddle_core::plan::{
    ALIGNMENT, Backend, Body, Extent, Group, GroupOp, HostSlice, KernelError, Location, Memory, Operand,
    OperandType, Precision,
};
use paddle_core::program::DType;
use paddle_kernels::Cpu;

use crate::device::Device;

/// A group with its operands, all in one memory.
pub(crate) struct Case {
    pub(crate) group: Group,
    pub(crate) sizes: Vec<usize>,
    pub(crate) inputs: Vec<Values>,
    /// Outputs that replace an input.
    pub(crate) in_place: Vec<(usize, usize)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Values {
    pub(crate) fn slice(&self) -> HostSlice<'_> {
        match self {
            Values::Bool(values) => HostSlice::Bool(values),
            Values::I32(values) => HostSlice::I32(values),
            Values::I64(values) => HostSlice::I64(values),
            Values::F32(values) => HostSlice::F32(values),
            Values::F64(values) => HostSlice::F64(values),
        }
    }

    /// Arbitrary numbers, small and of both signs; class ids are from 0 to 3.
    pub(crate) fn arbitrary(dtype: DType, count: usize, seed: usize) -> Values {
        let number = |i: usize| (i * 7919 + seed * 104_729 + i * i * 13) % 4001;
        let float = |i| number(i) as f64 / 1000.0 - 2.0;
        match dtype {
            DType::Bool => Values::Bool((0..count).map(|i| number(i) % 3 == 0).collect()),
            DType::I32 => Values::I32((0..count).map(|i| number(i) as i32 % 4).collect()),
            DType::I64 => Values::I64((0..count).map(|i| number(i) as i64 % 4).collect()),
            DType::F32 => Values::F32((0..count).map(|i| float(i) as f32).collect()),
            DType::F64 => Values::F64((0..count).map(float).collect()),
        }
    }
}

/// A layout of known sizes. With `rows`, the first size is that of the launch.
pub(crate) fn layout(dtype: DType, shape: &[usize], rows: bool) -> OperandType {
    let extent =
        |(i, size): (usize, &usize)| if rows && i == 0 { Extent::Bound(0) } else { Extent::Fixed(*size) };
    OperandType::new(dtype, shape.iter().enumerate().map(extent).collect())
}

pub(crate) fn apply(op: impl Into<Op>, inputs: &[Operand], outputs: &[Operand]) -> GroupOp {
    GroupOp { op: op.into(), inputs: inputs.to_vec(), outputs: outputs.to_vec() }
}

impl Case {
    /// One operator on dense values of these shapes.
    pub(crate) fn of(op: impl Into<Op>, inputs: &[OperandType], outputs: &[OperandType]) -> Case {
        let from: Vec<_> = (0..inputs.len()).map(Operand::Input).collect();
        let to: Vec<_> = (0..outputs.len()).map(Operand::Output).collect();
        Case::chain(vec![apply(op, &from, &to)], inputs, outputs, &[])
    }

    /// A case of operators on arbitrary values.
    pub(crate) fn chain(
        mut ops: Vec<GroupOp>,
        inputs: &[OperandType],
        outputs: &[OperandType],
        temporaries: &[OperandType],
    ) -> Case {
        let values = inputs.iter().enumerate().map(|(i, layout)| {
            let count = layout.shape.iter().map(|extent| extent.get(&[])).product();
            Values::arbitrary(layout.dtype, count, i)
        });
        // A single operator may be of any kind.
        let is_chain = ops.iter().all(|op| op.op.effects().element_wise);
        let (body, epilogue) = match (is_chain, ops.pop()) {
            (false, Some(op)) => (Some(Body::Operator(op)), ops),
            (_, last) => (None, ops.into_iter().chain(last).collect()),
        };
        Case {
            inputs: values.collect(),
            group: Group {
                body,
                epilogue,
                inputs: inputs.to_vec(),
                outputs: outputs.to_vec(),
                temporaries: temporaries.to_vec(),
                constants: Vec::new(),
                random_stream: 77,
                precision: Precision::F32,
            },
            sizes: Vec::new(),
            in_place: Vec::new(),
        }
    }

    /// A case of a sample.
    pub(crate) fn sample(sample: &Sample) -> Case {
        let program = sample.program().expect("a sample fits its operator");
        let operator = &program.block(Program::GLOBAL).ops[0];
        let layouts = |vars: &[_]| -> Vec<OperandType> {
            let of = |var: &_| {
                let ty = program.ty(*var);
                let dims = ty.dims.iter().map(|dim| Extent::Fixed(dim.constant().expect("known") as usize));
                let rows = ty.rows.map(|rows| Extent::Bound(rows.0 as usize));
                OperandType::new(ty.dtype, rows.into_iter().chain(dims).collect())
            };
            vars.iter().map(of).collect()
        };
        let (mut inputs, outputs) = (layouts(program.inputs()), layouts(&operator.outputs));
        let (mut sizes, mut slots) = (sample.row_counts(), sample.slots.clone());
        let mut offsets = Vec::new();
        for slot in operator.op.schema().offsets() {
            let of_input = sample.inputs[sample.slots[slot]].offsets().expect("a sample of sequences");
            slots.push(inputs.len());
            inputs.push(OperandType::new(DType::I64, vec![Extent::Bound(sizes.len())]));
            sizes.push(of_input.len());
            offsets.push(Values::I64(of_input));
        }
        let mut case = Case::of(operator.op.clone(), &[], &outputs);
        let slots = slots.into_iter().map(Operand::Input).collect();
        match &mut case.group.body {
            Some(Body::Operator(op)) => op.inputs = slots,
            _ => case.group.epilogue[0].inputs = slots,
        }
        // Ids have to be in range.
        let values = sample.inputs.iter().zip(&inputs).enumerate().map(|(i, (input, layout))| {
            let values = Values::arbitrary(layout.dtype, layout.elements(&sizes), i);
            // Arbitrary floating-point numbers are from -2 to 2.
            let (low, high) = input.range;
            let within = |value: f64| low + (value + 2.0) / 4.0 * (high - low);
            match values {
                Values::I64(values) => {
                    let (low, count) = (low as i64, ((high - low) as i64).clamp(1, 4));
                    Values::I64(values.into_iter().map(|id| low + id % count).collect())
                }
                Values::F32(values) => {
                    Values::F32(values.into_iter().map(|value| within(value.into()) as f32).collect())
                }
                Values::F64(values) => Values::F64(values.into_iter().map(within).collect()),
                // Truth values say whether a number is above 0. If the range lies on one side of 0, all are equal.
                Values::Bool(values) if low > 0.0 || high <= 0.0 => {
                    Values::Bool(vec![low > 0.0; values.len()])
                }
                values => values,
            }
        });
        case.inputs = values.chain(offsets).collect();
        case.group.inputs = inputs;
        case.sizes = sizes;
        case
    }

    /// The bytes of every result: the outputs, or the changed states. `before` fills the memory before the launch.
    pub(crate) fn run(&self, cpu: &Cpu, before: u8) -> Result<Vec<Vec<u8>>, KernelError> {
        let Group { inputs, outputs, .. } = &self.group;
        let kernel = cpu.compile(&self.group).unwrap_or_else(|error| panic!("{}", error.message));
        let mut end = 0;
        let mut locations: Vec<Location> = Vec::new();
        for (i, layout) in inputs.iter().chain(outputs).enumerate() {
            let place = self.in_place.iter().find(|(output, _)| i == inputs.len() + output);
            if let Some((_, input)) = place {
                locations.push(locations[*input]);
                continue;
            }
            locations.push(Location { memory: Memory::Arena, offset: end });
            // A gap in which nothing may be written.
            let bytes = layout.elements(&self.sizes) * layout.dtype.bytes();
            end = (end + bytes + 1).next_multiple_of(ALIGNMENT);
        }
        let mut device = Device::new(cpu, [end, 0, 0, 0, 0]);
        device.buffer(Memory::Arena).bytes_mut().fill(before);
        for (values, location) in self.inputs.iter().zip(&locations) {
            device.upload(values.slice(), *location);
        }
        let mut expected = device.buffer(Memory::Arena).bytes().to_vec();
        device.launch(&kernel, &self.sizes, &locations, 3)?;
        let found = device.buffer(Memory::Arena).bytes();
        let first = self.group.operators().next().expect("a case has an operator");
        let changed = first.changed().map(|operand| match operand {
            Operand::Input(i) => i,
            other => panic!("{other:?} is changed"),
        });
        let results = (inputs.len()..locations.len()).chain(changed);
        let layouts: Vec<&OperandType> = inputs.iter().chain(outputs).collect();
        let bytes = results.map(|i| {
            let (start, layout) = (locations[i].offset, layouts[i]);
            let range = start..start + layout.elements(&self.sizes) * layout.dtype.bytes();
            expected[range.clone()].copy_from_slice(&found[range.clone()]);
            found[range].to_vec()
        });
        let bytes = bytes.collect();
        assert!(expected == found, "only outputs are written");
        Ok(bytes)
    }

    /// The elements of the only result.
    pub(crate) fn f32s(&self, cpu: &Cpu) -> Vec<f32> {
        let bytes = self.run(cpu, 0xFF).unwrap();
        let [bytes] = &bytes[..] else { panic!("one result") };
        bytes.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
    }
}
