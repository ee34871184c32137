//! `transpose2`: the axes of a value in another order.

use super::{
    AccuracyClass, Before, Combination, Effects, Gradient, GradientError, Infer, Linear, Mismatch,
    MismatchKind, Operation, Operator, Sample, Schema, Slot, attend,
};
use crate::program::{Type, VarId};

/// Reorders axes: axis `i` of `Out` is axis `perm[i]` of `X`. Rows stay first.
#[derive(Clone, Debug, PartialEq)]
pub struct Transpose {
    /// All axes in their new order. The axis of the rows counts as 0.
    pub perm: Vec<i64>,
}

attributes!(Transpose { perm: Vec::new() });

impl Transpose {
    /// Exchanges an axis and the last one. Applied twice, it changes nothing.
    pub fn to_last(axis: usize, rank: usize) -> Self {
        let mut perm: Vec<i64> = (0..rank as i64).collect();
        perm.swap(axis, rank - 1);
        Transpose { perm }
    }
}

impl Operation for Transpose {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "transpose2",
                doc: "The axes of x in another order.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), ..Effects::ROW_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let ty = cx.ty(0);
        let mut sorted = self.perm.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..ty.rank() as i64) {
            let message = format!("{}, and {:?} is no order of its {} axes", cx.is(0), self.perm, ty.rank());
            return Err(cx.wrong(0, MismatchKind::Attribute, message));
        }
        let rows = usize::from(ty.rows.is_some());
        if rows == 1 && self.perm[0] != 0 {
            let message = format!("{}, and {:?} does not leave its rows first", cx.is(0), self.perm);
            return Err(cx.wrong(0, MismatchKind::Attribute, message));
        }
        let dims = self.perm[rows..].iter().map(|&axis| ty.dims[axis as usize - rows].clone());
        Ok(vec![Type { dims: dims.collect(), ..*ty }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let mut perm = vec![0; self.perm.len()];
        for (i, &axis) in self.perm.iter().enumerate() {
            perm[axis as usize] = i as i64;
        }
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(Transpose { perm }, &[grad])?)])
    }

    fn reordered(&self) -> Option<&[i64]> {
        Some(&self.perm)
    }

    fn combined(&self, operator: &Operator, before: Before<'_>) -> Option<Combination> {
        attend::of_transpose(operator, before)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |perm: &[i64]| Sample::of(Transpose { perm: perm.into() });
        vec![
            op(&[0, 2, 1]).rows(2, &[3, 4]),
            op(&[0, 3, 1, 2]).rows(2, &[2, 3, 4]),
            op(&[1, 0]).dense(&[3, 5]),
            op(&[0, 1]).rows(3, &[2]),
            op(&[]).dense(&[]),
            op(&[0, 2, 1]).rows(0, &[3, 4]),
        ]
    }
}
