//! `sequence_reverse`: the tokens of each sequence, last first.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, OfShards, Operation, Sample, Schema,
};
use crate::program::{DType, Operator, Program, Type, VarId};

/// The tokens of each sequence, last first; `X` and `Y` are of one type, with elements of any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceReverse;

attributes!(SequenceReverse {});

impl Operation for SequenceReverse {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "sequence_reverse",
            doc: "The tokens of each sequence, last first.",
            inputs: &["X"],
            outputs: &["Y"],
            effects: Effects::PURE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_sequences(0)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(SequenceReverse, &[grad])?)])
    }

    fn sequences(&self) -> &'static [usize] {
        &[0]
    }

    fn is_linear(&self, _inputs: &[usize]) -> bool {
        true
    }

    /// Sequences are whole in a shard.
    fn of_shards(&self, _: &Program, _: &Operator, _output: usize) -> OfShards {
        OfShards::Rows
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![SequenceReverse]
    }

    fn samples() -> Vec<Sample> {
        let op = || Sample::of(SequenceReverse);
        vec![
            op().sequences(&[2, 1, 4], &[3]),
            op().sequences(&[0, 3, 0, 0, 1, 0], &[]),
            op().sequences(&[5], &[2, 3]),
            op().sequences(&[0, 0], &[1]),
            op().sequences(&[], &[4]),
            op().sequences(&[3, 2], &[]).dtype(DType::I64),
        ]
    }
}
