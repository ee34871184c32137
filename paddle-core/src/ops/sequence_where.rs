//! `sequence_where`: the positions of chosen tokens.

use super::{AccuracyClass, Effects, Infer, Mismatch, MismatchKind, Operation, Sample, Schema, Slot};
use crate::program::{DType, Type};

/// The positions of the tokens for which `Condition` is true, as tokens of `Like`: i64 `[tokens]`. A position counts
/// from 0 in the token's sequence. `Condition`: truth values `[tokens]` or `[tokens, 1]`. The elements of `Like` are
/// not read.
///
/// If a sequence of `Like` has another length than the number of such tokens, the run ends with an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceWhere;

attributes!(SequenceWhere {});

impl Operation for SequenceWhere {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_where",
                doc: "The positions of the tokens for which a condition holds.",
                inputs: &[
                    Slot::of("Condition").with_offsets().without_gradient(),
                    Slot::of("Like").shape_only().with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("whole numbers"),
                effects: Effects::OF_SEQUENCES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_sequences_of_one(0, 1)?;
        cx.need_dtype(0, DType::Bool)?;
        let dims = &cx.ty(0).dims;
        if dims.len() > 1 || dims.iter().any(|dim| dim.constant() != Some(1)) {
            let message = format!("{}, but `{}` needs one truth value for each token", cx.is(0), cx.operator);
            return Err(cx.wrong(0, MismatchKind::Shape, message));
        }
        Ok(vec![Type { rows: cx.ty(1).rows, ..Type::scalar(DType::I64) }])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |lengths: [&[usize]; 2], dims: &[i64], (low, high): (f64, f64)| {
            let condition = Sample::of(SequenceWhere).sequences(lengths[0], dims).dtype(DType::Bool);
            condition.within(low, high).sequences(lengths[1], &[])
        };
        vec![
            // One sample chooses all tokens, one none.
            of([&[2, 1, 4], &[2, 1, 4]], &[1], (1.0, 2.0)),
            of([&[2, 0, 3], &[0, 0, 0]], &[], (-1.0, 0.0)),
            of([&[], &[]], &[], (-1.0, 0.0)),
        ]
    }
}
