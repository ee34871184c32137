//! Loops that are written out: iterations one after the other, and what they collect.

use super::{At, Draft};
use crate::convert::error::Fault;
use crate::ops::{Concat, Reshape};
use crate::program::{Dim, VarId};

/// The most iterations that are written one after the other.
pub(in crate::convert) const MOST_ITERATIONS: i64 = 1 << 10;

impl Draft {
    /// Whether a value is a known truth value.
    pub(in crate::convert) fn known_truth(&self, value: VarId) -> Option<bool> {
        match self.constant_of(value)?[..] {
            [number] => Some(number.as_f64() != 0.0),
            _ => None,
        }
    }
}

impl At<'_> {
    /// Values one after the other along an axis, or along a new one. `None` if there are none, or there is no such axis.
    pub(in crate::convert) fn joined(
        &mut self,
        parts: &[VarId],
        axis: i64,
        is_new: bool,
    ) -> Result<Option<VarId>, Fault> {
        let Some(&first) = parts.first() else { return Ok(None) };
        let rank = self.ty(first).rank() as i64 + i64::from(is_new);
        let axis = if axis < 0 { axis + rank } else { axis };
        if !(0..rank).contains(&axis) {
            return Ok(None);
        }
        let mut joined = Vec::with_capacity(parts.len());
        for &part in parts {
            // Rows stay in front only of what is behind them.
            let rows = usize::from(self.ty(part).rows.is_some());
            let is_in_front = axis == 0 && rows == 1;
            let part = if is_in_front { self.rows_to_axis(part)? } else { part };
            if !is_new {
                joined.push(part);
                continue;
            }
            let place = if is_in_front { 0 } else { axis as usize - rows };
            let mut dims = self.ty(part).dims.clone();
            if place > dims.len() {
                return Ok(None);
            }
            dims.insert(place, Dim::from(1));
            joined.push(self.emit(Reshape { dims }, &[part])?);
        }
        self.emit(Concat { axis }, &joined).map(Some)
    }
}
