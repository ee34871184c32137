//! Lowering of `if`.

use super::super::backend::{Backend, Extent, Move};
use super::super::code::{IfCode, Instruction, JoinCode, JoinHow, Kernel, RowsOfIf, SlotId};
use super::super::error::PlanError;
use super::Lowering;
use crate::ops::{If, Join, Operator};
use crate::program::{BlockId, RowsId};

impl<B: Backend> Lowering<'_, B> {
    pub(super) fn conditional(&mut self, operator: &Operator) -> Result<Instruction<Kernel<B>>, PlanError> {
        let program = self.program;
        let condition = self.read(operator.inputs[0])?;
        let rows = self.memory.slots[condition.0].shape.first().copied().unwrap_or(Extent::Fixed(1));
        let &[yes, no] = &operator.blocks[..] else {
            return Err(self.unsupported(operator, "it does not have two blocks".into()));
        };
        let splits = program.block(yes).forward.is_none();
        let own = [program.block(yes).rows, program.block(no).rows];
        let spaces = match own {
            [Some(yes), Some(no)] => {
                Some([self.branch_space(yes, rows, operator), self.branch_space(no, rows, operator)])
            }
            _ => None,
        };
        let rows = match spaces {
            None => None,
            Some(spaces) => {
                let indices = spaces.map(|space| self.rows.spaces[space].index);
                let select = if splits { Some(self.select(condition, rows, indices)?) } else { None };
                Some(RowsOfIf { spaces, all: rows, select })
            }
        };
        // The branches of a gradient run in reverse, because loops in both branches share the tape, which is a stack.
        let mut branches = [0; 2];
        for side in if splits { [0, 1] } else { [1, 0] } {
            branches[side] = self.nested(operator.blocks[side])?;
        }
        self.now += 1;
        for space in spaces.into_iter().flatten() {
            self.touch(self.rows.spaces[space].index);
        }
        let mut joins = Vec::with_capacity(operator.outputs.len());
        for (k, &output) in operator.outputs.iter().enumerate() {
            let result = |block: BlockId| program.block(block).results[k];
            let join = If::join(program, own[0], program.ty(result(yes)));
            let from = [self.read(result(yes))?, self.read(result(no))?];
            let of = [yes, no].map(|block| self.known_space(program.ty(result(block)).rows));
            let to = self.define(output)?;
            let how = match (join, of) {
                (Join::Merge, [Some(yes), Some(no)]) => JoinHow::Rows([
                    self.launch_rows(Move::ScatterRows, yes, from[0], to)?,
                    self.launch_rows(Move::ScatterRows, no, from[1], to)?,
                ]),
                _ => self.join_whole(from, to, rows.is_some())?,
            };
            joins.push(JoinCode { join, from, to, how });
        }
        let code = IfCode { condition, rows, forward: splits, branches, joins };
        Ok(Instruction::If(Box::new(code)))
    }

    /// Compiles the launches that join two results without rows. A scalar condition runs one branch, whose result is
    /// copied. A condition per row may run one branch, both or none: then the result is a copy, the sum or zero.
    fn join_whole(
        &mut self,
        from: [SlotId; 2],
        to: SlotId,
        per_row: bool,
    ) -> Result<JoinHow<Kernel<B>>, PlanError> {
        let ([first, second], to) = (from.map(|from| [self.operand(from)]), [self.operand(to)]);
        let copies =
            [self.launch_move(Move::Copy, &first, &to)?, self.launch_move(Move::Copy, &second, &to)?];
        let (mut add_second, mut zero) = (None, None);
        if per_row {
            add_second = Some(self.launch_move(Move::Add, &second, &to)?);
            zero = Some(self.launch_move(Move::Zero, &[], &to)?);
        }
        Ok(JoinHow::Whole { copies, add_second, zero })
    }

    /// The space of the rows of a branch. The first call adds it, with a slot for the row numbers.
    fn branch_space(&mut self, rows: RowsId, parent: Extent, operator: &Operator) -> usize {
        if let Some(space) = self.known_space(Some(rows)) {
            return space;
        }
        let block = operator.blocks.first().copied().unwrap_or_default();
        let index = self.row_numbers_slot(rows, vec![parent], block);
        self.add_space(rows, index, block)
    }
}
