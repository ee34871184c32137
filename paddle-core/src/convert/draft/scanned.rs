//! Running combinations along an axis, by doubling: Hillis and Steele, "Data parallel algorithms", 1986.

use super::{At, Tried};
use crate::convert::error::Fault;
use crate::ops::{Pad, Slice};
use crate::program::{Dim, VarId};

/// The most elements along an axis.
const MOST: i64 = 1 << 20;

impl At<'_> {
    /// For each element, what `combine` makes of all elements up to it along an axis. `neutral` changes nothing.
    pub(in crate::convert) fn scanned(
        &mut self,
        x: VarId,
        axis: usize,
        neutral: f64,
        mut combine: impl FnMut(&mut Self, VarId, VarId) -> Result<VarId, Fault>,
    ) -> Tried {
        let rank = self.ty(x).rank();
        let rows = usize::from(self.ty(x).rows.is_some());
        let size = axis.checked_sub(rows).and_then(|at| self.ty(x).dims.get(at)?.constant());
        let Some(size) = size.filter(|size| *size <= MOST) else {
            return Ok(Err("the size of its axis is not known, or too large"));
        };
        let (mut value, mut distance) = (x, 1);
        while distance < size {
            let mut paddings = vec![0; 2 * rank];
            paddings[2 * axis] = distance;
            let kept = Slice::of(vec![axis as i64], vec![0], vec![size - distance]);
            let before = self.emit(kept, &[value])?;
            let before = self.emit(Pad { paddings, pad_value: neutral }, &[before])?;
            value = combine(self, before, value)?;
            distance *= 2;
        }
        Ok(Ok(value))
    }

    /// The size of an axis, if it is a number.
    pub(in crate::convert) fn constant_size(&self, x: VarId, axis: usize) -> Option<i64> {
        let rows = usize::from(self.ty(x).rows.is_some());
        axis.checked_sub(rows).and_then(|at| self.ty(x).dims.get(at)).and_then(Dim::constant)
    }
}
