//! `slice`: a part of a value.

use std::ops::Range;

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample, Schema,
};
use crate::program::{Dim, Type, VarId};

/// The elements of `Input` from `starts` to before `ends` along `axes`, which are not that of the rows. Negative bounds
/// count from the end; bounds outside are moved inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The axes, that of the rows counted as 0.
    pub axes: Vec<i64>,
    /// The first element along each.
    pub starts: Vec<i64>,
    /// The one behind the last.
    pub ends: Vec<i64>,
}

/// Gradient of [`Slice`]: `Out@GRAD` where the slice was, and zeros around it. Of `Input` only the shape is read.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceGrad {
    /// The axes of the slice.
    pub axes: Vec<i64>,
    /// The first element along each.
    pub starts: Vec<i64>,
    /// The one behind the last.
    pub ends: Vec<i64>,
}

attributes!(Slice { axes, starts, ends });
attributes!(SliceGrad { axes, starts, ends });

/// The elements of an axis of `size` elements that a slice takes.
pub fn slice_range(start: i64, end: i64, size: usize) -> Range<usize> {
    let inside = |bound: i64| match usize::try_from(bound) {
        Ok(bound) => bound.min(size),
        Err(_) => size.saturating_sub(usize::try_from(bound.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let start = inside(start);
    start..inside(end).max(start)
}

/// What [`slice_range`] takes of axis `axis`. Of a size that is a symbol, bounds have to be inside.
fn length(cx: &Infer<'_>, axis: i64, start: i64, end: i64, size: &Dim) -> Result<Dim, Mismatch> {
    let wrong = || {
        let message = format!("{}, of which {start}..{end} along axis {axis} is nothing", cx.is(0));
        cx.wrong(0, MismatchKind::Shape, message)
    };
    if let Some(size) = size.constant().and_then(|size| usize::try_from(size).ok()) {
        let length = Dim::from(slice_range(start, end, size).len() as i64);
        cx.need_positive(&length, wrong)?;
        return Ok(length);
    }
    let bound = |bound: i64| -> Result<Dim, Mismatch> {
        // What PaddlePaddle writes for "to the end".
        if bound >= i64::from(i32::MAX) {
            return Ok(size.clone());
        }
        let room = if bound < 0 { size + &Dim::from(bound) } else { size - &Dim::from(bound) }?;
        cx.need_positive(&(&room + &Dim::from(1))?, || {
            let message = format!("{}, and {start}..{end} is not all inside of axis {axis}", cx.is(0));
            cx.wrong(0, MismatchKind::Shape, message)
        })?;
        Ok(if bound < 0 { room } else { Dim::from(bound) })
    };
    let length = (&bound(end)? - &bound(start)?)?;
    cx.need_positive(&length, wrong)?;
    Ok(length)
}

fn sliced(cx: &Infer<'_>, axes: &[i64], starts: &[i64], ends: &[i64]) -> Result<Type, Mismatch> {
    if axes.len() != starts.len() || axes.len() != ends.len() {
        let message = format!("`{}` needs a start and an end for each axis", cx.operator);
        return Err(cx.fail(MismatchKind::Attribute, message));
    }
    let mut out = cx.ty(0).clone();
    for (i, &axis) in axes.iter().enumerate() {
        let at = cx.need_axis(0, axis)?;
        if axes[..i].contains(&axis) {
            return Err(cx.fail(MismatchKind::Attribute, format!("axis {axis} is sliced twice")));
        }
        out.dims[at] = length(cx, axis, starts[i], ends[i], &out.dims[at])?;
    }
    Ok(out)
}

impl Operation for Slice {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "slice",
            doc: "A part of x.",
            inputs: &["Input"],
            outputs: &["Out"],
            effects: Effects::ROW_WISE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![sliced(cx, &self.axes, &self.starts, &self.ends)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (input, grad) = (g.input(0), g.grad(0)?);
        let Slice { axes, starts, ends } = self.clone();
        Ok(vec![Some(g.emit(SliceGrad { axes, starts, ends }, &[input, grad])?)])
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![Slice { axes: Vec::new(), starts: Vec::new(), ends: Vec::new() }]
    }

    fn samples() -> Vec<Sample> {
        let op = |axes: &[i64], starts: &[i64], ends: &[i64]| {
            Sample::of(Slice { axes: axes.into(), starts: starts.into(), ends: ends.into() })
        };
        vec![
            op(&[1], &[1], &[3]).rows(3, &[4]),
            op(&[1], &[-2], &[100]).rows(2, &[5]),
            op(&[2, 1], &[1, 0], &[3, -1]).rows(2, &[3, 4]),
            op(&[0, 2], &[1, 0], &[2, 2]).dense(&[3, 2, 3]),
            op(&[], &[], &[]).dense(&[2, 2]),
            op(&[1], &[1], &[3]).rows(0, &[4]),
        ]
    }
}

impl Operation for SliceGrad {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "slice_grad",
            doc: "Gradient of `slice`.",
            inputs: &["Input", "Out@GRAD"],
            outputs: &["Input@GRAD"],
            effects: Effects::ROW_WISE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_type(1, &sliced(cx, &self.axes, &self.starts, &self.ends)?)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Err(g.second_order())
    }

    fn reads(&self, k: usize) -> bool {
        k == 1
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![SliceGrad { axes: Vec::new(), starts: Vec::new(), ends: Vec::new() }]
    }
}
