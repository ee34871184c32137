//! Products of matrices.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::graph::Writer;
use crate::ops::{Matmul, Operator};

impl Writer<'_> {
    pub(super) fn matmul(
        &mut self,
        operator: &Operator,
        op: Matmul,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let ranks = [0, 1].map(|k: usize| self.program.ty(operator.inputs[k]).rank());
        let mut factors = [x[0].to_string(), x[1].to_string()];
        for ((factor, rank), swap) in factors.iter_mut().zip(ranks).zip([op.trans_x, op.trans_y]) {
            if swap && rank > 1 {
                let mut perm: Vec<i64> = (0..rank as i64).collect();
                perm.swap(rank - 1, rank - 2);
                *factor = self.transposed(factor, &perm);
            }
        }
        Ok(self.node("MatMul", &[&factors[0], &factors[1]]))
    }
}
