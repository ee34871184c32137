//! Layers of recurrent units.
//!
//! Rows become sequences, as long as the lengths say, and each direction of each layer a `for` along them. Without rows,
//! where the batch has a fixed size, the steps are written one after the other. The products of the inputs are computed for
//! all steps at once, before the first of them.

use super::At;
use super::units::{Unit, Weights};
use crate::convert::error::Fault;
use crate::ops::compositions::along_tokens::{self, Step};
use crate::ops::compositions::made_sequences;
use crate::ops::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Concat, Fill, Gather, Number, Op, Reshape, RowNumbers,
    RowsToAxis, Scale, SequencePad, SequenceReverse, Slice, Split, Transpose,
};
use crate::program::{DType, Dim, RowsId, Type, VarId};

/// The most steps that are written one after the other, those of all layers and directions together.
const MOST_STEPS: usize = 1 << 12;

/// The input of a layer.
#[derive(Clone, Copy)]
pub(in crate::convert) enum Steps {
    /// The tokens of sequences.
    Tokens(VarId),
    /// `[steps, batch, features]`, without rows.
    Listed(VarId),
}

/// Where the steps of a batch of fixed size are within their sequences: for each step 1 and 0, or 0 and 1 behind the end.
type Masks = Vec<[VarId; 2]>;

/// Recurrent layers while they are read.
pub(in crate::convert) struct Recurrence {
    pub(in crate::convert) unit: Unit,
    /// The number of elements of a state.
    size: i64,
    steps: Dim,
    rows: Option<RowsId>,
    masks: Option<Masks>,
}

impl At<'_> {
    /// The input of recurrent layers, so many of all layers and directions: `[steps, batch, features]`, whose sequences are as
    /// long as `length` says.
    pub(in crate::convert) fn recurrence(
        &mut self,
        unit: Unit,
        size: i64,
        x: VarId,
        length: Option<VarId>,
        count: usize,
    ) -> Result<Result<(Recurrence, Steps), &'static str>, Fault> {
        let (None, [steps, _, _]) = (self.ty(x).rows, &self.ty(x).dims.clone()[..]) else {
            return Ok(Err("the rows that are fed are steps in time, but they have to be the batch"));
        };
        let front = self.permuted(x, &[1, 0, 2])?;
        let front = self.with_rows(front)?;
        let rows = self.ty(front).rows;
        let mut masks = None;
        let input = match (rows, steps.constant().and_then(|steps| usize::try_from(steps).ok())) {
            (Some(rows), _) => Steps::Tokens(self.tokens_of_rows(front, rows, steps, length)?),
            (None, Some(steps)) if steps.checked_mul(count).is_some_and(|all| all <= MOST_STEPS) => {
                masks = length.map(|length| self.masks(length, steps, self.ty(x).dtype)).transpose()?;
                Steps::Listed(x)
            }
            _ => {
                return Ok(Err(
                    "the batch is not the rows that are fed, or it has a fixed size and too many steps",
                ));
            }
        };
        Ok(Ok((Recurrence { unit, size, steps: steps.clone(), rows, masks }, input)))
    }

    /// A direction of a layer: what it gives for each step, and its states at the end. `states` are the initial ones,
    /// `[directions of layers, batch, size]`, of which this is the one with this number.
    pub(in crate::convert) fn direction(
        &mut self,
        of: &Recurrence,
        weights: &Weights,
        input: Steps,
        states: &[VarId],
        number: usize,
        is_reverse: bool,
    ) -> Result<(VarId, Vec<VarId>), Fault> {
        let initial = states.iter().map(|&state| self.initial_state(state, number, of.size, of.rows));
        let initial = initial.collect::<Result<Vec<VarId>, Fault>>()?;
        match input {
            Steps::Tokens(tokens) => self.along_tokens(of.unit, weights, tokens, &initial, is_reverse),
            Steps::Listed(x) => self.one_by_one(of.unit, weights, x, initial, of.masks.as_ref(), is_reverse),
        }
    }

    /// What the directions of a layer give, beside each other.
    pub(in crate::convert) fn beside(&mut self, input: Steps, outs: &[VarId]) -> Result<Steps, Fault> {
        let axis = match input {
            Steps::Tokens(_) => 1,
            Steps::Listed(_) => 2,
        };
        let out = if let &[one] = outs { one } else { self.emit(Concat { axis }, outs)? };
        Ok(match input {
            Steps::Tokens(_) => Steps::Tokens(out),
            Steps::Listed(_) => Steps::Listed(out),
        })
    }

    /// The steps of each row as a sequence.
    fn tokens_of_rows(
        &mut self,
        x: VarId,
        rows: RowsId,
        steps: &Dim,
        length: Option<VarId>,
    ) -> Result<VarId, Fault> {
        let of_rows = Type { dtype: DType::I64, rows: Some(rows), dims: Vec::new() };
        let length = match (length, steps.constant()) {
            (Some(length), _) => {
                let length = self.on_rows(length, rows)?;
                self.emit(Cast { dtype: DType::I64 }, &[length])?
            }
            (None, Some(steps)) => self.emit(Fill { value: Number::Int(steps), ty: of_rows }, &[])?,
            (None, None) => {
                let steps = self.size_value(steps)?;
                let steps = self.emit(Cast { dtype: DType::I64 }, &[steps])?;
                let steps = self.emit(Reshape { dims: Vec::new() }, &[steps])?;
                let zeros = self.emit(Fill::zeros(of_rows), &[])?;
                self.emit(Binary { kind: BinaryKind::Add }, &[zeros, steps])?
            }
        };
        let tokens = self.draft.program.create_tokens("rnn", rows);
        made_sequences::unpad((x, tokens), length, |op, inputs| self.emit(op, inputs))
    }

    /// A value with a part for each row of the batch, with these rows. One that is fed by itself has a size of its own, so
    /// its parts are looked up.
    fn on_rows(&mut self, value: VarId, rows: RowsId) -> Result<VarId, Fault> {
        let value = self.with_rows(value)?;
        if self.ty(value).rows.is_some() {
            return Ok(value);
        }
        let numbers = self.emit(RowNumbers::of(rows), &[])?;
        self.emit(Gather { axis: 0 }, &[value, numbers])
    }

    /// For each step, whether it is within the sequences.
    fn masks(&mut self, length: VarId, steps: usize, dtype: DType) -> Result<Masks, Fault> {
        let ty = self.ty(length).clone();
        let dims = ty.dims.iter().cloned().chain([Dim::from(1)]).collect();
        let length = self.emit(Reshape { dims }, &[length])?;
        let mut masks = Vec::with_capacity(steps);
        for step in 0..steps {
            let step = Fill { value: Number::Int(step as i64), ty: Type::scalar(ty.dtype) };
            let step = self.emit(step, &[])?;
            let within = self.emit(Compare { kind: CompareKind::GreaterThan }, &[length, step])?;
            let within = self.emit(Cast { dtype }, &[within])?;
            let behind = self.emit(Scale { scale: -1.0, bias: 1.0 }, &[within])?;
            masks.push([within, behind]);
        }
        Ok(masks)
    }

    /// A part of the initial states, `[directions of layers, batch, size]`, on the rows.
    fn initial_state(
        &mut self,
        states: VarId,
        number: usize,
        size: i64,
        rows: Option<RowsId>,
    ) -> Result<VarId, Fault> {
        let ty = self.ty(states).clone();
        if let Some(writer) = self.draft.program.writer(states)
            && let (Op::Fill(Fill { value, .. }), Some(rows)) = (&writer.op, rows)
        {
            let ty = Type { dtype: ty.dtype, rows: Some(rows), dims: vec![Dim::from(size)] };
            return self.emit(Fill { value: *value, ty }, &[]);
        }
        let part = [number as i64, number as i64 + 1];
        let part = Slice { axes: vec![0], starts: vec![part[0]], ends: vec![part[1]], strides: Vec::new() };
        let part = self.emit(part, &[states])?;
        let dims = ty.dims.get(1..).unwrap_or_default().to_vec();
        let state = self.emit(Reshape { dims }, &[part])?;
        match rows {
            Some(rows) => self.on_rows(state, rows),
            None => Ok(state),
        }
    }

    /// A direction of a layer along sequences: what it gives for each token, and its state at the end.
    fn along_tokens(
        &mut self,
        unit: Unit,
        weights: &Weights,
        tokens: VarId,
        initial: &[VarId],
        is_reverse: bool,
    ) -> Result<(VarId, Vec<VarId>), Fault> {
        let tokens = if is_reverse { self.emit(SequenceReverse, &[tokens])? } else { tokens };
        let products = weights.of_input(tokens, |op, inputs| self.emit(op, inputs))?;
        let step = |x, state: &[VarId], at: &mut At<'_>| unit.step(weights, x, state, at);
        let (out, outputs) = self.for_each_token(products, initial, step)?;
        let out = if is_reverse { self.emit(SequenceReverse, &[out])? } else { out };
        Ok((out, outputs))
    }

    /// What a step gives for each token of sequences, and the state at the end. A step gets a token and the state, and gives the
    /// next state, the first part of which is for the token.
    pub(in crate::convert) fn for_each_token(
        &mut self,
        tokens: VarId,
        initial: &[VarId],
        step: impl FnOnce(VarId, &[VarId], &mut At<'_>) -> Result<Vec<VarId>, Fault>,
    ) -> Result<(VarId, Vec<VarId>), Fault> {
        let given = |x: &[VarId], state: &[VarId], at: &mut At<'_>| {
            let Some(&x) = x.first() else { return Ok(Step::default()) };
            let state = step(x, state, at)?;
            Ok(Step { given: state.first().copied().into_iter().collect(), state })
        };
        let wrong = || Fault::Form { message: "its steps are not those of sequences".to_string() };
        let Step { given, state } =
            along_tokens::for_each_token(self, "rnn", &[tokens], initial, given)?.ok_or_else(wrong)?;
        Ok((*given.first().ok_or_else(wrong)?, state))
    }

    /// A direction of a layer, step by step: what it gives for each step, and its state at the end.
    fn one_by_one(
        &mut self,
        unit: Unit,
        weights: &Weights,
        x: VarId,
        mut state: Vec<VarId>,
        masks: Option<&Masks>,
        is_reverse: bool,
    ) -> Result<(VarId, Vec<VarId>), Fault> {
        let products = weights.of_input(x, |op, inputs| self.emit(op, inputs))?;
        let ty = self.ty(products).clone();
        let steps = ty.dims[0].constant().map_or(0, |steps| steps as usize);
        let split = Split { axis: 0, sections: vec![Dim::from(1); steps] };
        let parts = self.emit_all(split, &[products], steps)?;
        let mut outs = vec![products; steps];
        let mut order: Vec<usize> = (0..steps).collect();
        if is_reverse {
            order.reverse();
        }
        for step in order {
            let item = self.emit(Reshape { dims: ty.dims[1..].to_vec() }, &[parts[step]])?;
            let mut next = unit.step(weights, item, &state, self)?;
            let mut out = next[0];
            if let Some(&[within, behind]) = masks.map(|masks| &masks[step]) {
                let times = Binary { kind: BinaryKind::Mul };
                for (next, &state) in next.iter_mut().zip(&state) {
                    let (new, old) =
                        (self.emit(times, &[*next, within])?, self.emit(times, &[state, behind])?);
                    *next = self.emit(Binary { kind: BinaryKind::Add }, &[new, old])?;
                }
                out = self.emit(times, &[out, within])?;
            }
            let dims = [&[Dim::from(1)], &self.ty(out).dims[..]].concat();
            outs[step] = self.emit(Reshape { dims }, &[out])?;
            state = next;
        }
        Ok((self.emit(Concat { axis: 0 }, &outs)?, state))
    }

    /// What the last layer gives, `[steps, batch, features]`.
    pub(in crate::convert) fn steps_in_front(&mut self, of: &Recurrence, out: Steps) -> Result<VarId, Fault> {
        match out {
            Steps::Tokens(tokens) => {
                let padded = SequencePad { length: of.steps.clone(), pad_value: 0.0 };
                let padded = self.emit(padded, &[tokens])?;
                let padded = self.emit(RowsToAxis, &[padded])?;
                self.emit(Transpose { perm: vec![1, 0, 2] }, &[padded])
            }
            Steps::Listed(out) => Ok(out),
        }
    }

    /// The states at the end, `[directions of layers, batch, size]`.
    pub(in crate::convert) fn states_in_front(&mut self, states: &[VarId]) -> Result<VarId, Fault> {
        let mut parts = Vec::with_capacity(states.len());
        for &state in states {
            let state = match self.ty(state).rows {
                Some(_) => self.emit(RowsToAxis, &[state])?,
                None => state,
            };
            let dims = [&[Dim::from(1)], &self.ty(state).dims[..]].concat();
            parts.push(self.emit(Reshape { dims }, &[state])?);
        }
        self.emit(Concat { axis: 0 }, &parts)
    }
}
