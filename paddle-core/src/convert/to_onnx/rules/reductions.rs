//! Reductions, running sums, and the largest elements.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::graph::Writer;
use crate::ops::{CumSum, Operator, Reduce, ReduceKind, TopK};
use crate::program::DType;
use crate::wire::onnx::AttributeProto;

impl Writer<'_> {
    pub(super) fn reduce(&mut self, operator: &Operator, op: &Reduce, x: &[&str]) -> String {
        let name = match op.kind {
            // Of nothing, no element is true.
            ReduceKind::Sum | ReduceKind::Any => "ReduceSum",
            ReduceKind::Mean => "ReduceMean",
            ReduceKind::Max => "ReduceMax",
            ReduceKind::Min | ReduceKind::All => "ReduceMin",
            ReduceKind::Prod => "ReduceProd",
        };
        let keep = AttributeProto::int("keepdims", op.keep_dim.into());
        let of_truth = self.program.ty(operator.inputs[0]).dtype == DType::Bool;
        let mut x = if of_truth { self.cast(x[0], DType::I32) } else { x[0].to_string() };
        x = match op.axes.is_empty() {
            true => self.node_with(name, &[&x], [keep]),
            false => {
                let axes = self.ints(&op.axes);
                self.node_with(name, &[&x, &axes], [keep])
            }
        };
        if of_truth { self.cast(&x, DType::Bool) } else { x }
    }

    pub(super) fn cumsum(&mut self, op: CumSum, x: &[&str]) -> String {
        let axis = self.int(op.axis);
        let how = [
            AttributeProto::int("exclusive", op.exclusive.into()),
            AttributeProto::int("reverse", op.reverse.into()),
        ];
        self.node_with("CumSum", &[x[0], &axis], how)
    }

    pub(super) fn top_k(
        &mut self,
        operator: &Operator,
        op: TopK,
        x: &[&str],
    ) -> Result<Vec<String>, LegaliseError> {
        let dims = self.program.shape(self.program.ty(operator.outputs[0]));
        let k = self.size(&dims[op.axis as usize])?;
        let how = [AttributeProto::int("axis", op.axis), AttributeProto::int("largest", op.largest.into())];
        let [values, numbers] = self.nodes_with("TopK", &[x[0], &k], how);
        Ok(vec![values, numbers])
    }
}
