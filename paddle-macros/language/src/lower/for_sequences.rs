//! `for` along sequences, token by token, and along several sequences in step.

use paddle_core::ops::{For, GatherRows, SequenceAlign};
use paddle_core::program::{BlockId, RowsId, Type, VarId};
use proc_macro2::Span;

use super::Lowering;
use super::assigned::{Shape, assigned_in_block};
use super::binding::Bound;
use super::loop_state::{Given, Leaves, State};
use crate::ast::{BindingId, Block, Expr, ExprKind, Pattern};
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Slot, Value};

/// The sequences that a loop goes along in step.
pub(super) struct Items {
    pub(super) vars: Vec<VarId>,
    /// How the item of an iteration is built from one token of each sequence.
    shape: Shape,
}

impl<'a> Lowering<'a, '_> {
    /// Lowers `for`: a loop along sequences, or an unrolled loop over items known at compile time.
    pub(super) fn for_each(
        &mut self,
        span: Span,
        pattern: &'a Pattern,
        items: &'a Expr,
        body: &'a Block,
    ) -> Value<'a> {
        let value = self.expr(items);
        if let Some(found) = self.sequences(&value) {
            return self.along(span, pattern, items, found, body);
        }
        let Some((part, at)) = self.beside_sequences(&value, items) else {
            return self.unroll(span, pattern, items, value, body);
        };
        let text =
            format!("{part} stands beside a sequence that a `for` goes along, so it has to be one too");
        self.error(at, Message::Shape { text });
        self.unroll(span, pattern, items, Value::Unknown, body)
    }

    /// The sequences that a value consists of: one, or several in tuples. `None` if it is something else.
    pub(super) fn sequences(&self, value: &Value<'a>) -> Option<Items> {
        let mut vars = Vec::new();
        let shape = self.collect_sequences(value, &mut vars)?;
        Some(Items { vars, shape })
    }

    fn collect_sequences(&self, value: &Value<'a>, vars: &mut Vec<VarId>) -> Option<Shape> {
        match value {
            Value::Var(var) => {
                let rows = self.program.ty(*var).rows?;
                self.program.rows_of_whole_sequences(rows)?;
                vars.push(*var);
                Some(Shape::Leaf(vars.len() - 1))
            }
            Value::Tuple(parts) if !parts.is_empty() => {
                let shapes = parts.iter().map(|part| self.collect_sequences(part, vars));
                shapes.collect::<Option<_>>().map(Shape::Tuple)
            }
            _ => None,
        }
    }

    /// If only some parts of a tuple are sequences, a part that is not one.
    fn beside_sequences(&self, value: &Value<'a>, items: &Expr) -> Option<(String, Extent)> {
        let (Value::Tuple(parts), ExprKind::Tuple(exprs)) = (value, &items.kind) else { return None };
        let is_other = |part: &Value<'a>| !part.is_unknown() && self.sequences(part).is_none();
        let other = parts.iter().zip(exprs).find(|(part, _)| is_other(part));
        let (part, expr) = other.filter(|_| parts.iter().any(|part| self.sequences(part).is_some()))?;
        Some((format!("{} is {}, which", expr.words(), self.describe(part)), expr.at))
    }

    fn along(
        &mut self,
        span: Span,
        pattern: &'a Pattern,
        items: &'a Expr,
        found: Items,
        body: &'a Block,
    ) -> Value<'a> {
        let ids: Vec<BindingId> = assigned_in_block(body, &self.env).into_iter().collect();
        let value = if body.is_statement() { Value::unit() } else { Value::Unknown };
        if ids.is_empty() && body.is_statement() && self.is_known {
            let what = "a `for` that assigns no variable from outside and has no value".to_string();
            let instead =
                "let its body end with the value of a token, `let ys = for x in xs { .. y };`".to_string();
            self.error(span, Message::NotOfTheLanguage { what, instead });
        }
        let Some((steps, brought)) = self.steps(span, items, &found.vars) else {
            return self.fail_along(pattern, items, ids, body, value);
        };
        let rows =
            self.program.source_of(steps).and_then(|tokens| self.program.rows_of_whole_sequences(tokens));
        let mut leaves = Leaves { rows, ..Leaves::default() };
        let Some(states) = self.enter(&ids, span, &mut leaves) else {
            return self.fail_along(pattern, items, ids, body, value);
        };
        let outer = self.block;
        let block = match self.program.create_iteration(outer, steps) {
            Ok(block) => block,
            Err(error) => {
                self.build_error(error, span.into(), &[]);
                return self.fail_along(pattern, items, ids, body, value);
            }
        };
        let env = self.env.clone();
        let given =
            self.body_of_for(pattern, (items.at, &found.shape), &brought, body, block, &states, &leaves);
        (self.block, self.env) = (outer, env);
        let Some(Given { results, shape }) = given else {
            self.forget(ids);
            return value;
        };
        let site = self.site(span);
        let inputs: Vec<VarId> = brought.iter().chain(&leaves.initial).copied().collect();
        let op = For { items: brought.len() as i64 };
        let set = self.program.set_results(block, &results);
        match set.and_then(|()| self.program.append_block_op(outer, op, &inputs, &[block], site)) {
            Ok(outputs) => {
                let (finals, given) = outputs.split_at(leaves.initial.len());
                for (output, name) in finals.iter().zip(&leaves.names) {
                    self.rename(*output, name);
                }
                for State { id, shape, .. } in states {
                    self.env.insert(id, Slot { value: shape.value(finals), at: body.at });
                }
                let sequences = self.collected(given, span);
                shape.map_or(value, |shape| shape.value(&sequences))
            }
            Err(error) => {
                self.build_error(error, span.into(), &[]);
                self.forget(ids);
                value
            }
        }
    }

    /// Lowers the body only to find its mistakes, because the loop has one. The variables that the body assigns become
    /// unknown.
    fn fail_along(
        &mut self,
        pattern: &'a Pattern,
        items: &'a Expr,
        ids: Vec<BindingId>,
        body: &'a Block,
        value: Value<'a>,
    ) -> Value<'a> {
        let outer = self.env.clone();
        self.forget(ids.iter().copied());
        self.bind(pattern, Value::Unknown, items.at);
        self.block(body);
        self.env = outer;
        self.forget(ids);
        value
    }

    /// Brings the sequences into the order of the loop's iterations. Returns their row space and their values in it.
    fn steps(&mut self, span: Span, items: &'a Expr, vars: &[VarId]) -> Option<(RowsId, Vec<VarId>)> {
        let places = match &items.kind {
            ExprKind::Tuple(parts) if parts.len() == vars.len() => parts.iter().map(|part| part.at).collect(),
            _ => vec![items.at; vars.len()],
        };
        let mut local = Vec::with_capacity(vars.len());
        for (&var, at) in vars.iter().zip(&places) {
            local.push(self.localize(var, at.start)?);
        }
        let tokens = self.outermost(local[0])?;
        let site = self.site(span);
        for at in 1..local.len() {
            if self.outermost(local[at]) != Some(tokens) {
                // The lengths are compared at run time.
                match self.program.append_op(self.block, SequenceAlign, &[local[at], local[0]], site) {
                    Ok(aligned) => local[at] = aligned[0],
                    Err(error) => {
                        self.build_error(error, places[at], &[places[at], places[0]]);
                        return None;
                    }
                }
            }
        }
        let steps = self.program.steps_of(tokens);
        let mut brought = Vec::with_capacity(local.len());
        for var in local {
            let rows = self.program.ty(var).rows?;
            let rows = self.program.local_rows(rows, steps);
            match self.program.append_op(self.block, GatherRows { rows }, &[var], site) {
                Ok(outputs) => brought.extend(outputs),
                Err(error) => {
                    self.build_error(error, items.at, &[]);
                    return None;
                }
            }
        }
        Some((steps, brought))
    }

    /// The row space of the tokens of the outermost sequences of a value.
    fn outermost(&self, var: VarId) -> Option<RowsId> {
        let mut rows = self.program.ty(var).rows?;
        while let Some(parent) = self.program.rows_of_whole_sequences(rows)
            && self.program.rows_of_whole_sequences(parent).is_some()
            && self.program.rows_of_block(self.block) != Some(parent)
        {
            rows = parent;
        }
        Some(rows)
    }

    #[expect(clippy::too_many_arguments, reason = "what a loop is made of")]
    fn body_of_for(
        &mut self,
        pattern: &'a Pattern,
        (at, shape): (Extent, &Shape),
        items: &[VarId],
        body: &'a Block,
        block: BlockId,
        states: &[State],
        leaves: &Leaves,
    ) -> Option<Given> {
        let rows = self.program.block(block).rows?;
        let bound = Bound::of_pattern(pattern);
        let mut names = vec![None; items.len()];
        leaf_names(&bound, shape, &mut names);
        let mut params = Vec::with_capacity(items.len());
        for (&item, name) in items.iter().zip(names) {
            let ty = self.program.ty(item).clone();
            let inside = ty.rows.and_then(|of| self.program.iteration_of(of, rows));
            let name = name.unwrap_or_else(|| self.program.var(item).name.clone());
            params.push(self.block_parameter(block, &name, Type { rows: inside, ..ty })?);
        }
        let item = shape.value(&params);
        let params = self.enter_block(block, states, leaves)?;
        self.bind(pattern, item, at);
        let (value, results) = self.iterate(body, states, &params, leaves);
        let mut results = results?;
        if value.is_unknown() && !body.is_statement() {
            return None;
        }
        let shape = match value.is_unit() || value.is_unknown() {
            true => None,
            false => Some(self.collect(&value, Self::tail_of(body), &mut results)?),
        };
        Some(Given { results, shape })
    }
}

/// The variable names for the items: for each sequence, the variable that takes its token.
fn leaf_names(bound: &Bound, shape: &Shape, names: &mut [Option<String>]) {
    match (bound, shape) {
        (Bound::Name(name), Shape::Leaf(at)) => names[*at] = Some(name.clone()),
        (Bound::Parts(parts), Shape::Tuple(shapes)) => {
            parts.iter().zip(shapes).for_each(|(part, shape)| leaf_names(part, shape, names));
        }
        _ => {}
    }
}
