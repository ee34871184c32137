//! The row spaces of an iteration of a `for`, each with its counterpart for all tokens.

use std::collections::{BTreeMap, BTreeSet};

use crate::ops::{OfShards, Operator, Program};
use crate::program::{BlockId, OpInterface, RowOrigin, RowSpace, RowsId, Type, VarId};

/// Row spaces of the body of a loop, with their counterparts.
#[derive(Clone)]
pub(super) struct RowMap {
    /// The rows of an iteration. Their counterpart are the tokens.
    pub(super) iteration: RowsId,
    pub(super) tokens: RowsId,
    /// Row spaces that belong to the blocks that are moved.
    own: BTreeSet<RowsId>,
    known: BTreeMap<RowsId, RowsId>,
}

impl RowMap {
    /// The map of the body of a loop; `None` if it is no loop along sequences.
    pub(super) fn of_body(program: &Program, body: BlockId) -> Option<Self> {
        let iteration = program.block(body).rows?;
        let steps = program.steps_of_loop(iteration)?;
        let is_along = program.row_space(steps).origin == RowOrigin::Steps;
        let tokens = program.source_of(steps).filter(|_| is_along)?;
        Some(RowMap { iteration, tokens, own: BTreeSet::new(), known: BTreeMap::new() })
    }

    /// The map, with the row spaces of these blocks, and those of what their loops make.
    pub(super) fn with_own(&self, program: &Program, blocks: &[BlockId]) -> Self {
        let mut map = self.clone();
        for &block in blocks {
            let rows = program.block(block).rows;
            let rounds = rows.and_then(|rows| program.steps_of_loop(rows));
            let rounds = rounds.filter(|&steps| program.row_space(steps).origin == RowOrigin::Rounds);
            map.own.extend(
                rows.into_iter().chain(rounds).chain(rounds.and_then(|steps| program.source_of(steps))),
            );
            for operator in &program.block(block).ops {
                map.own.extend(operator.op.operation().makes(program, operator));
            }
        }
        map
    }

    /// Whether a row space is one of an iteration: its rows, or what belongs to them or is taken from them.
    fn is_local(&self, program: &Program, rows: RowsId) -> bool {
        std::iter::successors(Some(rows), |&rows| program.row_space(rows).parent)
            .any(|rows| rows == self.iteration)
    }

    /// Whether a row space of an iteration has a counterpart.
    pub(super) fn maps(&self, program: &Program, rows: RowsId) -> bool {
        let space = program.row_space(rows);
        let parent = || space.parent.is_some_and(|parent| self.maps(program, parent));
        match space.origin {
            _ if rows == self.iteration => true,
            RowOrigin::Part { .. } if space.parent == Some(self.iteration) => {
                self.tokens_of_item(program, rows).is_some()
            }
            RowOrigin::Part { of } => self.maps(program, of) && parent(),
            RowOrigin::Steps => parent(),
            RowOrigin::Chosen | RowOrigin::Active { .. } | RowOrigin::Tokens | RowOrigin::Rounds => {
                self.own.contains(&rows) && parent()
            }
            RowOrigin::Root | RowOrigin::Fixed(_) => false,
        }
    }

    /// The tokens of the sequences that an item has, if `rows` are those of an iteration.
    fn tokens_of_item(&self, program: &Program, rows: RowsId) -> Option<RowsId> {
        let all = program.over_iterations(rows, self.iteration)?;
        let tokens = program.source_of(all)?;
        (program.rows_of_whole_sequences(tokens) == Some(self.tokens)).then_some(tokens)
    }

    /// Whether a value of this type has a counterpart: its rows have one, and its other sizes are those of no iteration.
    pub(super) fn has_counterpart(&self, program: &Program, ty: &Type) -> bool {
        let sizes: BTreeSet<_> = ty.dims.iter().flat_map(|dim| dim.symbols()).collect();
        let is_size =
            |(rows, space): (RowsId, &RowSpace)| sizes.contains(&space.size) && self.is_local(program, rows);
        let rows = ty.rows.is_none_or(|rows| self.maps(program, rows));
        rows && (sizes.is_empty() || !(0..).map(RowsId).zip(program.row_spaces()).any(is_size))
    }

    /// Whether each row of what an operator gives depends on its own row alone, whichever rows are there.
    pub(super) fn is_by_row(&self, program: &Program, operator: &Operator) -> bool {
        let effects = operator.op.effects();
        let has_rows = |var: &VarId| program.ty(*var).rows.is_some();
        let output = |k: usize| match has_rows(&operator.outputs[k]) {
            true => operator.op.operation().of_shards(program, operator, k) == OfShards::Rows,
            false => !operator.inputs.iter().any(has_rows),
        };
        let named = operator.op.row_spaces().into_iter().all(|rows| self.maps(program, rows));
        effects.pure && named && (effects.blocks || (0..operator.outputs.len()).all(output))
    }

    /// The counterpart of a row space of an iteration, which is created if there is none; other row spaces are their own.
    pub(super) fn counterpart(&mut self, program: &mut Program, rows: RowsId) -> RowsId {
        if let Some(&known) = self.known.get(&rows) {
            return known;
        }
        if !self.is_local(program, rows) {
            return rows;
        }
        let space = program.row_space(rows).clone();
        let found = if rows == self.iteration {
            self.tokens
        } else if let Some(tokens) = self.tokens_of_item(program, rows) {
            tokens
        } else {
            let parent = self.counterpart(program, space.parent.unwrap_or(rows));
            match space.origin {
                RowOrigin::Part { of } => {
                    let of = self.counterpart(program, of);
                    program.part_of(of, parent)
                }
                RowOrigin::Steps => program.steps_of(parent),
                RowOrigin::Active { steps } => {
                    let steps = self.counterpart(program, steps);
                    program.add_rows_below(parent, &space.name, RowOrigin::Active { steps })
                }
                origin => program.add_rows_below(parent, &space.name, origin),
            }
        };
        self.known.insert(rows, found);
        found
    }
}
