//! `sequence_length`: how many tokens each sequence has.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, OfShards, Operation, Sample, Schema,
};
use crate::program::{DType, Operator, Program, Type, VarId};

/// How many tokens each sequence of `X`, whose elements are not read, has: i64 `[P]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceLength;

attributes!(SequenceLength {});

impl Operation for SequenceLength {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "sequence_length",
            doc: "How many tokens each sequence has.",
            inputs: &["X"],
            outputs: &["Out"],
            effects: Effects::PURE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let rows = cx.need_sequences(0)?;
        Ok(vec![Type { rows: Some(rows), ..Type::scalar(DType::I64) }])
    }

    fn gradient(&self, _: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(vec![None])
    }

    fn reads(&self, _k: usize) -> bool {
        false
    }

    fn sequences(&self) -> &'static [usize] {
        &[0]
    }

    fn passes_gradient(&self, _k: usize) -> bool {
        false
    }

    /// Sequences are whole in a shard.
    fn of_shards(&self, _: &Program, _: &Operator, _output: usize) -> OfShards {
        OfShards::Rows
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("whole numbers")
    }

    fn prototypes() -> Vec<Self> {
        vec![SequenceLength]
    }

    fn samples() -> Vec<Sample> {
        let op = || Sample::of(SequenceLength);
        vec![
            op().sequences(&[2, 1, 4], &[3]),
            op().sequences(&[0, 3, 0], &[]).dtype(DType::I64),
            op().sequences(&[], &[]),
        ]
    }
}
