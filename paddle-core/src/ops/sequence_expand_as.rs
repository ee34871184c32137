//! `sequence_expand_as`: repeats a row for each token of its sequence.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    PoolType, Sample, Schema, SequencePool, Slot,
};
use crate::program::{DType, Type, VarId};

/// Repeats row `i` of `X` for every token of sequence `i` of `Y`, whose elements are not read.
///
/// `X`: `[P, ..]` of any element type, on the rows to which the sequences of `Y` belong; `Out`: `[tokens, ..]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceExpandAs;

attributes!(SequenceExpandAs {});

impl Operation for SequenceExpandAs {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_expand_as",
                doc: "Each row of x for every token of its sequence of y.",
                inputs: &[Slot::of("X"), Slot::of("Y").shape_only().with_offsets().without_gradient()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let rows = cx.need_sequences(1)?;
        if cx.ty(0).rows != Some(rows) {
            let message = format!(
                "{}, but {}: `{}` needs one row for each sequence, those of `{}`",
                cx.is(0),
                cx.is(1),
                cx.operator,
                cx.program.row_space(rows).name
            );
            return Err(cx.wrong(0, MismatchKind::Rows, message));
        }
        Ok(vec![Type { rows: cx.ty(1).rows, ..cx.ty(0).clone() }])
    }

    /// The gradient of a row is the sum over its tokens.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        let sum = SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 };
        Ok(vec![Some(g.emit(sum, &[grad])?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |lengths: &[usize], dims: &[i64]| {
            let rows = Sample::of(SequenceExpandAs).rows(lengths.len(), dims);
            rows.sequences(lengths, &[2])
        };
        let ids = |dims: &[i64]| {
            let rows = Sample::of(SequenceExpandAs).rows(2, dims).dtype(DType::I64);
            rows.sequences(&[2, 1], &[]).dtype(DType::I64)
        };
        vec![
            of(&[2, 1, 4], &[3]),
            of(&[0, 3, 0, 0, 1, 0], &[]),
            of(&[5], &[2, 3]),
            of(&[0, 0], &[1]),
            of(&[], &[4]),
            ids(&[1]),
        ]
    }
}
