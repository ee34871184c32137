//! `sequence_where`: the positions of chosen tokens.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, OfShards, Operation,
    Sample, Schema,
};
use crate::program::{DType, Operator, Program, Type, VarId};

/// The positions in their sequences, counted from 0, of the tokens of which `Condition`, truth values `[tokens]` or
/// `[tokens, 1]`, holds, as tokens of `Like`, whose elements are not read: i64 `[tokens]`.
///
/// The sequences of `Like` are as long as there are such tokens, or else the run ends with an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceWhere;

attributes!(SequenceWhere {});

impl Operation for SequenceWhere {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "sequence_where",
            doc: "The positions of the tokens of which a condition holds.",
            inputs: &["Condition", "Like"],
            outputs: &["Out"],
            effects: Effects::PURE,
        }
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

    fn gradient(&self, _: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(vec![None, None])
    }

    fn reads(&self, k: usize) -> bool {
        k == 0
    }

    fn sequences(&self) -> &'static [usize] {
        &[0, 1]
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
        vec![SequenceWhere]
    }

    fn samples() -> Vec<Sample> {
        let of = |lengths: [&[usize]; 2], dims: &[i64], (low, high): (f64, f64)| {
            let condition = Sample::of(SequenceWhere).sequences(lengths[0], dims).dtype(DType::Bool);
            condition.within(low, high).sequences(lengths[1], &[])
        };
        vec![
            // All of them, and none.
            of([&[2, 1, 4], &[2, 1, 4]], &[1], (1.0, 2.0)),
            of([&[2, 0, 3], &[0, 0, 0]], &[], (-1.0, 0.0)),
            of([&[], &[]], &[], (-1.0, 0.0)),
        ]
    }
}
