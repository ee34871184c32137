//! Losses and accuracy.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::formula::input;
use crate::convert::to_onnx::graph::Writer;
use crate::ops::{CrossEntropy, Loss, Operator, Real, SoftmaxWithCrossEntropy};
use crate::program::{DType, Dim, Type};
use crate::wire::onnx::AttributeProto;

/// The least logarithm of a probability.
const LEAST: f64 = -1e20;

impl Writer<'_> {
    pub(super) fn loss(
        &mut self,
        operator: &Operator,
        op: Loss,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let out = self.program.ty(operator.outputs[0]).clone();
        let x = self.aligned(&operator.inputs, x, &out)?;
        let apply = || op.kind.apply(input(0), input(1), op.coefficients);
        Ok(self.formula(&[&x[0], &x[1]], out.dtype, apply))
    }

    pub(super) fn rank_loss(&mut self, operator: &Operator, x: &[&str]) -> Result<String, LegaliseError> {
        let out = self.program.ty(operator.outputs[0]).clone();
        let x = self.aligned(&operator.inputs, x, &out)?;
        let apply = || {
            let difference = input(1) - input(2);
            difference.softplus() - input(0) * difference
        };
        Ok(self.formula(&[&x[0], &x[1], &x[2]], out.dtype, apply))
    }

    pub(super) fn cross_entropy(
        &mut self,
        operator: &Operator,
        op: CrossEntropy,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let dtype = self.program.ty(operator.inputs[0]).dtype;
        let logarithms = self.node("Log", &[x[0]]);
        let least = self.number(LEAST, dtype);
        let logarithms = self.node("Max", &[&logarithms, &least]);
        self.of_labels(operator, &logarithms, x[1], op.soft_label, op.ignore_index)
    }

    pub(super) fn softmax_with_cross_entropy(
        &mut self,
        operator: &Operator,
        op: SoftmaxWithCrossEntropy,
        x: &[&str],
    ) -> Result<Vec<String>, LegaliseError> {
        let last = || [AttributeProto::int("axis", -1)];
        let logarithms = self.node_with("LogSoftmax", &[x[0]], last());
        let loss = self.of_labels(operator, &logarithms, x[1], op.soft_label, op.ignore_index)?;
        let softmax = self.node_with("Softmax", &[x[0]], last());
        let is_loss = operator.op.schema().outputs.iter().map(|slot| slot.name == "Loss");
        Ok(is_loss.map(|is_loss| if is_loss { loss.clone() } else { softmax.clone() }).collect())
    }

    /// The sums of logarithms that labels choose, with the opposite sign, in a column.
    fn of_labels(
        &mut self,
        operator: &Operator,
        logarithms: &str,
        label: &str,
        is_soft: bool,
        ignored: i64,
    ) -> Result<String, LegaliseError> {
        let [values, ids] = [0, 1].map(|k: usize| self.program.ty(operator.inputs[k]).clone());
        let last = self.ints(&[-1]);
        if is_soft {
            let products = self.node("Mul", &[logarithms, label]);
            let sums = self.node("ReduceSum", &[&products, &last]);
            return Ok(self.node("Neg", &[&sums]));
        }
        let label =
            if ids.rank() < values.rank() { self.unsqueezed(label, &[-1]) } else { label.to_string() };
        let mark = self.int(ignored);
        let is_ignored = self.node("Equal", &[&label, &mark]);
        let none = self.int(0);
        let own = self.node("Where", &[&is_ignored, &none, &label]);
        let chosen = self.node_with("GatherElements", &[logarithms, &own], [AttributeProto::int("axis", -1)]);
        let losses = self.node("Neg", &[&chosen]);
        let zero = self.number(0.0, values.dtype);
        Ok(self.node("Where", &[&is_ignored, &zero, &losses]))
    }

    /// The share of rows of which one of the indices is the label, the number of these rows, and of all.
    pub(super) fn accuracy(&mut self, operator: &Operator, x: &[&str]) -> Result<Vec<String>, LegaliseError> {
        let program = self.program;
        let types: Vec<&Type> = operator.outputs.iter().map(|&output| program.ty(output)).collect();
        let [indices, ids] = [1, 2].map(|k: usize| program.ty(operator.inputs[k]));
        let label = if ids.rank() < indices.rank() { self.unsqueezed(x[2], &[-1]) } else { x[2].to_string() };
        let is_label = self.node("Equal", &[x[1], &label]);
        let is_label = self.cast(&is_label, DType::F32);
        let axis = self.ints(&[1]);
        let keep = || [AttributeProto::int("keepdims", 0)];
        let is_right = self.node_with("ReduceMax", &[&is_label, &axis], keep());
        let right = self.node_with("ReduceSum", &[&is_right], keep());
        let rows = indices.rows.map(|rows| Dim::symbol(program.row_space(rows).size));
        let Some(rows) = rows.or_else(|| indices.dims.first().cloned()) else {
            return self.refuse("it has no rows");
        };
        let count = self.size(&rows)?;
        let one = self.ints(&[1]);
        let divisor = self.node("Max", &[&count, &one]);
        let [all, divisor] = [count, divisor].map(|count| self.cast(&count, DType::F32));
        let share = self.node("Div", &[&right, &divisor]);
        let mut outputs = Vec::with_capacity(3);
        for (value, ty) in [&share, &right, &all].into_iter().zip(types) {
            let value = self.cast(value, ty.dtype);
            outputs.push(self.reshaped(&value, ty)?);
        }
        Ok(outputs)
    }
}
