//! Conditional random fields, as loops along sequences.
//!
//! In front of each sequence stands a label more, from which every sequence comes: `START`, the last row of the transitions. So
//! the first token is no special case, and a sequence without tokens has the score 0.

use super::along_tokens::{Step, for_each_token};
use super::{EmitLoops, log_sum_exp};
use crate::ops::{
    Binary, BinaryKind, Concat, Fill, Gather, Number, Pad, PoolType, Reshape, SequenceAlign, SequencePool,
    SequenceReverse, Slice, TopK,
};
use crate::program::{DType, Dim, RowsId, Type, VarId};

/// The score of what cannot be.
const NEVER: f64 = -1e30;

/// A field with `labels` labels.
struct Chain {
    labels: i64,
    dtype: DType,
    /// The rows to which the sequences belong.
    rows: RowsId,
    /// The weights from each label, and from `START`, to each label: `[labels + 1, labels]`.
    weights: VarId,
    /// What each label, and `START`, counts at the end: `[labels + 1]`.
    stop: VarId,
}

fn add() -> Binary {
    Binary { kind: BinaryKind::Add }
}

impl Chain {
    /// `None` if the number of labels is not known, or there are no sequences.
    fn of<A: EmitLoops>(at: &mut A, emission: VarId, transition: VarId) -> Result<Option<Chain>, A::Error> {
        let ty = at.ty(emission).clone();
        let rows = ty.rows.and_then(|tokens| at.program().rows_of_sequences(tokens));
        let ([Some(labels)], Some(rows)) = (&ty.dims.iter().map(Dim::constant).collect::<Vec<_>>()[..], rows)
        else {
            return Ok(None);
        };
        let (labels, dtype) = (*labels, ty.dtype);
        let mut part = |starts, ends| {
            let part = Slice { axes: vec![0], starts: vec![starts], ends: vec![ends], strides: Vec::new() };
            at.emit(part.into(), &[transition])
        };
        let [start, stop, rest] = [part(0, 1)?, part(1, 2)?, part(2, labels + 2)?];
        let weights = at.emit(Concat { axis: 0 }.into(), &[rest, start])?;
        let stop = at.emit(Reshape { dims: vec![Dim::from(labels)] }.into(), &[stop])?;
        let nothing = at.emit(Fill::zeros(Type::new(dtype, [1])).into(), &[])?;
        let stop = at.emit(Concat { axis: 0 }.into(), &[stop, nothing])?;
        Ok(Some(Chain { labels, dtype, rows, weights, stop }))
    }

    /// What the labels count in front of a sequence: `START` alone is possible.
    fn before<A: EmitLoops>(&self, at: &mut A) -> Result<VarId, A::Error> {
        let start = Type { rows: Some(self.rows), ..Type::new(self.dtype, [1]) };
        let start = at.emit(Fill::zeros(start).into(), &[])?;
        at.emit(Pad { paddings: vec![0, 0, self.labels, 0], pad_value: NEVER }.into(), &[start])
    }

    /// For the labels of a token, `[_, labels + 1, labels]`: the scores by way of each label of the token before.
    fn ways<A: EmitLoops>(&self, at: &mut A, before: VarId) -> Result<VarId, A::Error> {
        let dims = vec![Dim::from(self.labels + 1), Dim::from(1)];
        let before = at.emit(Reshape { dims }.into(), &[before])?;
        at.emit(add().into(), &[before, self.weights])
    }

    /// The scores of a token's labels, from those by way of the best label before, or of all: the next state.
    fn next<A: EmitLoops>(&self, at: &mut A, reached: VarId, emission: VarId) -> Result<VarId, A::Error> {
        let next = at.emit(add().into(), &[reached, emission])?;
        at.emit(Pad { paddings: vec![0, 0, 0, 1], pad_value: NEVER }.into(), &[next])
    }

    /// `START` for each sequence, as a label.
    fn start<A: EmitLoops>(&self, at: &mut A) -> Result<VarId, A::Error> {
        let ty = Type { rows: Some(self.rows), ..Type::scalar(DType::I64) };
        at.emit(Fill { value: Number::Int(self.labels), ty }.into(), &[])
    }
}

/// `-ln p(label)`, `[_, 1]`, of the labels of each sequence: see [`LinearChainCrf`](crate::ops::LinearChainCrf).
pub(crate) fn cost<A: EmitLoops>(
    at: &mut A,
    [emission, transition, label]: [VarId; 3],
) -> Result<Option<VarId>, A::Error> {
    let Some(chain) = Chain::of(at, emission, transition)? else { return Ok(None) };
    let label = at.emit(SequenceAlign.into(), &[label, emission])?;
    let label = at.emit(Reshape { dims: Vec::new() }.into(), &[label])?;
    // What the labels count that are given, by themselves and behind those before them.
    let chosen = at.emit(Gather { axis: 1 }.into(), &[emission, label])?;
    let chosen = at.emit(SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 }.into(), &[chosen])?;
    let all = at.emit(
        Reshape { dims: vec![Dim::from((chain.labels + 1) * chain.labels)] }.into(),
        &[chain.weights],
    )?;
    let labels = Fill { value: Number::Int(chain.labels), ty: Type::scalar(DType::I64) };
    let labels = at.emit(labels.into(), &[])?;
    let initial = [chain.before(at)?, chosen, chain.start(at)?];
    let steps = for_each_token(at, "chain", &[emission, label], &initial, |token, state, at| {
        let ([emission, label], [before, score, last]) = (token, state) else { return Ok(Step::default()) };
        let ways = chain.ways(at, *before)?;
        let reached = log_sum_exp(ways, vec![1], false, |op, inputs| at.emit(op, inputs))?;
        let next = chain.next(at, reached, *emission)?;
        let row = at.emit(Binary { kind: BinaryKind::Mul }.into(), &[*last, labels])?;
        let place = at.emit(add().into(), &[row, *label])?;
        let weight = at.emit(Gather { axis: 0 }.into(), &[all, place])?;
        let score = at.emit(add().into(), &[*score, weight])?;
        Ok(Step { state: vec![next, score, *label], given: Vec::new() })
    })?;
    let Some([reached, score, last]) = steps.as_ref().map(|steps| &steps.state[..]) else { return Ok(None) };
    let stopped = at.emit(add().into(), &[*reached, chain.stop])?;
    let total = log_sum_exp(stopped, vec![1], false, |op, inputs| at.emit(op, inputs))?;
    let stop = at.emit(Gather { axis: 0 }.into(), &[chain.stop, *last])?;
    let score = at.emit(add().into(), &[*score, stop])?;
    let cost = at.emit(Binary { kind: BinaryKind::Sub }.into(), &[total, score])?;
    at.emit(Reshape { dims: vec![Dim::from(1)] }.into(), &[cost]).map(Some)
}

/// The labels of each sequence with the highest score, `[_, 1]`: see [`CrfDecoding`](crate::ops::CrfDecoding). A loop finds for
/// each label of a token the best label before it; another one, from the last token on, follows what was found.
pub(crate) fn best<A: EmitLoops>(
    at: &mut A,
    emission: VarId,
    transition: VarId,
) -> Result<Option<VarId>, A::Error> {
    let Some(chain) = Chain::of(at, emission, transition)? else { return Ok(None) };
    let initial = chain.before(at)?;
    let best = TopK { k: Some(1), axis: 1, largest: true };
    let there = for_each_token(at, "chain", &[emission], &[initial], |token, state, at| {
        let ways = chain.ways(at, state[0])?;
        let found = at.emit_all(best.into(), &[ways], 2)?;
        let labels = vec![Dim::from(chain.labels)];
        let reached = at.emit(Reshape { dims: labels.clone() }.into(), &[found[0]])?;
        let before = at.emit(Reshape { dims: labels }.into(), &[found[1]])?;
        Ok(Step { state: vec![chain.next(at, reached, token[0])?], given: vec![before] })
    })?;
    let Some(there) = there else { return Ok(None) };
    let stopped = at.emit(add().into(), &[there.state[0], chain.stop])?;
    let last = at.emit_all(best.into(), &[stopped], 2)?[1];
    let last = at.emit(Reshape { dims: Vec::new() }.into(), &[last])?;
    let before = at.emit(SequenceReverse.into(), &[there.given[0]])?;
    let back = for_each_token(at, "chain", &[before], &[last], |token, state, at| {
        let before = at.emit(Gather { axis: 1 }.into(), &[token[0], state[0]])?;
        Ok(Step { state: vec![before], given: vec![state[0]] })
    })?;
    let Some(back) = back else { return Ok(None) };
    let labels = at.emit(SequenceReverse.into(), &[back.given[0]])?;
    at.emit(Reshape { dims: vec![Dim::from(1)] }.into(), &[labels]).map(Some)
}
