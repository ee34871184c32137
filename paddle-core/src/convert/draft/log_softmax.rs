//! Logarithms of softmax.

use super::At;
use crate::convert::error::Fault;
use crate::ops::{Binary, BinaryKind, Reduce, ReduceKind, StopGradient, Unary, UnaryKind};
use crate::program::VarId;

impl At<'_> {
    /// `x - max` and `ln Σ exp(x - max)` along an axis. Their difference is the logarithm of softmax.
    pub(in crate::convert) fn log_softmax_parts(
        &mut self,
        x: VarId,
        axis: usize,
    ) -> Result<[VarId; 2], Fault> {
        let over = |kind| Reduce { kind, axes: vec![axis as i64], keep_dim: true };
        let top = self.emit(over(ReduceKind::Max), &[x])?;
        // The result does not depend on `top`, so its gradients cancel.
        let top = self.emit(StopGradient, &[top])?;
        let shifted = self.emit(Binary { kind: BinaryKind::Sub }, &[x, top])?;
        let exps = self.emit(Unary::of(UnaryKind::Exp), &[shifted])?;
        let sum = self.emit(over(ReduceKind::Sum), &[exps])?;
        Ok([shifted, self.emit(Unary::of(UnaryKind::Log), &[sum])?])
    }
}
