//! `edit_distance`: how many edits make sequences the right ones.

use super::rules::labels;
use super::{AccuracyClass, Effects, Infer, Mismatch, Operation, Sample, Schema, Slot};
use crate::program::{DType, Dim, Type};

/// The least number of ids to insert, delete or replace in each sequence of `Hyps`, so that it becomes that of `Refs`.
/// Levenshtein, "Binary codes capable of correcting deletions, insertions and reversals", 1966.
///
/// `Hyps` and `Refs`: i64 ids `[_]` or `[_, 1]`, in sequences of the same rows, each of a length of its own. `Out`: f32
/// `[P, 1]`, exact up to 2²⁴ edits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EditDistance;

attributes!(EditDistance {});

impl Operation for EditDistance {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "edit_distance",
                doc: "The least number of edits that make each sequence another one.",
                inputs: &[
                    Slot::of("Hyps").with_offsets().without_gradient(),
                    Slot::of("Refs").with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("whole numbers"),
                effects: Effects { differentiable: false, ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        labels::check_sequences(cx, 1, 0)?;
        let rows = labels::check_sequences(cx, 0, 1)?;
        Ok(vec![Type { dtype: DType::F32, rows: Some(rows), dims: vec![Dim::from(1)] }])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |hypotheses: &[usize], references: &[usize], dims: &[i64]| {
            let hypotheses =
                Sample::of(EditDistance).sequences(hypotheses, dims).dtype(DType::I64).within(0.0, 3.0);
            hypotheses.sequences(references, &[]).dtype(DType::I64).within(0.0, 3.0)
        };
        vec![
            of(&[4, 1, 5], &[3, 3, 2], &[1]),
            of(&[0, 6, 0, 2], &[2, 0, 0, 7], &[]),
            of(&[40], &[33], &[1]),
            of(&[], &[], &[]),
        ]
    }
}
