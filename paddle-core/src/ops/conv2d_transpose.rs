//! `conv2d_transpose`: the linear map from the result of a convolution to its images, with the same filters. It is the
//! convolution's gradient with respect to its images, as an operator of its own. So its own gradients are convolutions.

use super::conv2d::products_of_windows;
use super::window::Image;
use super::{
    AccuracyClass, Conv2d, Conv2dGrad, Conv2dGradKind, Effects, Gradient, GradientError, Infer, Mismatch,
    MismatchKind, Operation, Operator, Padding, Program, Sample, Schema, Slot,
};
use crate::program::{Dim, Type, VarId};

/// Each element of `Input` adds the filters of its channel, times itself, to a window of `Output`.
/// `Output[n, m, y·stride + i·dilation - padding, …] = Σ Input[n, c, y, x] · Filter[c, m, i, j]`, where the sum is over
/// all terms with the same place on the left (Dumoulin and Visin 2016, chapter 4).
///
/// `Input`: images `[_, channels, height, width]`; `Filter`: `[channels, filters / groups, height, width]`; `Output`:
/// `[_, filters, (height - 1)·stride - padding + dilation·(filter height - 1) + 1 + output padding, …]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conv2dTranspose {
    /// The distance from one window to the next: height, width.
    pub strides: [i64; 2],
    /// The number of elements that are cut off the result above, below, on the left and on the right.
    pub paddings: [i64; 4],
    /// The distance between the elements of a window: height, width.
    pub dilations: [i64; 2],
    /// The number of groups into which channels and filters are cut. The filters of a group see its channels only.
    pub groups: i64,
    /// The number of elements that the result has beyond the windows: height, width. It is less than the stride. A
    /// convolution maps images of several sizes to one size; this number chooses among these sizes.
    pub output_padding: [i64; 2],
}

attributes!(Conv2dTranspose {
    strides = [1, 1],
    paddings = [0; 4],
    dilations = [1, 1],
    groups = 1,
    output_padding = [0, 0]
});

impl Conv2dTranspose {
    /// A window for every element, with nothing cut off.
    pub const PLAIN: Conv2dTranspose = Conv2dTranspose {
        strides: [1, 1],
        paddings: [0; 4],
        dilations: [1, 1],
        groups: 1,
        output_padding: [0, 0],
    };

    /// The convolution that it is the transpose of.
    pub fn conv(&self) -> Conv2d {
        Conv2d {
            strides: self.strides,
            paddings: Padding::Explicit(self.paddings),
            dilations: self.dilations,
            groups: self.groups,
        }
    }

    /// The number of filters, which are the channels of the result.
    fn filters(&self, cx: &Infer<'_>, channels: &Dim, of_group: &Dim) -> Result<Dim, Mismatch> {
        let groups = Dim::from(self.groups);
        let uneven = || {
            let channels = cx.program.show_dim(channels);
            let message = format!(
                "`{}` has {channels} channels, which does not go up in {} groups",
                cx.operator, self.groups
            );
            cx.fail(MismatchKind::Attribute, message)
        };
        if self.groups < 1 {
            return Err(uneven());
        }
        cx.need_quotient(channels, &groups, uneven)?;
        Ok((of_group * &groups)?)
    }
}

impl Operation for Conv2dTranspose {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "conv2d_transpose",
                doc: "Filters that each element of an image puts into a larger one.",
                inputs: &[Slot::of("Input"), Slot::of("Filter")],
                outputs: &[Slot::of("Output")],
                accuracy: AccuracyClass::Transformed(
                    "a sum of products, which tiles compute from sums of factors",
                ),
                effects: Effects { products: true, ..Effects::ROW_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let image = Image::of(cx, 0)?;
        cx.need_float(1)?;
        cx.same_dtype(0, 1)?;
        let filter = Conv2d::filter(cx)?;
        let window = self.conv().window(filter.size);
        window.check(cx)?;
        cx.need_equal(filter.first, image.channels, || {
            let message = format!(
                "{}, but {}: `{}` needs filters for each channel: [channels, filters, height, width]",
                cx.is(0),
                cx.is(1),
                cx.operator
            );
            cx.wrong(0, MismatchKind::Shape, message)
        })?;
        let filters = self.filters(cx, image.channels, filter.second)?;
        let mut dims = image.outer.to_vec();
        dims.push(filters);
        for (axis, size) in [image.height, image.width].into_iter().enumerate() {
            let (stride, more) = (self.strides[axis], self.output_padding[axis]);
            if !(0..stride).contains(&more) {
                let message = format!(
                    "`{}` has an output padding of {:?}, but it has to be less than the stride, {:?}",
                    cx.operator, self.output_padding, self.strides
                );
                return Err(cx.fail(MismatchKind::Attribute, message));
            }
            let steps = (&(size + &Dim::from(-1))? * &Dim::from(stride))?;
            let size = (&steps + &Dim::from(window.covered(axis, 1).saturating_add(more)))?;
            cx.need_positive(&size, || {
                let message = format!(
                    "{}, but `{}` cuts off more than its windows reach over: padding {:?}",
                    cx.is(0),
                    cx.operator,
                    self.paddings
                );
                cx.wrong(0, MismatchKind::Shape, message)
            })?;
            dims.push(size);
        }
        Ok(vec![Type { dims, ..*cx.ty(0) }])
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        Some(products_of_windows(program, operator.inputs[0], operator.inputs[1]))
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (input, filter, grad) = (g.input(0), g.input(1), g.grad(0)?);
        let conv = self.conv();
        let of_input = if g.wants(0) { Some(g.emit(conv, &[grad, filter])?) } else { None };
        let of_filter = Conv2dGrad { conv, of: Conv2dGradKind::Filter };
        let of_filter = if g.wants(1) { Some(g.emit(of_filter, &[grad, filter, input])?) } else { None };
        Ok(vec![of_input, of_filter])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let plain = Conv2dTranspose::PLAIN;
        let strided = Conv2dTranspose { strides: [2, 3], ..plain };
        let padded =
            Conv2dTranspose { strides: [2, 2], paddings: [1, 0, 0, 2], output_padding: [1, 0], ..plain };
        let grouped = Conv2dTranspose { groups: 2, ..plain };
        let dilated = Conv2dTranspose { dilations: [2, 1], strides: [1, 2], paddings: [1; 4], ..plain };
        vec![
            Sample::of(plain).rows(2, &[3, 2, 3]).dense(&[3, 2, 2, 2]),
            Sample::of(strided).rows(2, &[1, 3, 2]).dense(&[1, 2, 2, 2]),
            Sample::of(padded).rows(1, &[2, 2, 3]).dense(&[2, 1, 3, 3]),
            Sample::of(grouped).rows(2, &[4, 2, 2]).dense(&[4, 1, 1, 2]),
            Sample::of(dilated).rows(1, &[1, 3, 3]).dense(&[1, 2, 2, 3]),
            Sample::of(plain).rows(0, &[1, 2, 2]).dense(&[1, 1, 2, 2]),
        ]
    }
}
