//! `max_pool2d_with_index`: the maximum of windows that slide over images, and where it is.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Padding, Pool2d, Pool2dGrad,
    PoolKind, Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// Pools the channels of images `[_, channels, height, width]`, each by itself. `Out` has the largest element of each
/// window, `Mask` the number of the first one that is so large in its channel: `row · width + column`. A window that
/// covers no element of the image gives 0, at -1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxPool2dWithIndex {
    /// The size of a window; with `adaptive`, the number of windows: height, width.
    pub ksize: [i64; 2],
    /// How far a window is from the next: height, width.
    pub strides: [i64; 2],
    /// How many elements are put above and below, and on the left and on the right. They are never maxima.
    pub paddings: [i64; 2],
    /// Whether there is one window, as large as the image.
    pub global_pooling: bool,
    /// Whether `ksize` windows are spread over the image evenly.
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
    /// Windows of this size, side by side.
    pub fn of_size(ksize: [i64; 2]) -> MaxPool2dWithIndex {
        MaxPool2dWithIndex { ksize, strides: ksize, paddings: [0, 0], global_pooling: false, adaptive: false }
    }

    /// The pooling that gives the maxima.
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

    /// Where the maxima are is found out again, as for [`Pool2d`].
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.output(0), g.grad(0)?];
        Ok(vec![Some(g.emit(Pool2dGrad(self.pool()), &inputs)?)])
    }

    fn samples() -> Vec<Sample> {
        let plain = MaxPool2dWithIndex::of_size([2, 2]);
        let overlapping = MaxPool2dWithIndex { ksize: [3, 2], strides: [1, 1], ..plain };
        let padded = MaxPool2dWithIndex { ksize: [3, 3], strides: [2, 1], paddings: [1, 2], ..plain };
        let global = MaxPool2dWithIndex { global_pooling: true, ..plain };
        let adaptive = MaxPool2dWithIndex { ksize: [2, 3], adaptive: true, ..plain };
        // Far apart, since the places change where elements are equal.
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
