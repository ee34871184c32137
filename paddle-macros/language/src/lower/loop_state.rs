//! What `while` and `for` have in common: the variables that the body assigns are the loop state, and the values of the
//! body are collected.

use std::collections::BTreeMap;

use paddle_core::ops::{Fill, Number, Op, Program, ScatterRows, made_sequences};
use paddle_core::program::{BlockId, Definition, RowsId, Type, VarId};
use proc_macro2::Span;

use super::Lowering;
use super::assigned::Shape;
use super::constants::Tensor;
use crate::ast::{BindingId, Block, Expr, ExprKind};
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Constant, Slot, Value};

/// A variable that is loop state.
pub(super) struct State {
    pub(super) id: BindingId,
    pub(super) name: String,
    pub(super) shape: Shape,
}

/// The values that make up the loop state, as a flat list.
#[derive(Default)]
pub(super) struct Leaves {
    /// The row space that the loop runs on, if rows leave it one by one.
    pub(super) rows: Option<RowsId>,
    /// State that is a number before the loop and gets rows in an iteration, with the row space that it gets. The loop
    /// itself runs on all rows.
    pub(super) grown: BTreeMap<BindingId, RowsId>,
    pub(super) initial: Vec<VarId>,
    pub(super) names: Vec<String>,
    /// For each leaf, whether it began as an integer without a type.
    pub(super) whole: Vec<bool>,
}

/// The results of a lowered body.
pub(super) struct Given {
    /// The state after the iteration, followed by the collected values.
    pub(super) results: Vec<VarId>,
    /// How the collected values make up the value of the loop; `None` if it has no value.
    pub(super) shape: Option<Shape>,
}

impl<'a> Lowering<'a, '_> {
    /// Turns the values of variables before the loop into initial state.
    pub(super) fn enter(&mut self, ids: &[BindingId], span: Span, leaves: &mut Leaves) -> Option<Vec<State>> {
        let mut states = Vec::with_capacity(ids.len());
        let mut complete = true;
        for &id in ids {
            let name = self.network.bindings[id.0].name.clone();
            let Some(slot) = self.env.get(&id).cloned() else { continue };
            let rows = leaves.rows.or_else(|| leaves.grown.get(&id).copied());
            match self.leaves(&slot.value, (&name, rows), slot.at, span, leaves) {
                Some(shape) => states.push(State { id, name, shape }),
                None => complete = false,
            }
        }
        complete.then_some(states)
    }

    fn leaves(
        &mut self,
        value: &Value<'a>,
        (name, rows): (&str, Option<RowsId>),
        at: Extent,
        span: Span,
        leaves: &mut Leaves,
    ) -> Option<Shape> {
        match value {
            Value::Array(_) if rows.is_some() && Tensor::of(value).is_some() => {}
            Value::Tuple(parts) | Value::Array(parts) => {
                let shapes = parts.iter().map(|part| self.leaves(part, (name, rows), at, span, leaves));
                let shapes = shapes.collect::<Option<_>>()?;
                return Some(match value {
                    Value::Array(_) => Shape::Array(shapes),
                    _ => Shape::Tuple(shapes),
                });
            }
            Value::Unassigned => {
                self.unassigned(span, name.into());
                return None;
            }
            _ => {}
        }
        let initial = self.materialize(value, at)?;
        let initial = match rows {
            Some(rows) => self.on_rows(initial, rows, name, at)?,
            None => initial,
        };
        leaves.initial.push(initial);
        leaves.names.push(name.into());
        leaves.whole.push(Constant::is_whole(value));
        Some(Shape::Leaf(leaves.initial.len() - 1))
    }

    /// Turns a value before the loop into one on the rows of the loop. A number is expanded; any other value has to
    /// have these rows already.
    fn on_rows(&mut self, var: VarId, rows: RowsId, name: &str, at: Extent) -> Option<VarId> {
        let ty = self.program.ty(var).clone();
        match ty.rows {
            Some(own) if own == rows => Some(var),
            None => match self.number_of(var) {
                Some(number) => self.fill(number, Type { rows: Some(rows), ..ty }, at),
                None => {
                    let (what, found) = (format!("`{name}`"), self.show(&ty));
                    self.error(at, Message::OneValue { what, found });
                    None
                }
            },
            Some(own) => {
                let names = [own, rows].map(|rows| self.program.show_rows(self.program.drawn_from(rows)));
                let ([own, rows], found) = (names, self.show(&ty));
                let text = format!(
                    "`{name}` is {found}, which has {own}, but the loop runs on {rows}; give each of these its value"
                );
                self.error(at, Message::RowSpaces { text });
                None
            }
        }
    }

    /// Whether a value is a number, or a constant with equal elements.
    pub(super) fn is_number(&self, value: &Value<'a>) -> bool {
        match value {
            Value::Constant(_) => true,
            Value::Array(_) => Tensor::of(value).is_some(),
            Value::Var(var) => self.program.ty(*var).rows.is_none() && self.number_of(*var).is_some(),
            _ => false,
        }
    }

    /// The number that all elements of a constant are equal to.
    fn number_of(&self, var: VarId) -> Option<Number> {
        let value = self.program.var(var);
        let written = |operator: &&paddle_core::ops::Operator| operator.outputs.first() == Some(&var);
        let block = self.program.block(value.block);
        let operator =
            (value.definition == Definition::Operator).then(|| block.ops.iter().rev().find(written));
        match operator.flatten().map(|operator| &operator.op) {
            Some(Op::Fill(Fill { value, .. })) => Some(*value),
            Some(Op::AssignValue(constant)) => {
                let (first, others) = constant.values.split_first()?;
                others.iter().all(|other| other == first).then_some(*first)
            }
            _ => None,
        }
    }

    /// Enters a block of the loop. Its parameters hold the state.
    pub(super) fn enter_block(
        &mut self,
        block: BlockId,
        states: &[State],
        leaves: &Leaves,
    ) -> Option<Vec<VarId>> {
        self.block = block;
        let rows = self.program.block(block).rows.filter(|_| leaves.rows.is_some());
        let mut params = Vec::with_capacity(leaves.initial.len());
        for ((&initial, name), &whole) in leaves.initial.iter().zip(&leaves.names).zip(&leaves.whole) {
            let ty = self.program.ty(initial).clone();
            let ty = Type { rows: rows.or(ty.rows), ..ty };
            params.push(self.block_parameter(block, name, ty)?);
            if whole && let Some(&param) = params.last() {
                self.whole_states.insert(param, name.clone());
            }
        }
        for State { id, shape, .. } in states {
            if let Some(slot) = self.env.get_mut(id) {
                slot.value = shape.value(&params);
            }
        }
        Some(params)
    }

    pub(super) fn block_parameter(&mut self, block: BlockId, name: &str, ty: Type) -> Option<VarId> {
        match self.program.create_block_parameter(block, name, ty) {
            Ok(param) => Some(param),
            Err(error) => {
                self.build_error(error, Span::call_site().into(), &[]);
                None
            }
        }
    }

    /// Lowers the body in its block, and collects the state and the value after an iteration.
    pub(super) fn iterate(
        &mut self,
        body: &'a Block,
        states: &[State],
        params: &[VarId],
        leaves: &Leaves,
    ) -> (Value<'a>, Option<Vec<VarId>>) {
        let outer = self.env.clone();
        let value = self.block(body);
        let env = std::mem::replace(&mut self.env, outer);
        let mut results = Vec::with_capacity(params.len());
        let mut complete = true;
        for State { id, name, shape } in states {
            let Some(slot) = env.get(id) else { continue };
            complete &= self.next(name, shape, slot, params, leaves, &mut results).is_some();
        }
        (value, complete.then_some(results))
    }

    /// The next state of a variable. Its type has to be the type before the loop.
    fn next(
        &mut self,
        name: &str,
        shape: &Shape,
        slot: &Slot<'a>,
        params: &[VarId],
        leaves: &Leaves,
        results: &mut Vec<VarId>,
    ) -> Option<()> {
        let before = |program: &Program, at: &usize| program.ty(params[*at]).clone();
        let (before, whole) = match (shape, &slot.value) {
            (_, Value::Unknown) => return None,
            (Shape::Tuple(shapes), Value::Tuple(values)) | (Shape::Array(shapes), Value::Array(values))
                if shapes.len() == values.len() =>
            {
                for (shape, value) in shapes.iter().zip(values) {
                    let part = Slot { value: value.clone(), at: slot.at };
                    self.next(name, shape, &part, params, leaves, results)?;
                }
                return Some(());
            }
            (Shape::Leaf(at), Value::Constant(constant)) => {
                let ty = before(&self.program, at);
                if let Some(number) = constant.adapt(ty.dtype) {
                    results.push(self.fill(number, ty, slot.at)?);
                    return Some(());
                }
                (self.show(&ty), leaves.whole[*at])
            }
            (Shape::Leaf(at), Value::Var(var)) => {
                let ty = before(&self.program, at);
                let mut var = self.localize(*var, slot.at.start)?;
                if let (None, Some(_), Some(number)) =
                    (self.program.ty(var).rows, ty.rows, self.number_of(var))
                {
                    var =
                        self.fill(number, Type { rows: ty.rows, ..self.program.ty(var).clone() }, slot.at)?;
                }
                let after = self.program.ty(var);
                if ty.rows.is_some() && after.rows.is_none() && leaves.rows.is_some() {
                    let (what, found) = (format!("`{name}`"), self.show(after));
                    self.error(slot.at, Message::OneValue { what, found });
                    return None;
                }
                let alike = (after.dtype, after.rows) == (ty.dtype, ty.rows);
                if alike && self.may_be_equal(&after.dims, &ty.dims) {
                    results.push(var);
                    return Some(());
                }
                (self.show(&ty), leaves.whole[*at])
            }
            (Shape::Leaf(at), _) => (self.show(&before(&self.program, at)), false),
            (Shape::Tuple(shapes), _) => (format!("a tuple of {}", shapes.len()), false),
            (Shape::Array(shapes), _) => (format!("an array of {}", shapes.len()), false),
            (Shape::Nothing | Shape::Unassigned, _) => return None,
        };
        let hint = if whole { "; for a float, begin with `0.0`".to_string() } else { String::new() };
        let after = self.describe(&slot.value);
        self.error(slot.at, Message::LoopChange { name: name.into(), before, after, hint });
        None
    }

    /// Turns the value of a body into results with one value for each row of the iteration.
    pub(super) fn collect(
        &mut self,
        value: &Value<'a>,
        at: Extent,
        results: &mut Vec<VarId>,
    ) -> Option<Shape> {
        let rows = self.program.block(self.block).rows?;
        let first = results.len();
        self.collect_parts(value, at, rows, first, results)
    }

    fn collect_parts(
        &mut self,
        value: &Value<'a>,
        at: Extent,
        rows: RowsId,
        first: usize,
        results: &mut Vec<VarId>,
    ) -> Option<Shape> {
        match value {
            Value::Unknown => return None,
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.collect_parts(part, at, rows, first, results));
                return Some(Shape::Tuple(parts.collect::<Option<_>>()?));
            }
            Value::Array(parts) if Tensor::of(value).is_none() => {
                let parts = parts.iter().map(|part| self.collect_parts(part, at, rows, first, results));
                return Some(Shape::Array(parts.collect::<Option<_>>()?));
            }
            _ => {}
        }
        let mut var = self.materialize(value, at)?;
        if let (None, Some(number)) = (self.program.ty(var).rows, self.number_of(var)) {
            var = self.fill(number, Type { rows: Some(rows), ..self.program.ty(var).clone() }, at)?;
        }
        let ty = self.program.ty(var);
        if ty.rows.and_then(|of| self.program.over_iterations(of, rows)).is_none() {
            let found = self.show(ty);
            let message = match ty.rows {
                None => Message::OneValue { what: "the value of this iteration".into(), found },
                Some(_) => Message::RowSpaces {
                    text: format!(
                        "{found} is collected, but a loop collects one value for each of its rows; make rows of it, with \
                         `sequence_pool`"
                    ),
                },
            };
            self.error(at, message);
            return None;
        }
        results.push(var);
        Some(Shape::Leaf(results.len() - 1 - first))
    }

    /// The collected values of a loop, as sequences.
    pub(super) fn collected(&mut self, given: &[VarId], span: Span) -> Vec<VarId> {
        let site = self.site(span);
        let mut sequences = Vec::with_capacity(given.len());
        for &given in given {
            match self.program.append_op(self.block, ScatterRows, &[given], site) {
                Ok(outputs) => sequences.extend(outputs),
                Err(error) => self.build_error(error, span.into(), &[]),
            }
        }
        sequences
    }

    /// Lowers a loop that collects pairs of a value and a flag, and keeps the values whose flag is true.
    pub(super) fn kept(&mut self, repeat: &'a Expr) -> Value<'a> {
        let at = match &repeat.kind {
            ExprKind::For { span, .. } | ExprKind::While { span, .. } => (*span).into(),
            _ => repeat.at,
        };
        match self.expr(repeat) {
            Value::Tuple(mut parts) if parts.len() == 2 => match (parts.pop(), parts.pop()) {
                (Some(Value::Var(flags)), Some(values)) => self.keep(values, flags, at),
                _ => Value::Unknown,
            },
            Value::Array(_) => {
                let what = "collecting values of a loop over numbers that rows leave".to_string();
                let instead = "assign the value to a variable, and end the statement with `;`".to_string();
                self.error(at, Message::NotSupported { what, instead });
                Value::Unknown
            }
            _ => Value::Unknown,
        }
    }

    fn keep(&mut self, values: Value<'a>, flags: VarId, at: Extent) -> Value<'a> {
        match values {
            Value::Tuple(parts) => {
                Value::Tuple(parts.into_iter().map(|part| self.keep(part, flags, at)).collect())
            }
            Value::Array(parts) => {
                Value::Array(parts.into_iter().map(|part| self.keep(part, flags, at)).collect())
            }
            Value::Var(var) => {
                let site = self.site(at.start);
                let (block, program) = (self.block, &mut self.program);
                let tokens = program.ty(var).rows;
                let Some(parent) = tokens.and_then(|tokens| program.rows_of_whole_sequences(tokens)) else {
                    return Value::Unknown;
                };
                let rows = program.create_tokens("kept", parent);
                let emit = |op: Op, inputs: &[VarId]| Ok(program.append_op(block, op, inputs, site)?[0]);
                match made_sequences::filter((var, rows), flags, emit) {
                    Ok(kept) => Value::Var(kept),
                    Err(error) => {
                        self.build_error(error, at, &[]);
                        Value::Unknown
                    }
                }
            }
            _ => Value::Unknown,
        }
    }

    /// The place of the value of a body.
    pub(super) fn tail_of(body: &Block) -> Extent {
        body.tail.as_ref().map_or(body.at, |tail| tail.at)
    }

    /// Runs `act` and undoes its effects, to learn its result in advance.
    pub(super) fn rehearse<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let (program, env, names) = (self.program.clone(), self.env.clone(), self.names.clone());
        let (uses, named, whole) = (self.first_uses.clone(), self.named.clone(), self.whole_states.clone());
        let (outside, blames, meanings) =
            (self.outside.clone(), self.check_blames.clone(), self.meanings.clone());
        let (block, reports, left_out) = (self.block, self.sink.mark(), self.left_out.len());
        self.rehearsals += 1;
        let result = act(self);
        self.rehearsals -= 1;
        (self.program, self.env, self.names) = (program, env, names);
        (self.first_uses, self.named, self.whole_states) = (uses, named, whole);
        (self.outside, self.check_blames, self.block) = (outside, blames, block);
        self.meanings = meanings;
        self.sink.truncate(reports);
        self.left_out.truncate(left_out);
        result
    }
}

impl Constant {
    /// Whether the value is an integer constant without a type.
    fn is_whole(value: &Value<'_>) -> bool {
        matches!(value, Value::Constant(Constant { number: Number::Int(_), dtype: None }))
    }
}
