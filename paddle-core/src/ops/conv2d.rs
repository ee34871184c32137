//! `conv2d`: filters that slide over images. The gradients with respect to images and to filters are operators of their
//! own, so that only the gradients that are used are computed.

use super::window::Image;
use super::{
    AccuracyClass, Attribute, AttributeError, AttributeReader, Attributes, Effects, Gradient, GradientError,
    Infer, Mismatch, MismatchKind, Operation, Operator, Padding, Program, Sample, Schema, Slot, Window,
};
use crate::program::{Dim, Type, VarId};

/// Slides filters over images.
///
/// `Output[n, m, y, x] = Σ Input[n, c, y·stride + i·dilation - padding, …] · Filter[m, c, i, j]`. The sum is over the
/// channels `c` of the group of `m`, and over the elements `(i, j)` of the filter.
///
/// `Input`: images `[_, channels, height, width]`; `Filter`: `[filters, channels / groups, height, width]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conv2d {
    /// The distance from one window to the next: height, width.
    pub strides: [i64; 2],
    /// The zeros around the images.
    pub paddings: Padding,
    /// The distance between the elements of a window: height, width.
    pub dilations: [i64; 2],
    /// The number of groups into which channels and filters are cut. A filter sees the channels of its group only.
    pub groups: i64,
}

attributes!(Conv2d {
    strides = [1, 1],
    paddings = Padding::Explicit([0; 4]),
    dilations = [1, 1],
    groups = 1
});

/// The dimensions of filters.
pub(super) struct Filter<'a> {
    /// The number of filters. For a transposed convolution, the number of channels.
    pub(super) first: &'a Dim,
    /// The number of channels in a group. For a transposed convolution, the number of filters in a group.
    pub(super) second: &'a Dim,
    /// Height and width.
    pub(super) size: [i64; 2],
}

impl Conv2d {
    /// A window at every element, without padding.
    pub const PLAIN: Conv2d =
        Conv2d { strides: [1, 1], paddings: Padding::Explicit([0; 4]), dilations: [1, 1], groups: 1 };

    /// The windows of filters of this size.
    pub fn window(&self, size: [i64; 2]) -> Window {
        // As in PaddlePaddle, the padding is as large as without dilation.
        let dilation = if self.paddings == Padding::Same { [1, 1] } else { self.dilations };
        Window { size, stride: self.strides, dilation, padding: self.paddings }
    }

    /// The dimensions of input 1, which has to be filters.
    pub(super) fn filter<'a>(cx: &'a Infer<'_>) -> Result<Filter<'a>, Mismatch> {
        if let ([first, second, height, width], None) = (&cx.ty(1).dims[..], cx.ty(1).rows)
            && let (Some(height), Some(width)) = (height.constant(), width.constant())
        {
            return Ok(Filter { first, second, size: [height, width] });
        }
        let message = format!(
            "{}, but `{}` needs filters: [filters, channels, height, width], of known height and width",
            cx.is(1),
            cx.operator
        );
        Err(cx.wrong(1, MismatchKind::Shape, message))
    }

    /// Infers the type of the result from the images, input 0, and the filters, input 1.
    fn output(&self, cx: &Infer<'_>) -> Result<Type, Mismatch> {
        let image = Image::of(cx, 0)?;
        cx.need_float(1)?;
        cx.same_dtype(0, 1)?;
        let Filter { first: filters, second: channels, size } = Conv2d::filter(cx)?;
        let window = self.window(size);
        window.check(cx)?;
        let groups = Dim::from(self.groups);
        let uneven = || {
            let filters = cx.program.show_dim(filters);
            let message = format!(
                "`{}` has {filters} filters, which does not go up in {} groups",
                cx.operator, self.groups
            );
            cx.fail(MismatchKind::Attribute, message)
        };
        if self.groups < 1 {
            return Err(uneven());
        }
        cx.need_quotient(filters, &groups, uneven)?;
        cx.need_equal(&(channels * &groups)?, image.channels, || {
            let message = format!(
                "{}, but {}: `{}` needs filters with as many channels as {}",
                cx.is(0),
                cx.is(1),
                cx.operator,
                if self.groups == 1 { "the images" } else { "a group of those of the images" },
            );
            cx.wrong(0, MismatchKind::Shape, message)
        })?;
        window.slide(cx, filters.clone(), false)
    }
}

impl Operation for Conv2d {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "conv2d",
                doc: "Filters that slide over images.",
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
        Ok(vec![self.output(cx)?])
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        Some(products_of_windows(program, operator.outputs[0], operator.inputs[1]))
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.input(1), g.grad(0)?];
        let mut grads = Vec::with_capacity(2);
        for (k, of) in [Conv2dGradKind::Input, Conv2dGradKind::Filter].into_iter().enumerate() {
            let op = Conv2dGrad { conv: *self, of };
            grads.push(if g.wants(k) { Some(g.emit(op, &inputs)?) } else { None });
        }
        Ok(grads)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(Sample::of, |sample, _| sample)
    }
}

/// The input whose gradient is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conv2dGradKind {
    /// The images.
    Input,
    /// The filters.
    Filter,
}

/// The gradient of [`Conv2d`] with respect to one of its inputs. It has the shape of that input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conv2dGrad {
    /// The convolution that is differentiated.
    pub conv: Conv2d,
    /// The input whose gradient is computed.
    pub of: Conv2dGradKind,
}

impl Attributes for Conv2dGrad {
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.conv.to_attributes()
    }

    fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
        Ok(Conv2dGrad { conv: self.conv.with_attributes(reader)?, of: self.of })
    }

    fn prototypes() -> Vec<Self> {
        [Conv2dGradKind::Input, Conv2dGradKind::Filter]
            .into_iter()
            .map(|of| Conv2dGrad { conv: Conv2d::PLAIN, of })
            .collect()
    }
}

impl Operation for Conv2dGrad {
    fn schema(&self) -> &'static Schema {
        match self.of {
            Conv2dGradKind::Input => {
                const {
                    &Schema {
                        name: "conv2d_grad_input",
                        doc: "Gradient of `conv2d` with respect to the images.",
                        inputs: &[
                            Slot::of("Input").shape_only(),
                            Slot::of("Filter"),
                            Slot::of("Output@GRAD"),
                        ],
                        outputs: &[Slot::of("Input@GRAD")],
                        accuracy: AccuracyClass::Transformed(
                            "a sum of products, which tiles compute from sums of factors",
                        ),
                        effects: Effects { products: true, ..Effects::ROW_WISE },
                    }
                }
            }
            Conv2dGradKind::Filter => {
                const {
                    &Schema {
                        name: "conv2d_grad_filter",
                        doc: "Gradient of `conv2d` with respect to the filters.",
                        inputs: &[
                            Slot::of("Input"),
                            Slot::of("Filter").shape_only(),
                            Slot::of("Output@GRAD"),
                        ],
                        outputs: &[Slot::of("Filter@GRAD")],
                        accuracy: AccuracyClass::Transformed(
                            "a sum of products, which tiles compute from sums of factors",
                        ),
                        effects: Effects { products: true, ..Effects::PURE },
                    }
                }
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        if self.conv.output(cx)? != *cx.ty(2) {
            let message =
                format!("{}, but a gradient has the type of what `{}` differentiates", cx.is(2), cx.operator);
            return Err(cx.wrong(2, MismatchKind::Shape, message));
        }
        Ok(vec![cx.ty(self.of as usize).clone()])
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        Some(products_of_windows(program, operator.inputs[2], operator.inputs[1]))
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        Self::prototypes()
            .iter()
            .flat_map(|&Conv2dGrad { of, .. }| {
                cases(|conv| Sample::of(Conv2dGrad { conv, of }), |sample, output| sample.like(output))
            })
            .collect()
    }
}

/// The sizes whose product is the number of multiplications: each element of `image` is multiplied with, or summed over, the
/// elements behind the first axis of `filter`.
pub(super) fn products_of_windows(program: &Program, image: VarId, filter: VarId) -> Vec<Dim> {
    let shape = |var| program.shape(program.ty(var));
    shape(image).into_iter().chain(shape(filter).into_iter().skip(1)).collect()
}

/// Samples of convolutions. `with` adds an input in the shape of the result.
fn cases(op: impl Fn(Conv2d) -> Sample, with: impl Fn(Sample, &[i64]) -> Sample) -> Vec<Sample> {
    let plain = Conv2d::PLAIN;
    let padded = Conv2d { paddings: Padding::Explicit([1; 4]), ..plain };
    let uneven = Conv2d { strides: [2, 1], paddings: Padding::Explicit([0, 2, 1, 0]), ..plain };
    let grouped = Conv2d { groups: 2, ..padded };
    let dilated = Conv2d { dilations: [2, 1], strides: [1, 2], ..padded };
    let same = Conv2d { strides: [2, 2], paddings: Padding::Same, ..plain };
    vec![
        with(op(plain).rows(2, &[2, 4, 3]).dense(&[3, 2, 2, 2]), &[3, 3, 2]),
        with(op(padded).rows(1, &[1, 3, 3]).dense(&[2, 1, 3, 3]), &[2, 3, 3]),
        with(op(uneven).rows(2, &[1, 4, 3]).dense(&[1, 1, 3, 2]), &[1, 2, 3]),
        with(op(grouped).rows(1, &[4, 2, 2]).dense(&[2, 2, 3, 3]), &[2, 2, 2]),
        with(op(dilated).rows(2, &[1, 4, 4]).dense(&[2, 1, 2, 3]), &[2, 4, 2]),
        with(op(same).rows(1, &[1, 5, 4]).dense(&[1, 1, 3, 2]), &[1, 3, 2]),
        with(op(plain).rows(0, &[1, 3, 3]).dense(&[1, 1, 2, 2]), &[1, 2, 2]),
    ]
}
