//! `sequence_pad` and `sequence_unpad`: from sequences to rows with equally many places, and back.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    Sample, Schema, Slot,
};
use crate::program::{DType, Dim, Type, VarId};

/// The tokens of each sequence of `X`, `[tokens, ..]` of any element type, in a row of `length` places:
/// `[P, length, ..]`. Places behind the last token have `pad_value`.
///
/// A sequence with more tokens than there are places is an error at run time.
#[derive(Clone, Debug, PartialEq)]
pub struct SequencePad {
    /// The number of places of a row.
    pub length: Dim,
    /// The value behind the tokens, truncated for integers.
    pub pad_value: f64,
}

/// The first places of each row of `X`, `[P, length, ..]` of any element type, as the tokens of `Like`: `[tokens, ..]`.
/// The elements of `Like` are not read.
///
/// A sequence with more tokens than there are places is an error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceUnpad;

attributes!(SequencePad { length: Dim::from(1), pad_value = 0.0 });
attributes!(SequenceUnpad {});

impl Operation for SequencePad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_pad",
                doc: "The tokens of each sequence in the first places of its row.",
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
        let rows = cx.need_sequences(0)?;
        if self.length.constant().is_some_and(|length| length < 0) {
            let length = cx.program.show_dim(&self.length);
            let message = format!("{length} places are fewer than none");
            return Err(cx.fail(MismatchKind::Attribute, message));
        }
        let x = cx.ty(0);
        let dims = std::iter::once(&self.length).chain(&x.dims).cloned().collect();
        Ok(vec![Type { dtype: x.dtype, rows: Some(rows), dims }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, grad) = (g.input(0), g.grad(0)?);
        Ok(vec![Some(g.emit(SequenceUnpad, &[grad, x])?)])
    }

    /// With a padding other than 0, the result is not linear in `X`.
    fn linear(&self) -> Linear {
        if self.pad_value == 0.0 { Linear::In(&[0]) } else { Linear::No }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |length: i64, pad_value| Sample::of(SequencePad { length: Dim::from(length), pad_value });
        vec![
            of(4, 0.0).sequences(&[2, 1, 4], &[3]),
            of(5, -1.5).sequences(&[0, 3, 0, 0, 1, 0], &[]),
            of(5, 0.5).sequences(&[5], &[2, 2]),
            of(0, 0.0).sequences(&[0, 0], &[2]),
            of(3, 0.0).sequences(&[], &[1]),
            of(3, 7.9).sequences(&[2, 0], &[]).dtype(DType::I64),
        ]
    }
}

impl Operation for SequenceUnpad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_unpad",
                doc: "The first places of each row as the tokens of a sequence.",
                inputs: &[Slot::of("X"), Slot::of("Like").shape_only().with_offsets().without_gradient()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let rows = cx.need_sequences(1)?;
        cx.need_dims(0, 1)?;
        let x = cx.ty(0);
        if x.rows != Some(rows) {
            let message = format!(
                "{}, but {}: `{}` needs one row for each sequence, those of `{}`",
                cx.is(0),
                cx.is(1),
                cx.operator,
                cx.program.row_space(rows).name
            );
            return Err(cx.wrong(0, MismatchKind::Rows, message));
        }
        Ok(vec![Type { dtype: x.dtype, rows: cx.ty(1).rows, dims: x.dims[1..].to_vec() }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (length, grad) = (g.ty(g.input(0)).dims[0].clone(), g.grad(0)?);
        Ok(vec![Some(g.emit(SequencePad { length, pad_value: 0.0 }, &[grad])?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |lengths: &[usize], dims: &[i64]| {
            Sample::of(SequenceUnpad).rows(lengths.len(), dims).sequences(lengths, &[])
        };
        let ids = Sample::of(SequenceUnpad).rows(2, &[3]).dtype(DType::I64);
        vec![
            of(&[2, 1, 4], &[4, 3]),
            of(&[0, 3, 0, 0, 1, 0], &[3]),
            of(&[5], &[5, 2, 2]),
            of(&[0, 0], &[0, 2]),
            of(&[], &[3]),
            ids.sequences(&[3, 2], &[]),
        ]
    }
}
