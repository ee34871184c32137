//! `sequence_align`: the tokens of one value as the tokens of another.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, Operation, Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// The tokens of `X` as those of `Y`: the same elements in the row space of `Y`, whose elements are not read.
///
/// The sequences of both belong to the same rows. Sequences of different lengths are an error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceAlign;

attributes!(SequenceAlign {});

impl Operation for SequenceAlign {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_align",
                doc: "The tokens of x as those of y, which has as many in each sequence.",
                inputs: &[
                    Slot::of("X").with_offsets(),
                    Slot::of("Y").shape_only().with_offsets().without_gradient(),
                ],
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
        cx.need_sequences_of_one(0, 1)?;
        Ok(vec![Type { rows: cx.ty(1).rows, ..cx.ty(0).clone() }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, grad) = (g.input(0), g.grad(0)?);
        Ok(vec![Some(g.emit(SequenceAlign, &[grad, x])?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |lengths: &[usize], dims: &[i64]| {
            Sample::of(SequenceAlign).sequences(lengths, dims).sequences(lengths, &[2])
        };
        let ids = Sample::of(SequenceAlign).sequences(&[2, 1], &[]).dtype(DType::I64);
        vec![
            of(&[2, 1, 4], &[3]),
            of(&[0, 3, 0, 0, 1, 0], &[]),
            of(&[5], &[2]),
            of(&[0, 0], &[1]),
            of(&[], &[4]),
            ids.sequences(&[2, 1], &[]).dtype(DType::I64),
        ]
    }
}
