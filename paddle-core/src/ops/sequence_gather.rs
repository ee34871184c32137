//! `sequence_gather`: tokens by their positions in sequences.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// For each token of `Index`, a token of `X`. `Index`, i64 `[tokens]` or `[tokens, 1]`, has its position in the
/// sequence of the same row. `Out` has the tokens of `Index`, and the elements of `X`, of any type.
///
/// Positions count from 0. A position behind the end of the sequence is an error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceGather;

/// Gradient of [`SequenceGather`] with respect to `X`: each token of `Out@GRAD` is added to the token that it was taken
/// from, in order. `X` is read for its shape and its sequences only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceGatherGrad;

attributes!(SequenceGather {});
attributes!(SequenceGatherGrad {});

fn gathered(cx: &Infer<'_>) -> Result<Type, Mismatch> {
    cx.need_sequences_of_one(0, 1)?;
    cx.need_dtype(1, DType::I64)?;
    let (x, index) = (cx.ty(0), cx.ty(1));
    if index.dims.len() > 1 || index.dims.iter().any(|dim| dim.constant() != Some(1)) {
        let message = format!("{}, but `{}` needs one position for each token", cx.is(1), cx.operator);
        return Err(cx.wrong(1, MismatchKind::Shape, message));
    }
    Ok(Type { rows: index.rows, ..x.clone() })
}

impl Operation for SequenceGather {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_gather",
                doc: "The tokens of x at the positions in index, each in the sequence of its row.",
                inputs: &[
                    Slot::of("X").with_offsets().picked(),
                    Slot::of("Index").with_offsets().without_gradient(),
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
        Ok(vec![gathered(cx)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, index, grad) = (g.input(0), g.input(1), g.grad(0)?);
        Ok(vec![Some(g.emit(SequenceGatherGrad, &[x, index, grad])?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |lengths: [&[usize]; 2], dims: [&[i64]; 2], below: f64| {
            let x = Sample::of(SequenceGather).sequences(lengths[0], dims[0]);
            x.sequences(lengths[1], dims[1]).dtype(DType::I64).within(0.0, below)
        };
        let ids = Sample::of(SequenceGather).sequences(&[2, 1], &[]).dtype(DType::I64);
        vec![
            of([&[2, 3, 4], &[3, 0, 5]], [&[3], &[]], 2.0),
            of([&[0, 3, 0], &[0, 7, 0]], [&[], &[1]], 3.0),
            of([&[5], &[2]], [&[2, 2], &[]], 5.0),
            of([&[2, 1], &[0, 0]], [&[1], &[]], 1.0),
            of([&[], &[]], [&[4], &[]], 1.0),
            ids.sequences(&[1, 4], &[]).dtype(DType::I64).within(0.0, 1.0),
        ]
    }
}

impl Operation for SequenceGatherGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_gather_grad",
                doc: "Gradient of `sequence_gather`.",
                inputs: &[
                    Slot::of("X").shape_only().with_offsets(),
                    Slot::of("Index").with_offsets(),
                    Slot::of("Out@GRAD"),
                ],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Accumulating("tokens that were taken more than once are added"),
                effects: Effects { linear: Linear::In(&[2]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_type(2, &gathered(cx)?)?;
        Ok(vec![cx.ty(0).clone()])
    }
}
