//! `while`: on a scalar condition, or row by row.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::ops::While;
use paddle_core::program::{BlockId, DType, RowsId, VarId};
use proc_macro2::Span;

use super::Lowering;
use super::assigned::{assigned, assigned_in_block};
use super::expr::Operand;
use super::loop_state::{Given, Leaves, State};
use crate::ast::{BindingId, Block, Expr};
use crate::messages::Message;
use crate::values::{Slot, Value};

/// The deepest nesting of loops whose bodies are rehearsed.
const MOST_REHEARSALS: usize = 3;

impl<'a> Lowering<'a, '_> {
    pub(super) fn repeat(&mut self, span: Span, condition: &'a Expr, body: &'a Block) -> Value<'a> {
        for id in assigned(condition, &self.env) {
            let name = self.network.bindings[id.0].name.clone();
            let why = "the condition of a loop is computed; assign in the body".to_string();
            self.error(condition.at, Message::Assign { name, why });
        }
        let ids: Vec<BindingId> = assigned_in_block(body, &self.env).into_iter().collect();
        if ids.is_empty() && self.is_known {
            let what = "a `while` that assigns no variable from outside".to_string();
            let instead = "assign in its body what its condition reads".to_string();
            self.error(span, Message::NotOfTheLanguage { what, instead });
        }
        let (rows, grown) = self.rows_of_condition(condition, body, &ids);
        let mut leaves = Leaves { rows, grown, ..Leaves::default() };
        let states = self.enter(&ids, span, &mut leaves);
        let value = if body.is_statement() { Value::unit() } else { Value::Unknown };
        let Some(states) = states.filter(|states| !states.is_empty()) else {
            // The loop is lowered only to find its mistakes, so its state is unknown.
            self.forget(ids.iter().copied());
            let outer = self.env.clone();
            self.expr(condition);
            self.block(body);
            self.env = outer;
            return value;
        };

        let block = self.block;
        let name = self.binding.name().unwrap_or("rounds").to_string();
        let blocks = match rows {
            Some(rows) => self.program.create_loop(block, rows, &name).map(|(blocks, _)| blocks),
            None => self
                .program
                .create_block(block, None)
                .and_then(|test| Ok([test, self.program.create_block(block, None)?])),
        };
        let blocks = match blocks {
            Ok(blocks) => blocks,
            Err(error) => {
                self.build_error(error, span.into(), &[]);
                self.forget(ids);
                return Value::Unknown;
            }
        };
        let test = self.condition_block(condition, blocks[0], &states, &leaves);
        let given = self.body_of_while(body, blocks[1], &states, &leaves);
        self.block = block;
        let (Some(test), Some(Given { results, shape })) = (test, given) else {
            self.forget(ids);
            return value;
        };
        if !self.may_change(test, blocks, &results) {
            self.error(condition.at, Message::UnchangingCondition {});
        }
        let site = self.site(span);
        let program = &mut self.program;
        let op = While { limit: While::DEFAULT_LIMIT };
        let set = program.set_results(blocks[0], &[test]);
        let set = set.and_then(|()| program.set_results(blocks[1], &results));
        match set.and_then(|()| program.append_block_op(block, op, &leaves.initial, &blocks, site)) {
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

    /// The row space of a per-row condition. The condition is rehearsed before the loop. If it has no rows there, it is
    /// rehearsed again behind an iteration, because numbers may get rows in the body; these numbers are returned too.
    fn rows_of_condition(
        &mut self,
        condition: &'a Expr,
        body: &'a Block,
        ids: &[BindingId],
    ) -> (Option<RowsId>, BTreeMap<BindingId, RowsId>) {
        let rows = |this: &mut Self| match this.operand(condition) {
            Some(Operand::Var(var)) => this.program.ty(var).rows,
            _ => None,
        };
        if let Some(rows) = self.rehearse(rows) {
            return (Some(rows), BTreeMap::new());
        }
        // Each level of nested loops doubles the work of rehearsing.
        if self.rehearsals > MOST_REHEARSALS {
            return (None, BTreeMap::new());
        }
        self.rehearse(|this| {
            let before = this.env.clone();
            this.block(body);
            let grown = ids.iter().filter_map(|id| match this.env.get(id)?.value {
                Value::Var(var) if this.is_number(&before.get(id)?.value) => {
                    Some((*id, this.program.ty(var).rows?))
                }
                _ => None,
            });
            let grown = grown.collect();
            (rows(this), grown)
        })
    }

    /// Lowers the condition in its block.
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
                let (ty, rows) = (self.program.ty(var), self.program.block(block).rows);
                let one = ty.dims.iter().all(|dim| dim.constant() == Some(1));
                let fits =
                    if rows.is_some() { ty.rows == rows && ty.dims.len() <= 1 } else { ty.rows.is_none() };
                if ty.dtype == DType::Bool && one && fits {
                    return Some(var);
                }
                let found = format!("{} is {}", condition.words(), self.show(ty));
                self.error(condition.at, Message::Condition { found });
            }
            Operand::Size(size) => drop(self.undecided(&size, condition.at)),
            Operand::Constant(constant) => {
                let found = format!("`{}` does not change", constant.number);
                self.error(condition.at, Message::Condition { found });
            }
        }
        None
    }

    /// Whether an iteration may change the condition: the condition depends on state that the body changes, or on
    /// random numbers.
    fn may_change(&self, test: VarId, [condition, body]: [BlockId; 2], results: &[VarId]) -> bool {
        let changed =
            self.program.block(body).params.iter().zip(results).map(|(before, after)| before != after);
        let params = self.program.block(condition).params.iter().zip(changed);
        let changing: BTreeSet<VarId> =
            params.filter(|(_, changed)| *changed).map(|(&param, _)| param).collect();
        let (mut seen, mut left) = (BTreeSet::new(), vec![test]);
        while let Some(var) = left.pop() {
            if changing.contains(&var) {
                return true;
            }
            // Nested blocks of the condition are not searched.
            let is_inside = self.program.var(var).block == condition;
            let writer = self.program.writer(var).filter(|_| is_inside && seen.insert(var));
            let Some(operator) = writer else { continue };
            let effects = operator.op.effects();
            if effects.random || effects.blocks {
                return true;
            }
            left.extend(&operator.inputs);
        }
        false
    }

    /// Lowers the body in its block.
    fn body_of_while(
        &mut self,
        body: &'a Block,
        block: BlockId,
        states: &[State],
        leaves: &Leaves,
    ) -> Option<Given> {
        let outer = self.env.clone();
        let params = self.enter_block(block, states, leaves)?;
        let (value, results) = self.iterate(body, states, &params, leaves);
        self.env = outer;
        let mut shape = None;
        if !value.is_unit() && !value.is_unknown() {
            let at = Self::tail_of(body);
            if leaves.rows.is_none() {
                let what = "collecting values of a `while` whose condition is one for all rows".to_string();
                let instead =
                    "let every row have its condition, or assign the value to a variable, and end the \
                               statement with `;`"
                        .to_string();
                self.error(at, Message::NotSupported { what, instead });
                return None;
            }
            let mut results = results?;
            shape = Some(self.collect(&value, at, &mut results)?);
            return Some(Given { results, shape });
        }
        Some(Given { results: results?, shape })
    }
}
