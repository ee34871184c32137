//! `lrn`: elements divided by a power of what their neighbours among the channels amount to.

use super::layer_norm::need_gradient;
use super::window::Image;
use super::{
    AccuracyClass, Attribute, AttributeValue, Effects, Gradient, GradientError, Infer, Linear, Mismatch,
    MismatchKind, Operation, Sample, Schema, Slot,
};
use crate::program::{Type, VarId};

/// Where the channels of images are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageLayout {
    /// Not said: before height and width.
    Any,
    /// Before height and width.
    ChannelsFirst,
    /// Behind them.
    ChannelsLast,
}

impl ImageLayout {
    /// As PaddlePaddle calls it.
    pub fn name(self) -> &'static str {
        match self {
            ImageLayout::Any => "AnyLayout",
            ImageLayout::ChannelsFirst => "NCHW",
            ImageLayout::ChannelsLast => "NHWC",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<ImageLayout> {
        let all = [ImageLayout::Any, ImageLayout::ChannelsFirst, ImageLayout::ChannelsLast];
        all.into_iter().find(|layout| layout.name() == name)
    }

    /// The axis of the channels.
    pub fn channels(self) -> usize {
        match self {
            ImageLayout::Any | ImageLayout::ChannelsFirst => 1,
            ImageLayout::ChannelsLast => 3,
        }
    }
}

impl AttributeValue for ImageLayout {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(self.name().into())
    }

    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Text(name) => ImageLayout::from_name(name),
            _ => None,
        }
    }
}

/// `Out = X · MidOut^-beta` of images, where `MidOut = k + alpha · Σ X²` over the `n` channels around that of an element, as
/// far as there are so many. (Krizhevsky, Sutskever, Hinton: ImageNet classification with deep convolutional neural
/// networks, 2012.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lrn {
    /// The channels that are summed over, an odd number: that of the element, and as many on either side.
    pub n: i64,
    /// Added to the sum.
    pub k: f64,
    /// What squares are multiplied by.
    pub alpha: f64,
    /// The power of the divisor.
    pub beta: f64,
    /// Where the channels are.
    pub data_format: ImageLayout,
}

/// Gradient of [`Lrn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LrnGrad(
    /// What is differentiated.
    pub Lrn,
);

attributes!(Lrn { n = 5, k = 2.0, alpha = 1e-4, beta = 0.75, data_format = ImageLayout::Any });
attributes!(LrnGrad(Lrn));

impl Lrn {
    fn check(&self, cx: &Infer<'_>) -> Result<(), Mismatch> {
        Image::of(cx, 0)?;
        if self.n % 2 == 1 && (1..=i64::from(i32::MAX)).contains(&self.n) {
            return Ok(());
        }
        let message = format!(
            "`{}` sums over {} channels, but needs an odd number, that of the element in the middle",
            cx.operator, self.n
        );
        Err(cx.fail(MismatchKind::Attribute, message))
    }
}

impl Operation for Lrn {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "lrn",
                doc: "Elements divided by a power of the squares in the channels around theirs.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out"), Slot::of("MidOut").intermediate()],
                accuracy: AccuracyClass::Accumulating("a power of a sum of squares"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        self.check(cx)?;
        Ok(vec![cx.ty(0).clone(); 2])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.output(0), g.output(1), g.grad(0)?];
        Ok(vec![Some(g.emit(LrnGrad(*self), &inputs)?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(Sample::of, |sample, _| sample)
    }
}

impl Operation for LrnGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "lrn_grad",
                doc: "Gradient of `lrn`.",
                inputs: &[Slot::of("X"), Slot::of("Out"), Slot::of("MidOut"), Slot::of("Out@GRAD")],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Accumulating("a sum of products over the channels around"),
                effects: Effects { linear: Linear::In(&[3]), ..Effects::ROW_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        self.0.check(cx)?;
        for input in 1..=3 {
            need_gradient(cx, input)?;
        }
        Ok(vec![cx.ty(0).clone()])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases(
            |lrn| Sample::of(LrnGrad(lrn)),
            |sample, dims| sample.like(dims).like(dims).within(0.5, 1.5).like(dims),
        )
    }
}

/// Cases, with what else the operator needs in the shape of the images.
fn cases(op: impl Fn(Lrn) -> Sample, with: impl Fn(Sample, &[i64]) -> Sample) -> Vec<Sample> {
    let plain = Lrn { n: 3, k: 1.5, alpha: 0.5, beta: 0.75, data_format: ImageLayout::Any };
    let first = Lrn { n: 5, beta: 0.5, data_format: ImageLayout::ChannelsFirst, ..plain };
    let last = Lrn { data_format: ImageLayout::ChannelsLast, ..plain };
    let alone = Lrn { n: 1, ..plain };
    let beyond = Lrn { n: 9, k: 1.0, ..plain };
    [
        (plain, Some(2), &[5, 2, 3][..]),
        (first, Some(3), &[7, 1, 2]),
        (last, Some(2), &[2, 3, 4]),
        (alone, Some(1), &[3, 2, 2]),
        (beyond, Some(2), &[3, 1, 2]),
        (plain, None, &[2, 4, 1, 2]),
        (plain, Some(0), &[3, 2, 2]),
    ]
    .into_iter()
    .map(|(lrn, rows, dims)| {
        let sample = match rows {
            Some(rows) => op(lrn).rows(rows, dims),
            None => op(lrn).dense(dims),
        };
        with(sample, dims)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Attributes;

    #[test]
    fn an_element_is_in_the_middle_of_its_channels() {
        let [plain, ..] = Lrn::prototypes()[..] else { panic!("there is one") };
        let images = |n| Sample::of(Lrn { n, ..plain }).rows(2, &[6, 3, 3]).program().map(drop);
        assert!([1, 5, 99].map(images).iter().all(Result::is_ok));
        for n in [-3, 0, 4, 1 << 32 | 1] {
            let message = images(n).unwrap_err().to_string();
            assert!(
                message.contains(&format!("`lrn` sums over {n} channels, but needs an odd number")),
                "{message}"
            );
        }
    }
}
