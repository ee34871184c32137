//! `sequence_concat`: joins sequences, and its gradient.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, Operation, Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// For each row, the sequence of `X` followed by that of `Y`, as tokens of `Like`. `X` and `Y` have one type, with any
/// elements. The elements of `Like` are not read. If its sequences are not as long as both together, the run ends with
/// an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceConcat;

/// Gradients of [`SequenceConcat`]: each sequence of `Out@GRAD`, cut into the parts for `X` and for `Y`, whose elements
/// are not read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceConcatGrad;

attributes!(SequenceConcat {});
attributes!(SequenceConcatGrad {});

/// The type of the joined tokens, which are those of input 2.
fn joined(cx: &Infer<'_>) -> Result<Type, Mismatch> {
    cx.need_sequences_of_one(0, 1)?;
    cx.need_sequences_of_one(0, 2)?;
    cx.same_dtype(0, 1)?;
    cx.need_type(1, &Type { rows: cx.ty(1).rows, ..cx.ty(0).clone() })?;
    Ok(Type { rows: cx.ty(2).rows, ..cx.ty(0).clone() })
}

impl Operation for SequenceConcat {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_concat",
                doc: "The tokens of x, and behind them those of y, sequence by sequence.",
                inputs: &[
                    Slot::of("X").with_offsets(),
                    Slot::of("Y").with_offsets(),
                    Slot::of("Like").shape_only().with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0, 1]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![joined(cx)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.input(1), g.grad(0)?];
        let grads = g.emit_all(SequenceConcatGrad, &inputs)?;
        Ok(grads.into_iter().map(Some).chain([None]).collect())
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |lengths: [&[usize]; 2], dims: &[i64]| {
            let sums: Vec<usize> = lengths[0].iter().zip(lengths[1]).map(|(x, y)| x + y).collect();
            let both = Sample::of(SequenceConcat).sequences(lengths[0], dims).sequences(lengths[1], dims);
            both.sequences(&sums, &[])
        };
        let ids = Sample::of(SequenceConcat).sequences(&[2, 1], &[]).dtype(DType::I64);
        vec![
            of([&[2, 1, 4], &[1, 3, 2]], &[3]),
            of([&[0, 3, 0, 1], &[2, 0, 0, 1]], &[]),
            of([&[2], &[5]], &[2, 2]),
            of([&[], &[]], &[1]),
            ids.sequences(&[0, 2], &[]).dtype(DType::I64).sequences(&[2, 3], &[]),
        ]
    }
}

impl Operation for SequenceConcatGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_concat_grad",
                doc: "Gradients of `sequence_concat`.",
                inputs: &[
                    Slot::of("X").shape_only().with_offsets(),
                    Slot::of("Y").shape_only().with_offsets(),
                    Slot::of("Out@GRAD").with_offsets(),
                ],
                outputs: &[Slot::of("X@GRAD"), Slot::of("Y@GRAD")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[2]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_type(2, &joined(cx)?)?;
        Ok(vec![cx.ty(0).clone(), cx.ty(1).clone()])
    }
}
