//! `sequence_window`: the tokens around each token.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    Sample, Schema, Slot,
};
use crate::program::{DType, Dim, Type, VarId};

/// For each token, a window of `length` tokens of its sequence, side by side. The window starts `start` tokens behind
/// the token, or before it if `start` is negative. It has `pad_value` where the sequence has no token.
///
/// `X`: `[tokens, D, ..]` of any element type; `Out`: `[tokens, length · D, ..]`. From `[tokens]`, `Out` is
/// `[tokens, length]`.
///
/// A convolution along sequences is the product of windows and a matrix of filters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceWindow {
    /// The start of a window, relative to its token.
    pub start: i64,
    /// The number of tokens in a window.
    pub length: i64,
    /// The value where the sequence has no token, truncated for integers.
    pub pad_value: f64,
}

/// Gradient of [`SequenceWindow`] with respect to `X`: for each token the sum over the windows that contain it. The
/// elements of `X` are not read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceWindowGrad {
    /// The start of a window, relative to its token.
    pub start: i64,
    /// The number of tokens in a window.
    pub length: i64,
}

attributes!(SequenceWindow { start: 0, length: 1, pad_value = 0.0 });
attributes!(SequenceWindowGrad { start: 0, length: 1 });

/// The type of windows of `length` tokens of input 0.
fn windows(cx: &Infer<'_>, length: i64) -> Result<Type, Mismatch> {
    cx.need_sequences(0)?;
    if length < 1 {
        let message = format!("a window has 1 token at least, but this one {length}");
        return Err(cx.fail(MismatchKind::Attribute, message));
    }
    let mut ty = cx.ty(0).clone();
    match ty.dims.first_mut() {
        Some(width) => *width = (&*width * &Dim::from(length))?,
        None => ty.dims.push(Dim::from(length)),
    }
    Ok(ty)
}

impl Operation for SequenceWindow {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_window",
                doc: "The tokens around each token, side by side.",
                inputs: &[Slot::of("X").with_offsets()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects::OF_SEQUENCES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![windows(cx, self.length)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, grad) = (g.input(0), g.grad(0)?);
        let SequenceWindow { start, length, .. } = *self;
        Ok(vec![Some(g.emit(SequenceWindowGrad { start, length }, &[x, grad])?)])
    }

    /// With a padding other than 0, the result is not linear in `X`.
    fn linear(&self) -> Linear {
        if self.pad_value == 0.0 { Linear::In(&[0]) } else { Linear::No }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |start, length| Sample::of(SequenceWindow { start, length, pad_value: 0.0 });
        let ids = Sample::of(SequenceWindow { start: 0, length: 2, pad_value: 7.0 });
        vec![
            of(-1, 3).sequences(&[2, 1, 4], &[3]),
            of(-1, 2).sequences(&[0, 3, 0, 0, 1, 0], &[]),
            of(1, 2).sequences(&[5, 2], &[2, 3]),
            of(-6, 2).sequences(&[3, 1], &[2]),
            of(i64::MIN, 1).sequences(&[2], &[1]),
            of(i64::MAX, 2).sequences(&[2], &[1]),
            of(-2, 5).sequences(&[0, 0], &[1]),
            of(0, 1).sequences(&[], &[4]),
            ids.sequences(&[3, 1], &[1]).dtype(DType::I64),
        ]
    }
}

impl Operation for SequenceWindowGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_window_grad",
                doc: "Gradient of `sequence_window`.",
                inputs: &[Slot::of("X").shape_only().with_offsets(), Slot::of("Out@GRAD")],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Accumulating("a sum over windows"),
                effects: Effects { linear: Linear::In(&[1]), ..Effects::PURE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_type(1, &windows(cx, self.length)?)?;
        Ok(vec![cx.ty(0).clone()])
    }
}
