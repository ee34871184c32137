//! Moves of values, rows and sequences: groups that the runtime needs beside those of operators.

use super::super::backend::{Backend, Extent, Group, Layout, Move, OperandType, Side};
use super::super::code::{Home, Instruction, Kernel, LaunchCode, Origin, SelectCode, Slot, SlotId};
use super::super::error::PlanError;
use super::Lowering;
use crate::program::{DType, Dim, SymbolId};

/// An operand of a move: a slot, and as what it is seen.
pub(super) type Seen = (SlotId, OperandType);

impl<B: Backend> Lowering<'_, B> {
    /// A slot as it is.
    pub(super) fn whole(&self, slot: SlotId) -> Seen {
        let Slot { dtype, shape, layout, .. } = &self.memory.slots[slot.0];
        (slot, OperandType { dtype: *dtype, shape: shape.clone(), layout: layout.clone() })
    }

    /// The first rows of a slot, of which there may be room for more.
    pub(super) fn first(&self, slot: SlotId, rows: Extent) -> Seen {
        let (slot, mut ty) = self.whole(slot);
        ty.shape[0] = rows;
        (slot, ty)
    }

    /// The row numbers of a space.
    pub(super) fn index(&mut self, space: usize) -> Seen {
        let (size, index) = (self.rows.spaces[space].size, self.rows.spaces[space].index);
        let rows = self.count(size);
        self.first(index, rows)
    }

    /// A size by itself, also where a check makes it equal to another one: loops change the one and not the other.
    pub(super) fn count(&mut self, size: SymbolId) -> Extent {
        let dim = Dim::symbol(size);
        let at = self.memory.extents.iter().position(|known| *known == dim).unwrap_or_else(|| {
            self.memory.extents.push(dim);
            self.memory.extents.len() - 1
        });
        Extent::Bound(at)
    }

    /// Compiles a move.
    pub(super) fn launch_move(
        &mut self,
        kind: Move,
        inputs: &[Seen],
        outputs: &[Seen],
    ) -> Result<LaunchCode<Kernel<B>>, PlanError> {
        let types = |operands: &[Seen]| operands.iter().map(|(_, ty)| ty.clone()).collect();
        let group = Group::of_move(kind, types(inputs), types(outputs));
        // All of them are on one side.
        let side = self.memory.slots[outputs[0].0.0].home.side();
        let kernel = self.compile(side, &group).map_err(|error| PlanError::Unsupported {
            operator: kind.name().to_string(),
            backend: self.backend.name(),
            place: None,
            message: error.message,
        })?;
        let operands = inputs.iter().chain(outputs).map(|(slot, _)| *slot).collect();
        let number = self.number(Origin::Move(kind));
        Ok(LaunchCode { kernel, operands, inputs: inputs.len(), number, product: None })
    }

    /// The number of a launch that was made from this.
    pub(super) fn number(&mut self, origin: Origin) -> u32 {
        self.origins.push(origin);
        u32::try_from(self.origins.len() - 1).expect("a program has fewer operators than that")
    }

    fn moved(
        &mut self,
        kind: Move,
        inputs: &[Seen],
        output: Seen,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        Ok(Instruction::Launch(self.launch_move(kind, inputs, &[output])?))
    }

    /// Copies a value to the other side.
    pub(super) fn transfer(&mut self, from: SlotId, to: SlotId) -> Instruction<Kernel<B>> {
        let kernel = Kernel::Transfer(self.memory.slots[to.0].dtype);
        let number = self.number(Origin::Move(Move::Transfer));
        Instruction::Launch(LaunchCode { kernel, operands: vec![from, to], inputs: 1, number, product: None })
    }

    /// A slot itself if it is on this side, or else one like it there, for now.
    pub(super) fn on_side(&mut self, slot: SlotId, side: Side) -> SlotId {
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

    /// The same with the value in it.
    pub(super) fn brought(
        &mut self,
        slot: SlotId,
        side: Side,
        code: &mut Vec<Instruction<Kernel<B>>>,
    ) -> SlotId {
        let there = self.on_side(slot, side);
        if there != slot {
            code.push(self.transfer(slot, there));
        }
        there
    }

    pub(super) fn copy(&mut self, from: SlotId, to: SlotId) -> Result<Instruction<Kernel<B>>, PlanError> {
        self.moved(Move::Copy, &[self.whole(from)], self.whole(to))
    }

    pub(super) fn add(&mut self, from: SlotId, to: SlotId) -> Result<Instruction<Kernel<B>>, PlanError> {
        self.moved(Move::Add, &[self.whole(from)], self.whole(to))
    }

    pub(super) fn zero(&mut self, to: SlotId) -> Result<Instruction<Kernel<B>>, PlanError> {
        self.moved(Move::Zero, &[], self.whole(to))
    }

    /// Copies the rows of a space.
    pub(super) fn gather(
        &mut self,
        space: usize,
        from: SlotId,
        to: SlotId,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        let inputs = [self.whole(from), self.index(space)];
        self.moved(Move::GatherRows, &inputs, self.whole(to))
    }

    /// Copies rows to where a space says.
    pub(super) fn scatter(
        &mut self,
        space: usize,
        from: SlotId,
        to: SlotId,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        let inputs = [self.whole(from), self.index(space)];
        self.moved(Move::ScatterRows, &inputs, self.whole(to))
    }

    /// Adds rows to those that a space says.
    pub(super) fn add_rows(
        &mut self,
        space: usize,
        from: SlotId,
        to: SlotId,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        let inputs = [self.whole(from), self.index(space)];
        self.moved(Move::AddRows, &inputs, self.whole(to))
    }

    /// Splits so many rows by a mask.
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
        let outputs = [self.first(yes, rows), self.first(no, rows), self.whole(count)];
        let launch = self.launch_move(Move::SelectRows, &[self.whole(mask)], &outputs)?;
        Ok(SelectCode { launch, count })
    }
}
