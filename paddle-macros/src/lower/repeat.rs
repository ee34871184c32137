//! `while` on a scalar condition: the variables that the body assigns are the state of a loop.

use paddle_core::ops::{Number, While};
use paddle_core::program::{BlockId, DType, Program, VarId};
use proc_macro2::Span;

use super::Lowering;
use super::expr::Operand;
use super::state::{Shape, assigned, assigned_in_block};
use crate::ast::{BindingId, Block, Expr};
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Constant, Slot, Value};

/// A variable that is loop state.
struct State {
    id: BindingId,
    name: String,
    shape: Shape,
}

/// The values that make up the loop state.
#[derive(Default)]
struct Leaves {
    initial: Vec<VarId>,
    names: Vec<String>,
    /// Began as a whole number without a type.
    whole: Vec<bool>,
}

impl<'a> Lowering<'a, '_> {
    pub(super) fn repeat(&mut self, span: Span, condition: &'a Expr, body: &'a Block) {
        for id in assigned(condition, &self.env) {
            let name = self.network.bindings[id.0].name.clone();
            let why = "the condition of a loop is computed; assign in the body".to_string();
            self.error(condition.at, Message::Assign { name, why });
        }
        let ids = assigned_in_block(body, &self.env);
        if ids.is_empty() && self.is_known {
            let what = "a `while` that assigns no variable from outside".to_string();
            let instead = "assign in its body what its condition reads".to_string();
            self.error(span, Message::NotOfTheLanguage { what, instead });
        }
        let mut leaves = Leaves::default();
        let states: Vec<Option<State>> = ids.iter().map(|&id| self.enter(id, span, &mut leaves)).collect();
        let states: Option<Vec<State>> = states.into_iter().collect();
        let Some(states) = states.filter(|states| !states.is_empty()) else {
            // Look at the loop for its own mistakes. Nothing is known of the state.
            self.forget(ids.iter().copied());
            let outer = self.env.clone();
            self.expr(condition);
            self.block(body);
            self.env = outer;
            return;
        };

        let block = self.block;
        let blocks = match (self.program.create_block(block, None), self.program.create_block(block, None)) {
            (Ok(test), Ok(body)) => [test, body],
            (Err(error), _) | (_, Err(error)) => {
                self.build_error(error, span.into(), &[]);
                self.forget(ids);
                return;
            }
        };
        let test = self.condition_block(condition, blocks[0], &states, &leaves);
        let results = self.iterate(body, blocks[1], &states, &leaves);
        self.block = block;
        let outputs = match (test, results) {
            (Some(test), Some(results)) => {
                let site = self.site(span);
                let program = &mut self.program;
                let op = While { limit: While::DEFAULT_LIMIT };
                let set = program.set_results(blocks[0], &[test]);
                let set = set.and_then(|()| program.set_results(blocks[1], &results));
                set.and_then(|()| program.append_block_op(block, op, &leaves.initial, &blocks, site))
            }
            _ => {
                self.forget(ids);
                return;
            }
        };
        match outputs {
            Ok(outputs) => {
                for (output, name) in outputs.iter().zip(&leaves.names) {
                    self.rename(*output, name);
                }
                for State { id, shape, .. } in states {
                    self.env.insert(id, Slot { value: shape.value(&outputs), at: body.at });
                }
            }
            Err(error) => {
                self.build_error(error, span.into(), &[]);
                self.forget(ids);
            }
        }
    }

    /// The value of a variable before the loop, as state.
    fn enter(&mut self, id: BindingId, span: Span, leaves: &mut Leaves) -> Option<State> {
        let name = self.network.bindings[id.0].name.clone();
        let slot = self.env.get(&id)?.clone();
        let shape = self.leaves(&slot.value, &name, slot.at, span, leaves)?;
        Some(State { id, name, shape })
    }

    fn leaves(
        &mut self,
        value: &Value<'a>,
        name: &str,
        at: Extent,
        span: Span,
        leaves: &mut Leaves,
    ) -> Option<Shape> {
        match value {
            Value::Tuple(parts) | Value::Array(parts) => {
                let shapes = parts.iter().map(|part| self.leaves(part, name, at, span, leaves));
                let shapes = shapes.collect::<Option<_>>()?;
                Some(if let Value::Array(_) = value { Shape::Array(shapes) } else { Shape::Tuple(shapes) })
            }
            Value::Unassigned => {
                self.unassigned(span, name.into());
                None
            }
            value => {
                let whole = Constant::is_whole(value);
                leaves.initial.push(self.materialize(value, at)?);
                leaves.names.push(name.into());
                leaves.whole.push(whole);
                Some(Shape::Leaf(leaves.initial.len() - 1))
            }
        }
    }

    /// Enters a block of the loop: the state becomes its parameters.
    fn enter_block(&mut self, block: BlockId, states: &[State], leaves: &Leaves) -> Option<Vec<VarId>> {
        self.block = block;
        let mut params = Vec::with_capacity(leaves.initial.len());
        for ((&initial, name), &whole) in leaves.initial.iter().zip(&leaves.names).zip(&leaves.whole) {
            let ty = self.program.ty(initial).clone();
            match self.program.create_block_parameter(block, name, ty) {
                Ok(param) => params.push(param),
                Err(error) => {
                    self.build_error(error, Span::call_site().into(), &[]);
                    return None;
                }
            }
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

    /// The block of the condition, and its result.
    fn condition_block(
        &mut self,
        condition: &'a Expr,
        block: BlockId,
        states: &[State],
        leaves: &Leaves,
    ) -> Option<VarId> {
        let outer = self.env.clone();
        self.enter_block(block, states, leaves)?;
        let test = self.operand(condition);
        self.env = outer;
        match test? {
            Operand::Var(var) => {
                let ty = self.program.ty(var);
                if ty.dtype == DType::Bool && ty.is_scalar() {
                    return Some(var);
                }
                let found = format!("{} is {}", condition.words(), self.show(ty));
                let per_row = ty.rows.is_some() && ty.dims.iter().all(|dim| dim.constant() == Some(1));
                let message = if ty.dtype == DType::Bool && per_row && ty.dims.len() <= 1 {
                    let instead = "compare one value for all rows, such as a counter".to_string();
                    Message::NotSupported { what: format!("a `while` per row ({found})"), instead }
                } else {
                    Message::Condition { found }
                };
                self.error(condition.at, message);
            }
            Operand::Size(size) => drop(self.undecided(&size, condition.at)),
            Operand::Constant(constant) => {
                let found = format!("`{}` does not change", constant.number);
                self.error(condition.at, Message::Condition { found });
            }
        }
        None
    }

    /// The block of the body, and the state after an iteration.
    fn iterate(
        &mut self,
        body: &'a Block,
        block: BlockId,
        states: &[State],
        leaves: &Leaves,
    ) -> Option<Vec<VarId>> {
        let outer = self.env.clone();
        let params = self.enter_block(block, states, leaves)?;
        let value = self.block(body);
        let env = std::mem::replace(&mut self.env, outer);
        if !value.is_unit() && !value.is_unknown() {
            self.collected(body);
        }
        let mut results = Vec::with_capacity(params.len());
        let mut complete = true;
        for State { id, name, shape } in states {
            let Some(slot) = env.get(id) else { continue };
            complete &= self.next(name, shape, slot, &params, leaves, &mut results).is_some();
        }
        complete.then_some(results)
    }

    /// The next state of a variable; it has to be of the type that it began with.
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
                let var = self.localize(*var, slot.at.start)?;
                let after = self.program.ty(var);
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
            (Shape::Unassigned, _) => return None,
        };
        let hint = if whole { "; for a float, begin with `0.0`".to_string() } else { String::new() };
        let after = self.describe(&slot.value);
        self.error(slot.at, Message::LoopChange { name: name.into(), before, after, hint });
        None
    }
}

impl Constant {
    /// Whether the value is a whole number that has no type of its own.
    fn is_whole(value: &Value<'_>) -> bool {
        matches!(value, Value::Constant(Constant { number: Number::Int(_), dtype: None }))
    }
}
