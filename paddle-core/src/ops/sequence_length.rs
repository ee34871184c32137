//! `sequence_length`: the number of tokens of each sequence.

use super::{AccuracyClass, Effects, Infer, Mismatch, Operation, Sample, Schema, Slot};
use crate::program::{DType, Type};

/// The number of tokens of each sequence of `X`: i64 `[P]`. The elements of `X` are not read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceLength;

attributes!(SequenceLength {});

impl Operation for SequenceLength {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_length",
                doc: "The number of tokens of each sequence.",
                inputs: &[Slot::of("X").shape_only().with_offsets().without_gradient()],
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
        let rows = cx.need_sequences(0)?;
        Ok(vec![Type { rows: Some(rows), ..Type::scalar(DType::I64) }])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = || Sample::of(SequenceLength);
        vec![
            op().sequences(&[2, 1, 4], &[3]),
            op().sequences(&[0, 3, 0], &[]).dtype(DType::I64),
            op().sequences(&[], &[]),
        ]
    }
}
