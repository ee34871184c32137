//! The operands of an operator in a launch, as its arithmetic sees them.

use paddle_core::plan::{Group, GroupOp, KernelError, Launch, Operand, OperandType, Precision, Reach};
use paddle_core::program::DType;

use super::layout::to_row_major;
use super::shape::broadcast;
use super::values::Values;
use super::{Buffer, Reference};

/// The values that an operator writes: its outputs in order, then the inputs that it changes in place.
pub(super) type Results = Result<Vec<Values>, KernelError>;

/// One operator of a launch.
pub(super) struct Call<'a> {
    pub(super) backend: Reference,
    pub(super) group: &'a Group,
    pub(super) op: &'a GroupOp,
    pub(super) launch: Launch<'a>,
    pub(super) memories: &'a dyn Reach<Buffer>,
    /// The values that earlier operators of the group wrote.
    pub(super) written: &'a [(Operand, Values)],
}

impl Call<'_> {
    fn layout(&self, operand: Operand) -> &OperandType {
        match operand {
            Operand::Input(i) => &self.group.inputs[i],
            Operand::Output(i) => &self.group.outputs[i],
            Operand::Temporary(i) => &self.group.temporaries[i],
        }
    }

    fn shape_of(&self, operand: Operand) -> Vec<usize> {
        self.layout(operand).shape.iter().map(|extent| extent.get(self.launch.sizes)).collect()
    }

    /// The shape of input `k`.
    pub(super) fn shape(&self, k: usize) -> Vec<usize> {
        self.shape_of(self.op.inputs[k])
    }

    /// The shape of output `k`.
    pub(super) fn output_shape(&self, k: usize) -> Vec<usize> {
        self.shape_of(self.op.outputs[k])
    }

    /// The element type in which output `k` is stored.
    pub(super) fn output_dtype(&self, k: usize) -> DType {
        self.backend.stored(self.layout(self.op.outputs[k]).dtype)
    }

    /// The elements of input `k`.
    pub(super) fn read(&self, k: usize) -> Values {
        let operand = self.op.inputs[k];
        if let Some((_, values)) = self.written.iter().find(|(target, _)| *target == operand) {
            return values.clone();
        }
        let name = self.op.op.name();
        let Operand::Input(i) = operand else {
            panic!("operand {k} of `{name}` is read before an operator of the group writes it");
        };
        let (layout, location) = (self.layout(operand), self.launch.locations[i]);
        let stored = self.backend.stored(layout.dtype);
        let count = layout.elements(self.launch.sizes);
        let values = self.memories.get(location.memory).read_values(location.offset, stored, count);
        let values =
            values.unwrap_or_else(|| panic!("operand {k} of `{name}` reads memory that nothing wrote"));
        let values = to_row_major(values, layout, self.launch.sizes);
        match self.group.precision {
            Precision::Bf16 if self.op.op.effects().products => values.rounded_to_bf16(),
            _ => values,
        }
    }

    /// The elements of input `k`, which are integers by its shape rule.
    pub(super) fn numbers(&self, k: usize) -> Vec<i64> {
        match self.read(k) {
            Values::I64(numbers) => numbers,
            other => panic!("the shape rule wants numbers of rows, not {}", other.dtype()),
        }
    }

    /// The elements of input `k`, broadcast to the shape of the first output.
    pub(super) fn read_broadcast(&self, k: usize) -> Values {
        self.read(k).at(&broadcast(&self.shape(k), &self.output_shape(0)))
    }
}
