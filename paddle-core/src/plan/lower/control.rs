//! Branches.

use super::super::backend::{Backend, Extent};
use super::super::code::{IfCode, Instruction, JoinCode};
use super::super::error::PlanError;
use super::Lowering;
use crate::ops::{If, Operator};
use crate::program::{BlockId, RowsId};

impl<B: Backend> Lowering<'_, B> {
    pub(super) fn conditional(&mut self, operator: &Operator) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let condition = self.read(operator.inputs[0])?;
        let rows = self.slots[condition.0].shape.first().copied().unwrap_or(Extent::Fixed(1));
        let &[yes, no] = &operator.blocks[..] else {
            return Err(self.unsupported(operator, "it does not have two blocks".into()));
        };
        let splits = program.block(yes).forward.is_none();
        let own = [program.block(yes).rows, program.block(no).rows];
        let spaces = match own {
            [Some(yes), Some(no)] => {
                Some([self.chosen(yes, rows, operator), self.chosen(no, rows, operator)])
            }
            _ => None,
        };
        // Gradients run in reverse, as loops in both branches share the tape.
        let mut branches = [0; 2];
        for side in if splits { [0, 1] } else { [1, 0] } {
            branches[side] = self.nested(operator.blocks[side])?;
        }
        self.now += 1;
        for space in spaces.into_iter().flatten() {
            self.touch(self.spaces[space].index);
        }
        let mut joins = Vec::with_capacity(operator.outputs.len());
        for (k, &output) in operator.outputs.iter().enumerate() {
            let result = |block: BlockId| program.block(block).results[k];
            let join = If::join(program, own[0], program.ty(result(yes)));
            let from = [self.read(result(yes))?, self.read(result(no))?];
            let of = [yes, no].map(|block| self.known_space(program.ty(result(block)).rows));
            let spaces = of[0].zip(of[1]).map(|(yes, no)| [yes, no]);
            joins.push(JoinCode { join, from, to: self.define(output)?, spaces });
        }
        Ok(Instruction::If(Box::new(IfCode { condition, spaces, splits, rows, branches, joins })))
    }

    /// The space of rows that a branch chooses; on first sight with a slot for the row numbers.
    fn chosen(&mut self, rows: RowsId, parent: Extent, operator: &Operator) -> usize {
        if let Some(space) = self.known_space(Some(rows)) {
            return space;
        }
        let block = operator.blocks.first().copied().unwrap_or_default();
        let index = self.numbers(rows, vec![parent], block);
        self.add_space(rows, index, block)
    }
}
