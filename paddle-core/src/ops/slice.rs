//! `slice`, `strided_slice`: a part of a value.

use super::{
    AccuracyClass, Attribute, AttributeError, AttributeReader, AttributeValue, Attributes, Effects, Gradient,
    GradientError, Infer, Linear, Mismatch, MismatchKind, Operation, Operator, Program, Sample, Schema, Slot,
};
use crate::program::{Dim, Type, VarId};

/// The elements of `Input` from `starts` to before `ends` along `axes`, which are not that of the rows. Negative bounds
/// count from the end. Bounds outside of an axis are moved to its ends.
///
/// With `strides`, only every stride-th of these elements is taken. A negative stride goes backward, from `starts` down
/// to behind `ends`; there, -1 is the place before the first element, as in PaddlePaddle.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The axes. The axis of the rows counts as 0.
    pub axes: Vec<i64>,
    /// The first element along each axis.
    pub starts: Vec<i64>,
    /// The element behind the last one along each axis.
    pub ends: Vec<i64>,
    /// The distance between elements along each axis, not 0. Empty if all are 1.
    pub strides: Vec<i64>,
}

/// Gradient of [`Slice`]: `Out@GRAD` in the place of the slice, and zeros around it. `Input` is read for its shape
/// only.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceGrad(
    /// The operator that is differentiated.
    pub Slice,
);

impl Attributes for Slice {
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = vec![
            ("axes", self.axes.to_attribute()),
            ("starts", self.starts.to_attribute()),
            ("ends", self.ends.to_attribute()),
        ];
        if !self.strides.is_empty() {
            attributes.push(("strides", self.strides.to_attribute()));
        }
        attributes
    }

    fn with_attributes(&self, mut reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
        let (axes, starts) = (reader.take("axes", None)?, reader.take("starts", None)?);
        let ends = reader.take("ends", None)?;
        let strides = if self.strides.is_empty() { Vec::new() } else { reader.take("strides", None)? };
        reader.finish()?;
        Ok(Slice { axes, starts, ends, strides })
    }

    fn prototypes() -> Vec<Self> {
        let slice = Slice::of(Vec::new(), Vec::new(), Vec::new());
        vec![slice.clone(), Slice { strides: vec![1], ..slice }]
    }
}

attributes!(SliceGrad(Slice));

/// The bounds of a slice along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The first element; negative numbers count from the end.
    pub start: i64,
    /// The element behind the last one; negative numbers count from the end.
    pub end: i64,
    /// The distance between elements, not 0.
    pub stride: i64,
}

/// Elements of an axis: `count` of them, from the element `first` on, `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The first element.
    pub first: usize,
    /// The number of elements.
    pub count: usize,
    /// The distance between elements.
    pub stride: isize,
}

impl Taken {
    /// All elements of an axis of this size.
    pub fn all(size: usize) -> Self {
        Taken { first: 0, count: size, stride: 1 }
    }

    /// The number of element `at` of the axis among those that are taken; `None` if it is not taken.
    pub fn find(self, at: usize) -> Option<usize> {
        let distance = at as isize - self.first as isize;
        let found = usize::try_from(distance.checked_div(self.stride)?).ok()?;
        (distance % self.stride == 0 && found < self.count).then_some(found)
    }
}

impl Bounds {
    /// The elements that are taken of an axis of `size` elements.
    pub fn of(self, size: usize) -> Taken {
        let Bounds { start, end, stride } = self;
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let from_start = |bound: i64| if bound < 0 { bound.saturating_add(size).max(0) } else { bound };
        let (first, distance) = match stride > 0 {
            true => {
                let first = from_start(start).min(size);
                (first, from_start(end).min(size) - first)
            }
            false => {
                let first = from_start(start).min(size - 1);
                let end = if end == -1 { -1 } else { from_start(end) };
                (first, first - end)
            }
        };
        let step = stride.unsigned_abs().max(1);
        let count = u64::try_from(distance).map_or(0, |distance| distance.div_ceil(step));
        Taken { first: first.max(0) as usize, count: count as usize, stride: stride as isize }
    }
}

/// If the elements from `first` on along an axis, of all other axes, are neighbours: the number of elements in front of
/// them. They are where no axis in front has more than one element.
pub(super) fn neighbours(program: &Program, var: VarId, axis: i64, first: usize) -> Option<usize> {
    let shape = program.shape(program.ty(var));
    let (before, from) = shape.split_at_checked(usize::try_from(axis).ok()?)?;
    let mut behind = from.iter().skip(1).map(|dim| usize::try_from(dim.constant()?).ok());
    let is_slowest = before.iter().all(|dim| dim.constant() == Some(1));
    is_slowest.then(|| behind.try_fold(first, |count, size| count.checked_mul(size?))).flatten()
}

impl Slice {
    /// A slice of neighbouring elements.
    pub fn of(axes: Vec<i64>, starts: Vec<i64>, ends: Vec<i64>) -> Self {
        Slice { axes, starts, ends, strides: Vec::new() }
    }

    /// The slice's axes, and its bounds along each. Of a slice that is not checked yet, those axes that have bounds.
    pub fn bounds(&self) -> impl Iterator<Item = (usize, Bounds)> {
        let bounds = self.axes.iter().zip(self.starts.iter().zip(&self.ends));
        bounds.enumerate().map(|(i, (&axis, (&start, &end)))| {
            let stride = self.strides.get(i).copied().unwrap_or(1);
            (axis as usize, Bounds { start, end, stride })
        })
    }

    fn taken(&self, cx: &Infer<'_>) -> Result<Type, Mismatch> {
        let Slice { axes, starts, ends, strides } = self;
        let fail = |message| Err(cx.fail(MismatchKind::Attribute, message));
        if axes.len() != starts.len() || axes.len() != ends.len() {
            return fail(format!("`{}` needs a start and an end for each axis", cx.operator));
        }
        if !strides.is_empty() && (axes.len() != strides.len() || strides.contains(&0)) {
            return fail(format!("`{}` needs a stride for each axis, which is not 0", cx.operator));
        }
        let mut out = cx.ty(0).clone();
        for (i, (&axis, (_, bounds))) in axes.iter().zip(self.bounds()).enumerate() {
            let at = cx.need_axis(0, axis)?;
            if axes[..i].contains(&axis) {
                return fail(format!("axis {axis} is sliced twice"));
            }
            out.dims[at] = length(cx, axis, bounds, &out.dims[at])?;
        }
        Ok(out)
    }
}

/// The number of elements that are taken of axis `axis`. If the size is a symbol, the bounds have to be inside.
fn length(cx: &Infer<'_>, axis: i64, bounds: Bounds, size: &Dim) -> Result<Dim, Mismatch> {
    let Bounds { start, end, stride } = bounds;
    let wrong = || {
        let message = format!("{}, of which {start}..{end} along axis {axis} is nothing", cx.is(0));
        cx.wrong(0, MismatchKind::Shape, message)
    };
    if let Some(size) = size.constant().and_then(|size| usize::try_from(size).ok()) {
        let length = Dim::from(bounds.of(size).count as i64);
        cx.need_positive(&length, wrong)?;
        return Ok(length);
    }
    let backward = stride < 0;
    let place = |bound: i64| -> Result<Dim, Mismatch> {
        // PaddlePaddle writes this for "to the end".
        if bound >= i64::from(i32::MAX) {
            return Ok((size - &Dim::from(i64::from(backward)))?);
        }
        let room = if bound < 0 { size + &Dim::from(bound) } else { size - &Dim::from(bound) }?;
        // The place behind the last element is a bound of a slice that goes forward only.
        let room_and_one = (&room + &Dim::from(1))?;
        cx.need_positive(if backward && bound >= 0 { &room } else { &room_and_one }, || {
            let message = format!("{}, and {start}..{end} is not all inside of axis {axis}", cx.is(0));
            cx.wrong(0, MismatchKind::Shape, message)
        })?;
        Ok(if bound < 0 { room } else { Dim::from(bound) })
    };
    let distance = match (stride > 0, end) {
        (true, _) => &place(end)? - &place(start)?,
        (false, -1) => &place(start)? + &Dim::from(1),
        (false, _) => &place(start)? - &place(end)?,
    }?;
    cx.need_positive(&distance, wrong)?;
    let step = i64::try_from(stride.unsigned_abs()).unwrap_or(i64::MAX);
    let rounded = (&distance + &Dim::from(step - 1))?;
    Ok(if step == 1 { distance } else { rounded.floor_div(&Dim::from(step)).ok_or_else(wrong)? })
}

impl Operation for Slice {
    fn schema(&self) -> &'static Schema {
        const SCHEMA: Schema = Schema {
            name: "slice",
            doc: "A part of x.",
            inputs: &[Slot::of("Input").picked()],
            outputs: &[Slot::of("Out")],
            accuracy: AccuracyClass::MOVED,
            effects: Effects { linear: Linear::In(&[0]), ..Effects::ROW_WISE },
        };
        const STRIDED: Schema =
            Schema { name: "strided_slice", doc: "One in so many elements of a part of x.", ..SCHEMA };
        if self.strides.is_empty() { &SCHEMA } else { &STRIDED }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![self.taken(cx)?])
    }

    fn begins_at(&self, program: &Program, operator: &Operator, _output: usize) -> Option<usize> {
        let mut bounds = self.bounds();
        let (Some((axis, bounds)), None) = (bounds.next(), bounds.next()) else { return None };
        let size = program.shape(program.ty(operator.inputs[0])).get(axis)?.constant()?;
        let Taken { first, stride, .. } = bounds.of(usize::try_from(size).ok()?);
        (stride == 1).then(|| neighbours(program, operator.inputs[0], axis as i64, first)).flatten()
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (input, grad) = (g.input(0), g.grad(0)?);
        Ok(vec![Some(g.emit(SliceGrad(self.clone()), &[input, grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |axes: &[i64], starts: &[i64], ends: &[i64]| {
            Sample::of(Slice::of(axes.into(), starts.into(), ends.into()))
        };
        let strided = |axes: &[i64], starts: &[i64], ends: &[i64], strides: &[i64]| {
            let slice = Slice::of(axes.into(), starts.into(), ends.into());
            Sample::of(Slice { strides: strides.into(), ..slice })
        };
        vec![
            op(&[1], &[1], &[3]).rows(3, &[4]),
            op(&[1], &[-2], &[100]).rows(2, &[5]),
            op(&[2, 1], &[1, 0], &[3, -1]).rows(2, &[3, 4]),
            op(&[0, 2], &[1, 0], &[2, 2]).dense(&[3, 2, 3]),
            op(&[], &[], &[]).dense(&[2, 2]),
            op(&[1], &[1], &[3]).rows(0, &[4]),
            op(&[1], &[1], &[3]).rows(1, &[4]),
            strided(&[1], &[0], &[5], &[2]).rows(3, &[5]),
            strided(&[1], &[-1], &[-1], &[-1]).rows(2, &[3, 2]),
            strided(&[2, 1], &[4, 0], &[0, 100], &[-3, 2]).rows(2, &[5, 6]),
            strided(&[0], &[5], &[-5], &[-2]).dense(&[4, 3]),
            strided(&[1], &[0], &[3], &[2]).rows(0, &[3]),
        ]
    }
}

impl Operation for SliceGrad {
    fn schema(&self) -> &'static Schema {
        const SCHEMA: Schema = Schema {
            name: "slice_grad",
            doc: "Gradient of `slice`.",
            inputs: &[Slot::of("Input").shape_only(), Slot::of("Out@GRAD")],
            outputs: &[Slot::of("Input@GRAD")],
            accuracy: AccuracyClass::MOVED,
            effects: Effects::ROW_WISE,
        };
        const STRIDED: Schema =
            Schema { name: "strided_slice_grad", doc: "Gradient of `strided_slice`.", ..SCHEMA };
        if self.0.strides.is_empty() { &SCHEMA } else { &STRIDED }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_type(1, &self.0.taken(cx)?)?;
        Ok(vec![cx.ty(0).clone()])
    }
}
