//! `max_pool2d_with_index`: the maxima of windows that slide over images, and their positions.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Padding, Pool2d, Pool2dGrad,
    PoolKind, Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// Pools the channels of images `[_, channels, height, width]`, each by itself. `Out` has the largest element of each
/// window. `Mask` has its position in the channel, `row · width + column`; of equal elements, that of the first. A
/// window that covers no element of the image gives 0, with the position -1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxPool2dWithIndex {
    /// The size of a window; with `adaptive`, the number of windows: height, width.
    pub ksize: [i64; 2],
    /// The distance from one window to the next: height, width.
    pub strides: [i64; 2],
    /// The padding above and below, and on the left and on the right. It is never a maximum.
    pub paddings: [i64; 2],
    /// Whether there is one window, as large as the image.
    pub global_pooling: bool,
    /// Whether `ksize` windows are spread evenly over the image.
    pub adaptive: bool,
}

attributes!(MaxPool2dWithIndex {
    ksize: [1, 1],
    strides = [1, 1],
    paddings = [0, 0],
    global_pooling = false,
    adaptive = false
});

impl MaxPool2dWithIndex {
    /// Windows of this size, without overlap.
    pub fn of_size(ksize: [i64; 2]) -> MaxPool2dWithIndex {
        MaxPool2dWithIndex { ksize, strides: ksize, paddings: [0, 0], global_pooling: false, adaptive: false }
    }

    /// The pooling that gives the same maxima.
    pub fn pool(&self) -> Pool2d {
        let [down, across] = self.paddings;
        Pool2d {
            strides: self.strides,
            paddings: Padding::Explicit([down, down, across, across]),
            global_pooling: self.global_pooling,
            adaptive: self.adaptive,
            ..Pool2d::of_size(PoolKind::Max, self.ksize)
        }
    }
}

impl Operation for MaxPool2dWithIndex {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "max_pool2d_with_index",
                doc: "The maximum of windows that slide over images, and where it is.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out"), Slot::of("Mask")],
                accuracy: AccuracyClass::Exact("the largest element is moved"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let out = self.pool().output(cx)?;
        let mask = out.with_dtype(DType::I32);
        Ok(vec![out, mask])
    }

    /// The gradient looks for the positions of the maxima again, as that of [`Pool2d`] does.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.output(0), g.grad(0)?];
        Ok(vec![Some(g.emit(Pool2dGrad(self.pool()), &inputs)?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let plain = MaxPool2dWithIndex::of_size([2, 2]);
        let overlapping = MaxPool2dWithIndex { ksize: [3, 2], strides: [1, 1], ..plain };
        let padded = MaxPool2dWithIndex { ksize: [3, 3], strides: [2, 1], paddings: [1, 2], ..plain };
        let global = MaxPool2dWithIndex { global_pooling: true, ..plain };
        let adaptive = MaxPool2dWithIndex { ksize: [2, 3], adaptive: true, ..plain };
        // Elements are far apart, since positions change where elements are equal.
        let far = |op, rows, dims: &[i64]| Sample::of(op).rows(rows, dims).within(-30.0, 30.0);
        vec![
            far(plain, 2, &[2, 4, 5]),
            far(overlapping, 1, &[1, 4, 3]),
            far(padded, 2, &[1, 4, 5]),
            far(global, 2, &[3, 2, 3]),
            far(adaptive, 1, &[1, 5, 5]),
            far(plain, 0, &[1, 2, 2]),
        ]
    }
}
