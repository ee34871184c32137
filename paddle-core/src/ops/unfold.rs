//! `unfold`: what windows that slide over images cover, a column for each window.

use super::window::Image;
use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, Operation, Padding, Sample,
    Schema, Slot, Window,
};
use crate::program::{Dim, Type, VarId};

/// The windows of images `[_, channels, height, width]` as the columns of `[_, channels · elements of a window, windows]`.
/// A column has the channels one after another, and of each the elements of the window row by row; windows are in the
/// order of rows, too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unfold {
    /// The size of a window: height, width.
    pub kernel_sizes: [i64; 2],
    /// How far a window is from the next: height, width.
    pub strides: [i64; 2],
    /// Zeros around the images, in PaddlePaddle's order: above, on the left, below, on the right.
    pub paddings: [i64; 4],
    /// How far the elements of a window are from each other: height, width.
    pub dilations: [i64; 2],
}

attributes!(Unfold { kernel_sizes: [1, 1], strides: [1, 1], paddings: [0; 4], dilations: [1, 1] });

impl Unfold {
    /// How its windows slide.
    pub fn window(&self) -> Window {
        let [above, left, below, right] = self.paddings;
        Window {
            size: self.kernel_sizes,
            stride: self.strides,
            dilation: self.dilations,
            padding: Padding::Explicit([above, below, left, right]),
        }
    }

    fn output(&self, cx: &Infer<'_>) -> Result<Type, Mismatch> {
        let window = self.window();
        window.check(cx)?;
        let [height, width] = window.size;
        let lines = (Image::of(cx, 0)?.channels * &Dim::from(height * width))?;
        let mut out = window.slide(cx, lines, false)?;
        let windows = out.dims.split_off(out.dims.len() - 2);
        out.dims.push((&windows[0] * &windows[1])?);
        Ok(out)
    }
}

impl Operation for Unfold {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "unfold",
                doc: "What windows that slide over images cover, a column for each window.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Y")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), ..Effects::ROW_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![self.output(cx)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.grad(0)?];
        Ok(vec![Some(g.emit(UnfoldGrad(*self), &inputs)?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(Sample::of, |sample, _| sample)
    }
}

/// Gradient of [`Unfold`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnfoldGrad(
    /// What is differentiated.
    pub Unfold,
);

attributes!(UnfoldGrad(Unfold));

impl Operation for UnfoldGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "unfold_grad",
                doc: "Gradient of `unfold`.",
                inputs: &[Slot::of("X").shape_only(), Slot::of("Y@GRAD")],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Accumulating("a sum over the windows that an element is in"),
                effects: Effects { linear: Linear::In(&[1]), ..Effects::ROW_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_type(1, &self.0.output(cx)?)?;
        Ok(vec![cx.ty(0).clone()])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(|unfold| Sample::of(UnfoldGrad(unfold)), Sample::like)
    }
}

/// Cases, with what else the operator needs in the shape of the result.
fn cases(op: impl Fn(Unfold) -> Sample, with: impl Fn(Sample, &[i64]) -> Sample) -> Vec<Sample> {
    let plain = Unfold { kernel_sizes: [2, 2], strides: [1, 1], paddings: [0; 4], dilations: [1, 1] };
    let apart = Unfold { kernel_sizes: [2, 1], strides: [3, 2], ..plain };
    let padded = Unfold { kernel_sizes: [3, 2], strides: [2, 1], paddings: [1, 0, 2, 3], ..plain };
    let dilated = Unfold { kernel_sizes: [2, 3], paddings: [0, 1, 0, 1], dilations: [3, 2], ..plain };
    // Windows that lie in the padding alone, and elements that none covers.
    let beside = Unfold { strides: [2, 4], paddings: [2, 3, 0, 3], ..plain };
    vec![
        with(op(plain).rows(2, &[2, 3, 4]), &[8, 6]),
        with(op(apart).rows(2, &[1, 6, 5]), &[2, 6]),
        with(op(padded).rows(1, &[2, 4, 3]), &[12, 15]),
        with(op(dilated).rows(2, &[1, 5, 4]), &[6, 4]),
        with(op(beside).rows(1, &[1, 2, 2]), &[4, 4]),
        with(op(plain).dense(&[2, 1, 3, 2]), &[2, 4, 2]),
        with(op(plain).rows(0, &[1, 2, 2]), &[4, 1]),
    ]
}
