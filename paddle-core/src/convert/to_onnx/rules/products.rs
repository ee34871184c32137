//! Products of matrices.

use crate::convert::to_onnx::graph::Writer;
use crate::ops::{Matmul, Operator};

impl Writer<'_> {
    pub(super) fn matmul(&mut self, operator: &Operator, op: Matmul, x: &[&str]) -> String {
        let ranks = [0, 1].map(|k: usize| self.program.ty(operator.inputs[k]).rank());
        let mut factors = [x[0].to_string(), x[1].to_string()];
        for ((factor, rank), swap) in factors.iter_mut().zip(ranks).zip([op.trans_x, op.trans_y]) {
            if swap && rank > 1 {
                let mut perm: Vec<i64> = (0..rank as i64).collect();
                perm.swap(rank - 1, rank - 2);
                *factor = self.transposed(factor, &perm);
            }
        }
        // onnxruntime takes a transposed matrix and a vector together, and reads the matrix as it was.
        let is_transposed = op.trans_x || op.trans_y;
        let vector = ranks.iter().position(|&rank| rank == 1).filter(|_| is_transposed);
        let Some(vector) = vector else { return self.node("MatMul", &[&factors[0], &factors[1]]) };
        let axis = [-2, -1][vector];
        factors[vector] = self.unsqueezed(&factors[vector], &[[0, 1][vector]]);
        let product = self.node("MatMul", &[&factors[0], &factors[1]]);
        let axes = self.ints(&[axis]);
        self.node("Squeeze", &[&product, &axes])
    }
}
