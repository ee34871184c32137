//! `sequence_expand_as`: a row for each token of its sequence.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, OfShards, Operation,
    PoolType, Sample, Schema, SequencePool,
};
use crate::program::{DType, Operator, Program, Type, VarId};

/// Row `i` of `X` for every token of sequence `i` of `Y`, whose elements are not read.
///
/// `X`: `[P, ..]` of any element type, the rows that the sequences of `Y` belong to; `Out`: `[tokens, ..]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceExpandAs;

attributes!(SequenceExpandAs {});

impl Operation for SequenceExpandAs {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "sequence_expand_as",
            doc: "Each row of x for every token of its sequence of y.",
            inputs: &["X", "Y"],
            outputs: &["Out"],
            effects: Effects::PURE,
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

    /// The sum over the tokens.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        let sum = SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 };
        Ok(vec![Some(g.emit(sum, &[grad])?), None])
    }

    fn reads(&self, k: usize) -> bool {
        k == 0
    }

    fn sequences(&self) -> &'static [usize] {
        &[1]
    }

    fn passes_gradient(&self, k: usize) -> bool {
        k == 0
    }

    fn is_linear(&self, inputs: &[usize]) -> bool {
        inputs == [0]
    }

    /// Sequences are whole in a shard.
    fn of_shards(&self, _: &Program, _: &Operator, _output: usize) -> OfShards {
        OfShards::Rows
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![SequenceExpandAs]
    }

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
