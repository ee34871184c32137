//! `pool2d`: the maximum or the average of windows that slide over images.

use std::ops::Range;

use super::window::Image;
use super::{
    AccuracyClass, Attribute, AttributeValue, Effects, Gradient, GradientError, Infer, Mismatch,
    MismatchKind, Operation, Padding, Sample, Schema, Slot, Window,
};
use crate::program::{Dim, Type, VarId};

/// How the elements of a window are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// The largest element. The gradient goes to the first of the largest.
    Max,
    /// The mean of the elements.
    Avg,
}

impl PoolKind {
    /// PaddlePaddle's name.
    pub fn name(self) -> &'static str {
        match self {
            PoolKind::Max => "max",
            PoolKind::Avg => "avg",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<PoolKind> {
        [PoolKind::Max, PoolKind::Avg].into_iter().find(|kind| kind.name() == name)
    }
}

impl AttributeValue for PoolKind {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(self.name().into())
    }

    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Text(name) => PoolKind::from_name(name),
            _ => None,
        }
    }
}

/// Pools the channels of images `[_, channels, height, width]`, each by itself. A window that covers no element of the
/// image gives 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool2d {
    /// How the elements of a window are combined.
    pub pooling_type: PoolKind,
    /// The size of a window; with `adaptive`, the number of windows: height, width.
    pub ksize: [i64; 2],
    /// The distance from one window to the next: height, width.
    pub strides: [i64; 2],
    /// The padding of the images. It is never a maximum.
    pub paddings: Padding,
    /// Whether the last window may reach over the end of the padded image.
    pub ceil_mode: bool,
    /// Whether an average leaves out the padding. Otherwise padding counts as zeros, behind the image as many elements
    /// as in front of it.
    pub exclusive: bool,
    /// Whether there is one window, as large as the image.
    pub global_pooling: bool,
    /// Whether `ksize` windows are spread evenly over the image.
    pub adaptive: bool,
}

attributes!(Pool2d {
    pooling_type: PoolKind::Max,
    ksize: [1, 1],
    strides = [1, 1],
    paddings = Padding::Explicit([0; 4]),
    ceil_mode = false,
    exclusive = true,
    global_pooling = false,
    adaptive = false
});

/// The elements of the image that a window covers along one axis, and the divisor of their average.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The elements of the image.
    pub elements: Range<usize>,
    /// The number of elements that count in an average.
    pub count: usize,
}

impl Pool2d {
    /// Windows of this size, without overlap.
    pub fn of_size(pooling_type: PoolKind, ksize: [i64; 2]) -> Pool2d {
        Pool2d {
            pooling_type,
            ksize,
            strides: ksize,
            paddings: Padding::Explicit([0; 4]),
            ceil_mode: false,
            exclusive: true,
            global_pooling: false,
            adaptive: false,
        }
    }

    /// How the windows slide, unless they are spread over the image.
    pub fn window(&self) -> Window {
        Window { size: self.ksize, stride: self.strides, dilation: [1, 1], padding: self.paddings }
    }

    /// The part of `size` elements that window `i` of `windows` covers along height (0) or width (1).
    #[inline]
    pub fn covered(&self, axis: usize, size: usize, windows: usize, i: usize) -> Covered {
        if self.global_pooling {
            return Covered { elements: 0..size, count: size };
        }
        if self.adaptive {
            let (start, end) = (i * size / windows, ((i + 1) * size).div_ceil(windows));
            return Covered { elements: start..end, count: end - start };
        }
        let window = self.window();
        let [before, _] = window.around(axis, size);
        // This is a position in the padded image.
        let start = i * window.stride[axis] as usize;
        let end = start + window.size[axis] as usize;
        let inside = |at: usize| at.clamp(before, before + size) - before;
        let elements = inside(start)..inside(end);
        // As in PaddlePaddle, as many elements count behind the image as in front of it, even if the padding there is
        // larger or smaller.
        let padded = end.min(size + 2 * before).saturating_sub(start);
        Covered { count: if self.exclusive { elements.len() } else { padded }, elements }
    }

    pub(super) fn output(&self, cx: &Infer<'_>) -> Result<Type, Mismatch> {
        let image = Image::of(cx, 0)?;
        let (outer, channels) = (image.outer, image.channels);
        let sized = |size: [i64; 2]| {
            let dims = outer.iter().chain([channels]).cloned().chain(size.map(Dim::from)).collect();
            Type { dims, ..*cx.ty(0) }
        };
        if self.global_pooling {
            return Ok(sized([1, 1]));
        }
        self.window().check(cx)?;
        if self.adaptive {
            return Ok(sized(self.ksize));
        }
        self.window().slide(cx, channels.clone(), self.ceil_mode)
    }
}

impl Operation for Pool2d {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "pool2d",
                doc: "The maximum or the average of windows that slide over images.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum over a window"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![self.output(cx)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.output(0), g.grad(0)?];
        Ok(vec![Some(g.emit(Pool2dGrad(*self), &inputs)?)])
    }

    /// A maximum is one of the elements, so nothing is rounded.
    fn accuracy(&self) -> AccuracyClass {
        match self.pooling_type {
            PoolKind::Max => AccuracyClass::Exact("the largest element is moved"),
            PoolKind::Avg => self.schema().accuracy,
        }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(Sample::of, |sample, _| sample)
    }
}

/// Gradient of [`Pool2d`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool2dGrad(
    /// The operator that is differentiated.
    pub Pool2d,
);

attributes!(Pool2dGrad(Pool2d));

impl Operation for Pool2dGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "pool2d_grad",
                doc: "Gradient of `pool2d`.",
                inputs: &[Slot::of("X"), Slot::of("Out").shape_only(), Slot::of("Out@GRAD")],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Accumulating("a sum over the windows that an element is in"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let output = self.0.output(cx)?;
        for input in [1, 2] {
            if output != *cx.ty(input) {
                let message =
                    format!("{}, but `{}` needs {}", cx.is(input), cx.operator, cx.program.show(&output));
                return Err(cx.wrong(input, MismatchKind::Shape, message));
            }
        }
        Ok(vec![cx.ty(0).clone()])
    }

    /// The gradient of a maximum reads `X` to look for the maxima again; an average is linear.
    fn input(&self, k: usize) -> Slot {
        let slot = self.schema().input(k);
        Slot { is_read: slot.is_read && (k != 0 || self.0.pooling_type == PoolKind::Max), ..slot }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(|pool| Sample::of(Pool2dGrad(pool)), |sample, output| sample.like(output).like(output))
    }
}

/// Samples of pooling. `with` adds an input in the shape of the result.
fn cases(op: impl Fn(Pool2d) -> Sample, with: impl Fn(Sample, &[i64]) -> Sample) -> Vec<Sample> {
    [PoolKind::Max, PoolKind::Avg]
        .into_iter()
        .flat_map(|kind| {
            let plain = Pool2d::of_size(kind, [2, 2]);
            let overlapping = Pool2d { ksize: [3, 2], strides: [1, 1], ..plain };
            let padded = Pool2d {
                ksize: [3, 3],
                paddings: Padding::Explicit([1, 1, 0, 1]),
                ceil_mode: true,
                exclusive: false,
                ..plain
            };
            let exclusive = Pool2d { exclusive: true, ..padded };
            let same = Pool2d { ksize: [3, 3], paddings: Padding::Same, ..plain };
            let global = Pool2d { global_pooling: true, ..plain };
            let adaptive = Pool2d { ksize: [2, 3], adaptive: true, ..plain };
            [
                with(op(plain).rows(2, &[2, 4, 5]), &[2, 2, 2]),
                with(op(overlapping).rows(1, &[1, 4, 3]), &[1, 2, 2]),
                with(op(padded).rows(2, &[1, 4, 5]), &[1, 3, 3]),
                with(op(exclusive).rows(1, &[1, 4, 5]), &[1, 3, 3]),
                with(op(same).rows(1, &[1, 5, 4]), &[1, 3, 2]),
                with(op(global).rows(2, &[3, 2, 3]), &[3, 1, 1]),
                with(op(adaptive).rows(1, &[1, 5, 5]), &[1, 2, 3]),
                with(op(plain).rows(0, &[1, 2, 2]), &[1, 1, 1]),
            ]
        })
        .collect()
}
