//! Numbers that are rounded otherwise than our operator rounds.

use super::At;
use crate::convert::error::Fault;
use crate::ops::{BinaryKind, Compare, CompareKind, Select, Unary, UnaryKind};
use crate::program::VarId;

impl At<'_> {
    /// The nearest whole number; of two, the even one. Our operator takes the one further from 0.
    pub(in crate::convert) fn rounded_to_even(&mut self, x: VarId) -> Result<VarId, Fault> {
        let dtype = self.ty(x).dtype;
        let nearest = self.emit(Unary::of(UnaryKind::Round), &[x])?;
        let whole = self.emit(Unary::of(UnaryKind::Trunc), &[x])?;
        let rest = self.binary(BinaryKind::Sub, x, whole)?;
        let rest = self.emit(Unary::of(UnaryKind::Abs), &[rest])?;
        let half = self.number(0.5, dtype)?;
        let is_between = self.emit(Compare { kind: CompareKind::Equal }, &[rest, half])?;
        let even = self.scaled(x, 0.5, 0.0)?;
        let even = self.emit(Unary::of(UnaryKind::Round), &[even])?;
        let even = self.scaled(even, 2.0, 0.0)?;
        self.emit(Select, &[is_between, even, nearest])
    }
}
