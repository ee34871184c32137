//! Lowering of moves: the groups that the runtime needs beside those of operators.

use super::super::backend::{Backend, Extent, Group, Layout, Move, OperandType, Side};
use super::super::code::{
    Home, Instruction, Kernel, LaunchCode, LaunchWork, Origin, SelectCode, Slot, SlotId,
};
use super::super::error::PlanError;
use super::super::work::Work;
use super::Lowering;
use crate::program::DType;

/// An operand of a move: a slot, and the type that the move sees it as.
pub(super) type MoveOperand = (SlotId, OperandType);

impl<B: Backend> Lowering<'_, B> {
    /// A slot as an operand of its own type.
    pub(super) fn operand(&self, slot: SlotId) -> MoveOperand {
        let Slot { dtype, shape, layout, .. } = &self.memory.slots[slot.0];
        (slot, OperandType { dtype: *dtype, shape: shape.clone(), layout: layout.clone() })
    }

    /// The first `rows` rows of a slot as an operand. The slot may have room for more rows.
    pub(super) fn first_rows(&self, slot: SlotId, rows: Extent) -> MoveOperand {
        let (slot, mut ty) = self.operand(slot);
        ty.shape[0] = rows;
        (slot, ty)
    }

    /// The row numbers of a space as an operand.
    pub(super) fn row_numbers(&mut self, space: usize) -> MoveOperand {
        let (size, index) = (self.rows.spaces[space].size, self.rows.spaces[space].index);
        let rows = self.symbol_extent(size);
        self.first_rows(index, rows)
    }

    /// Compiles a move to a launch.
    pub(super) fn launch_move(
        &mut self,
        kind: Move,
        inputs: &[MoveOperand],
        outputs: &[MoveOperand],
    ) -> Result<LaunchCode<Kernel<B>>, PlanError> {
        let types = |operands: &[MoveOperand]| operands.iter().map(|(_, ty)| ty.clone()).collect();
        let group = Group::of_move(kind, types(inputs), types(outputs));
        let bytes = |dtype| self.backend.element_bytes(dtype);
        let work = Work::of_move(kind, &group.inputs, &group.outputs, bytes);
        // All operands are on one side.
        let side = self.memory.slots[outputs[0].0.0].home.side();
        let kernel = self.compile(side, &group).map_err(|error| PlanError::Unsupported {
            operator: kind.name().to_string(),
            backend: self.backend.name(),
            place: None,
            message: error.message,
        })?;
        let [inputs, outputs] =
            [inputs, outputs].map(|operands| operands.iter().map(|(slot, _)| *slot).collect());
        Ok(self.launch_code(kernel, inputs, outputs, Origin::Move(kind), work))
    }

    /// A launch of a kernel, with a number of its own.
    pub(super) fn launch_code(
        &mut self,
        kernel: Kernel<B>,
        inputs: Vec<SlotId>,
        outputs: Vec<SlotId>,
        origin: Origin,
        work: Work,
    ) -> LaunchCode<Kernel<B>> {
        let number = u32::try_from(self.origins.len()).expect("a program has fewer operators than that");
        self.origins.push(origin);
        let value = outputs.first().or(inputs.first()).copied();
        self.work.push(LaunchWork { work, at: self.now, value });
        let (first, count) = (self.operands.len(), inputs.len());
        self.operands.extend(inputs.into_iter().chain(outputs));
        LaunchCode { kernel, operands: first..self.operands.len(), inputs: count, number, product: None }
    }

    fn move_instruction(
        &mut self,
        kind: Move,
        inputs: &[MoveOperand],
        output: MoveOperand,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        Ok(Instruction::Launch(self.launch_move(kind, inputs, &[output])?))
    }

    /// Compiles a copy of a value to the other side.
    pub(super) fn transfer(&mut self, from: SlotId, to: SlotId) -> Instruction<Kernel<B>> {
        let kernel = Kernel::Transfer(self.memory.slots[to.0].dtype);
        let [(_, read), (_, written)] = [from, to].map(|slot| self.operand(slot));
        let work =
            Work::of_move(Move::Transfer, &[read], &[written], |dtype| self.backend.element_bytes(dtype));
        let origin = Origin::Move(Move::Transfer);
        Instruction::Launch(self.launch_code(kernel, vec![from], vec![to], origin, work))
    }

    /// Returns the slot if it is on this side, or else a new slot of the same type on it, for the current instruction
    /// only.
    pub(super) fn slot_on_side(&mut self, slot: SlotId, side: Side) -> SlotId {
        let like = &self.memory.slots[slot.0];
        if like.home.side() == side {
            return slot;
        }
        let home = match side {
            Side::Own => Home::Arena,
            Side::Fallback => Home::Staging,
        };
        let like = Slot { home, life: (self.now, self.now), ..like.clone() };
        let slot = self.add_slot(like);
        if self.grows(slot) {
            self.give_lane(slot, None);
        }
        slot
    }

    /// Returns a slot on this side that has the value of `slot`; appends a transfer to `code` if it needs one.
    pub(super) fn copied_to_side(
        &mut self,
        slot: SlotId,
        side: Side,
        code: &mut Vec<Instruction<Kernel<B>>>,
    ) -> SlotId {
        let there = self.slot_on_side(slot, side);
        if there != slot {
            code.push(self.transfer(slot, there));
        }
        there
    }

    pub(super) fn copy(&mut self, from: SlotId, to: SlotId) -> Result<Instruction<Kernel<B>>, PlanError> {
        self.move_instruction(Move::Copy, &[self.operand(from)], self.operand(to))
    }

    /// Compiles a copy of a value to another layout.
    pub(super) fn relayout(&mut self, from: SlotId, to: SlotId) -> Result<Instruction<Kernel<B>>, PlanError> {
        self.move_instruction(Move::Relayout, &[self.operand(from)], self.operand(to))
    }

    pub(super) fn add(&mut self, from: SlotId, to: SlotId) -> Result<Instruction<Kernel<B>>, PlanError> {
        self.move_instruction(Move::Add, &[self.operand(from)], self.operand(to))
    }

    pub(super) fn zero(&mut self, to: SlotId) -> Result<Instruction<Kernel<B>>, PlanError> {
        self.move_instruction(Move::Zero, &[], self.operand(to))
    }

    /// Compiles a move between a value and the rows of a space.
    pub(super) fn launch_rows(
        &mut self,
        kind: Move,
        space: usize,
        from: SlotId,
        to: SlotId,
    ) -> Result<LaunchCode<Kernel<B>>, PlanError> {
        let inputs = [self.operand(from), self.row_numbers(space)];
        self.launch_move(kind, &inputs, &[self.operand(to)])
    }

    /// Compiles a gather of the rows of a space.
    pub(super) fn gather(
        &mut self,
        space: usize,
        from: SlotId,
        to: SlotId,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        Ok(Instruction::Launch(self.launch_rows(Move::GatherRows, space, from, to)?))
    }

    /// Compiles a scatter to the rows of a space.
    pub(super) fn scatter(
        &mut self,
        space: usize,
        from: SlotId,
        to: SlotId,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        Ok(Instruction::Launch(self.launch_rows(Move::ScatterRows, space, from, to)?))
    }

    /// Compiles an addition to the rows of a space.
    pub(super) fn add_rows(
        &mut self,
        space: usize,
        from: SlotId,
        to: SlotId,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        Ok(Instruction::Launch(self.launch_rows(Move::AddRows, space, from, to)?))
    }

    /// Compiles the split of `rows` rows by a mask. `yes` gets the numbers of the true rows, `no` those of the false
    /// ones.
    pub(super) fn select(
        &mut self,
        mask: SlotId,
        rows: Extent,
        [yes, no]: [SlotId; 2],
    ) -> Result<SelectCode<Kernel<B>>, PlanError> {
        let count = self.add_slot(Slot {
            name: "count of rows".to_string(),
            shape: vec![Extent::Fixed(1)],
            layout: Layout::ROW_MAJOR,
            element_bytes: self.backend.element_bytes(DType::I32),
            dtype: DType::I32,
            home: Home::Arena,
            life: (self.now, self.now),
        });
        let outputs = [self.first_rows(yes, rows), self.first_rows(no, rows), self.operand(count)];
        let launch = self.launch_move(Move::SelectRows, &[self.operand(mask)], &outputs)?;
        Ok(SelectCode { launch, count })
    }
}
