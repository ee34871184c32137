//! `pad`: more elements around a value.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample,
    Schema, Slice, Slot,
};
use crate::program::{Dim, Type, VarId};

/// `X` with elements `pad_value` before and behind it along its axes, except that of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pad {
    /// For each axis, the number of elements before and behind; none along the rows. The axis of the rows counts as 0.
    pub paddings: Vec<i64>,
    /// The value of the new elements, truncated for integers.
    pub pad_value: f64,
}

attributes!(Pad { paddings: Vec::new(), pad_value = 0.0 });

/// The source of the elements around a value, if they are taken from the value itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PadMode {
    /// The inner elements, mirrored at the first and the last element.
    Reflect,
    /// The first and the last element.
    Replicate,
    /// The elements at the other end.
    Circular,
}

impl PadMode {
    /// The indices of the elements of a padded axis, as [`Gather`](super::Gather) takes them; `None` if the axis is too
    /// short.
    pub fn positions(self, size: i64, before: i64, behind: i64) -> Option<Vec<i64>> {
        let longest = match self {
            PadMode::Reflect => size - 1,
            PadMode::Replicate if size > 0 => i64::MAX,
            PadMode::Replicate => 0,
            PadMode::Circular => size,
        };
        if before.max(behind) > longest || before.min(behind) < 0 {
            return None;
        }
        let position = |at: i64| match self {
            PadMode::Reflect if at < 0 => -at,
            PadMode::Reflect if at >= size => 2 * (size - 1) - at,
            PadMode::Reflect => at,
            PadMode::Replicate => at.clamp(0, size - 1),
            PadMode::Circular => at.rem_euclid(size),
        };
        Some((-before..size + behind).map(position).collect())
    }
}

impl Operation for Pad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "pad",
                doc: "x with more elements around it.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_number(0)?;
        let mut out = cx.ty(0).clone();
        let rows = usize::from(out.rows.is_some());
        let (pairs, rest) = self.paddings.as_chunks::<2>();
        if pairs.len() != out.rank() || !rest.is_empty() {
            let message = format!("{}, and a padding has two numbers for each of its axes", cx.is(0));
            return Err(cx.wrong(0, MismatchKind::Attribute, message));
        }
        if self.paddings.iter().any(|&size| size < 0) {
            let message = format!("`{}` needs paddings of 0 and more; to cut, write `slice`", cx.operator);
            return Err(cx.fail(MismatchKind::Attribute, message));
        }
        let (of_rows, pairs) = pairs.split_at(rows);
        if of_rows.iter().any(|pair| *pair != [0, 0]) {
            let message = format!("{}, and `{}` adds nothing to its rows", cx.is(0), cx.operator);
            return Err(cx.wrong(0, MismatchKind::Attribute, message));
        }
        for (dim, &[before, behind]) in out.dims.iter_mut().zip(pairs) {
            *dim = (&(&*dim + &Dim::from(before))? + &Dim::from(behind))?;
        }
        Ok(vec![out])
    }

    /// The gradient is that of the result without the padding.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let mut part = Slice::of(Vec::new(), Vec::new(), Vec::new());
        for (axis, &[before, behind]) in (0..).zip(self.paddings.as_chunks::<2>().0) {
            if (before, behind) != (0, 0) {
                part.axes.push(axis);
                part.starts.push(before);
                part.ends.push(if behind == 0 { i64::from(i32::MAX) } else { -behind });
            }
        }
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(part, &[grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |paddings: &[i64]| Sample::of(Pad { paddings: paddings.into(), pad_value: 0.5 });
        vec![
            op(&[0, 0, 1, 2]).rows(3, &[4]),
            op(&[0, 0, 1, 0, 0, 3]).rows(2, &[2, 3]),
            op(&[2, 1, 0, 0]).dense(&[2, 3]),
            op(&[0, 0, 0, 0]).rows(1, &[3]),
            op(&[0, 0, 1, 1]).rows(0, &[2]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_its_own_stand_around_a_value() {
        assert_eq!(PadMode::Reflect.positions(3, 2, 1), Some(vec![2, 1, 0, 1, 2, 1]));
        assert_eq!(PadMode::Reflect.positions(3, 3, 0), None);
        assert_eq!(PadMode::Replicate.positions(2, 3, 1), Some(vec![0, 0, 0, 0, 1, 1]));
        assert_eq!(PadMode::Replicate.positions(0, 1, 0), None);
        assert_eq!(PadMode::Circular.positions(3, 2, 1), Some(vec![1, 2, 0, 1, 2, 0]));
        assert_eq!(PadMode::Circular.positions(3, 0, 4), None);
        assert_eq!(PadMode::Circular.positions(3, -1, 0), None);
    }
}
