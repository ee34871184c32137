//! The rule for `rnn`: layers of recurrent units, as `LSTM`, `GRU` and `SimpleRNN` of `paddle.nn` write them.
//!
//! Rows become sequences, as long as the lengths say, and each direction of each layer a `for` along them. Without rows,
//! where the batch has a fixed size, the steps are written one after the other. The products of the inputs are computed for
//! all steps at once, before the first of them. `DropoutState` and `Reserve` are dead: the first is how PaddlePaddle's
//! library draws its numbers, the second what it keeps for the gradient.

use super::units::{Unit, Weights};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::compositions::made_sequences;
use crate::ops::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Concat, Dropout, DropoutImplementation, Fill, For,
    Gather, GatherRows, Number, Op, Reshape, RowNumbers, RowsToAxis, Scale, ScatterRows, SequencePad,
    SequenceReverse, Slice, Split, Transpose,
};
use crate::program::{BlockId, DType, Dim, RowsId, Type, VarId};

/// The most steps that are written one after the other, those of all layers and directions together.
const MOST_STEPS: usize = 1 << 12;

/// The input of a layer.
#[derive(Clone, Copy)]
enum Steps {
    /// The tokens of sequences.
    Tokens(VarId),
    /// `[steps, batch, features]`, without rows.
    Listed(VarId),
}

/// Where the steps of a batch of fixed size are within their sequences: for each step 1 and 0, or 0 and 1 behind the end.
type Masks = Vec<[VarId; 2]>;

impl<'a> Reading<'_, 'a> {
    pub(super) fn rnn(&mut self) -> Result<bool, ConvertError> {
        let (Some(unit), [_, ..]) =
            (Unit::from_name(self.desc.attr_string("mode")?.unwrap_or("")), self.desc.input("Input"))
        else {
            return self.lacks("its `mode` is none of LSTM, GRU, RNN_TANH and RNN_RELU");
        };
        let size = self.desc.attr_long("hidden_size")?.unwrap_or(0);
        let layers = self.desc.attr_long("num_layers")?.unwrap_or(1);
        let directions = if self.bool("is_bidirec", false)? { 2 } else { 1 };
        let (weights, states) = (self.inputs("WeightList")?, self.inputs("PreState")?);
        let count = usize::try_from(layers).ok().and_then(|layers| layers.checked_mul(directions));
        let count = count.filter(|count| count.checked_mul(4) == Some(weights.len()));
        let (Some(count), true) = (count, states.len() == unit.states() && size > 0) else {
            return self
                .lacks("it has not two weights, two biases and a state for each direction of each layer");
        };
        let x = self.input("Input")?;
        let (None, [steps, _, _]) = (self.ty(x).rows, &self.ty(x).dims.clone()[..]) else {
            return self.lacks("the rows that are fed are steps in time, but they have to be the batch");
        };
        let front = self.permuted(x, &[1, 0, 2])?;
        let front = self.with_rows(front)?;
        let rows = self.ty(front).rows;
        let mut masks = None;
        let mut input = match (rows, steps.constant().and_then(|steps| usize::try_from(steps).ok())) {
            (Some(rows), _) => Steps::Tokens(self.tokens_of_rows(front, rows, steps)?),
            (None, Some(steps)) if steps.checked_mul(count).is_some_and(|all| all <= MOST_STEPS) => {
                masks = self.masks(steps, self.ty(x).dtype)?;
                Steps::Listed(x)
            }
            _ => {
                return self.lacks(
                    "the batch is not the rows that are fed, or it has a fixed size and too many steps",
                );
            }
        };
        let all = Weights::of(&weights);
        let mut finals = Vec::new();
        for layer in 0..count / directions {
            if layer > 0 {
                input = self.dropped(input, layer)?;
            }
            let mut outs = Vec::with_capacity(directions);
            for direction in 0..directions {
                let number = layer * directions + direction;
                let initial = states.iter().map(|&state| self.initial_state(state, number, size, rows));
                let initial = initial.collect::<Result<Vec<VarId>, Fault>>()?;
                let (out, last) = match input {
                    Steps::Tokens(tokens) => {
                        self.along_tokens(unit, &all[number], tokens, &initial, direction == 1)?
                    }
                    Steps::Listed(x) => {
                        self.one_by_one(unit, &all[number], x, initial, masks.as_ref(), direction == 1)?
                    }
                };
                outs.push(out);
                finals.push(last);
            }
            let out = |axis| Concat { axis };
            input = match (input, &outs[..]) {
                (Steps::Tokens(_), &[one]) => Steps::Tokens(one),
                (Steps::Listed(_), &[one]) => Steps::Listed(one),
                (Steps::Tokens(_), both) => Steps::Tokens(self.emit(out(1), both)?),
                (Steps::Listed(_), both) => Steps::Listed(self.emit(out(2), both)?),
            };
        }
        self.give_steps(input, steps)?;
        let names = self.desc.output("State");
        for (k, name) in names.iter().enumerate().take(unit.states()) {
            let of: Vec<VarId> = finals.iter().map(|last| last[k]).collect();
            self.give_states(&of, name)?;
        }
        Ok(true)
    }

    /// The steps of each row as a sequence, as long as `SequenceLength` says.
    fn tokens_of_rows(&mut self, x: VarId, rows: RowsId, steps: &Dim) -> Result<VarId, Fault> {
        let of_rows = Type { dtype: DType::I64, rows: Some(rows), dims: Vec::new() };
        let length = match (self.has(&["SequenceLength"]), steps.constant()) {
            (true, _) => {
                let length = self.input("SequenceLength")?;
                let length = self.on_rows(length, rows)?;
                self.emit(Cast { dtype: DType::I64 }, &[length])?
            }
            (false, Some(steps)) => self.emit(Fill { value: Number::Int(steps), ty: of_rows }, &[])?,
            (false, None) => {
                let steps = self.size_value(steps)?;
                let steps = self.emit(Cast { dtype: DType::I64 }, &[steps])?;
                let steps = self.emit(Reshape { dims: Vec::new() }, &[steps])?;
                let zeros = self.emit(Fill::zeros(of_rows), &[])?;
                self.emit(Binary { kind: BinaryKind::Add }, &[zeros, steps])?
            }
        };
        let tokens = self.reader.draft.program.create_tokens("rnn", rows);
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

    /// For each step, whether it is within the sequences; `None` if all are.
    fn masks(&mut self, steps: usize, dtype: DType) -> Result<Option<Masks>, Fault> {
        if !self.has(&["SequenceLength"]) {
            return Ok(None);
        }
        let length = self.input("SequenceLength")?;
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
        Ok(Some(masks))
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
        if let Some(writer) = self.reader.draft.program.writer(states)
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

    /// Between two layers, where it is trained.
    fn dropped(&mut self, x: Steps, layer: usize) -> Result<Steps, ConvertError> {
        let dropout_prob = self.desc.attr_float("dropout_prob")?.map_or(0.0, f64::from);
        if self.is_test()? || dropout_prob == 0.0 {
            return Ok(x);
        }
        let path = format!("{}.{layer}", one(self.desc.output("Out"), "Out")?);
        let dropout_implementation = DropoutImplementation::UpscaleInTrain;
        let op = Dropout { dropout_prob, dropout_implementation, path };
        Ok(match x {
            Steps::Tokens(x) => Steps::Tokens(self.emit_all(op, &[x], 2)?[0]),
            Steps::Listed(x) => Steps::Listed(self.emit_all(op, &[x], 2)?[0]),
        })
    }

    /// A direction of a layer along sequences: what it gives for each token, and its state at the end.
    fn along_tokens(
        &mut self,
        unit: Unit,
        weights: &Weights,
        tokens: VarId,
        initial: &[VarId],
        is_reverse: bool,
    ) -> Result<(VarId, Vec<VarId>), ConvertError> {
        let outer = self.id();
        let tokens = if is_reverse { self.emit(SequenceReverse, &[tokens])? } else { tokens };
        let products = weights.of_input(tokens, |op, inputs| self.emit(op, inputs))?;
        let wrong = || Fault::Form { message: "its steps are not those of sequences".to_string() };
        let of = self.ty(products).rows.ok_or_else(wrong)?;
        let program = &mut self.reader.draft.program;
        let steps = program.steps_of(of);
        let rows = program.local_rows(of, steps);
        let block = program.create_iteration(outer, steps)?;
        let inside = program.block(block).rows.ok_or_else(wrong)?;
        let item = self.emit(GatherRows { rows }, &[products])?;
        let ty = self.ty(item).clone();
        let rows = ty.rows.and_then(|of| self.reader.draft.program.iteration_of(of, inside));
        let item_inside = self.reader.draft.block_parameter(block, "x", &Type { rows, ..ty })?;
        let mut state = Vec::with_capacity(initial.len());
        for &value in initial {
            let ty = Type { rows: Some(inside), ..self.ty(value).clone() };
            state.push(self.reader.draft.block_parameter(block, "state", &ty)?);
        }
        let mut results = unit.step(weights, item_inside, &state, &mut InBlock { reading: self, block })?;
        results.push(results[0]);
        self.reader.draft.program.set_results(block, &results)?;
        let inputs: Vec<VarId> = std::iter::once(item).chain(initial.iter().copied()).collect();
        let op = Op::from(For { items: 1 });
        let names = vec!["rnn"; initial.len() + 1];
        let mut outputs = self.reader.draft.append(outer, op, &inputs, &[block], &names, self.site)?;
        let given = outputs.split_off(initial.len());
        let out = self.emit(ScatterRows, &given)?;
        let out = if is_reverse { self.emit(SequenceReverse, &[out])? } else { out };
        Ok((out, outputs))
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
    ) -> Result<(VarId, Vec<VarId>), ConvertError> {
        let block = self.id();
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
            let mut next = unit.step(weights, item, &state, &mut InBlock { reading: self, block })?;
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

    /// Writes what the last layer gives, `[steps, batch, features]`.
    fn give_steps(&mut self, out: Steps, steps: &Dim) -> Result<bool, ConvertError> {
        match out {
            Steps::Tokens(tokens) => {
                let padded = SequencePad { length: steps.clone(), pad_value: 0.0 };
                let padded = self.emit(padded, &[tokens])?;
                let padded = self.emit(RowsToAxis, &[padded])?;
                self.out(Transpose { perm: vec![1, 0, 2] }, &[padded])
            }
            Steps::Listed(out) => self.out(crate::ops::Assign, &[out]),
        }
    }

    /// Writes the states at the end, `[directions of layers, batch, size]`.
    fn give_states(&mut self, states: &[VarId], name: &'a str) -> Result<bool, ConvertError> {
        let mut parts = Vec::with_capacity(states.len());
        for &state in states {
            let state = match self.ty(state).rows {
                Some(_) => self.emit(RowsToAxis, &[state])?,
                None => state,
            };
            let dims = [&[Dim::from(1)], &self.ty(state).dims[..]].concat();
            parts.push(self.emit(Reshape { dims }, &[state])?);
        }
        self.define(Concat { axis: 0 }, &parts, &[], &[name])
    }
}

/// The place where the operators of a step go.
pub(super) struct InBlock<'x, 'r, 'a> {
    reading: &'x mut Reading<'r, 'a>,
    block: BlockId,
}

impl InBlock<'_, '_, '_> {
    pub(super) fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, Fault> {
        self.reading.emit_in(self.block, op, inputs)
    }

    /// The equal parts along the last of two axes.
    pub(super) fn split(&mut self, x: VarId, parts: usize) -> Result<Vec<VarId>, Fault> {
        let size = self.reading.ty(x).dims.last().and_then(Dim::constant).unwrap_or(0) / parts as i64;
        let split = Split { axis: 1, sections: vec![Dim::from(size); parts] };
        self.reading.append(self.block, split.into(), &[x], parts)
    }
}
