//! Lowering of the row spaces that arise during a run: the slots of their row numbers, and of the offsets of
//! sequences.

use super::super::backend::{Backend, Extent, Layout, Move};
use super::super::code::{
    Home, Instruction, Kernel, KnownOffsets, LoopId, MakeCode, Order, Prefix, Slot, SlotId, SortCode, Space,
    TakeCode, TakenSequences,
};
use super::super::error::PlanError;
use super::Lowering;
use crate::ops::Operator;
use crate::program::{BlockId, DType, RowOrigin, RowsId};

impl<B: Backend> Lowering<'_, B> {
    /// The space of a row space, if it has one already. The current instruction reads its row numbers.
    pub(super) fn known_space(&mut self, rows: Option<RowsId>) -> Option<usize> {
        let space = rows.and_then(|rows| self.rows.space_of.get(&rows).copied())?;
        self.touch(self.rows.spaces[space].index);
        Some(space)
    }

    /// The space of a row space. Errors if it has none yet.
    pub(super) fn need_space(&mut self, rows: Option<RowsId>) -> Result<usize, PlanError> {
        let name = rows.map(|rows| self.program.row_space(rows).name.clone()).unwrap_or_default();
        self.known_space(rows).ok_or(PlanError::UnboundSize { symbol: name, outside: false })
    }

    /// Adds a slot for row numbers that `block` computes.
    pub(super) fn row_numbers_slot(&mut self, rows: RowsId, shape: Vec<Extent>, block: BlockId) -> SlotId {
        let name = format!("row numbers of {}", self.program.row_space(rows).name);
        self.auxiliary_slot(name, shape, DType::I32, block)
    }

    /// Adds a slot that the plan needs beside the values of the program. It has an instance for each iteration of the
    /// recorded loop around `block`.
    pub(super) fn auxiliary_slot(
        &mut self,
        name: String,
        shape: Vec<Extent>,
        dtype: DType,
        block: BlockId,
    ) -> SlotId {
        let element_bytes = self.backend.element_bytes(dtype);
        let life = (self.now, self.now);
        let slot = self.add_slot(Slot {
            name,
            shape,
            layout: Layout::ROW_MAJOR,
            element_bytes,
            dtype,
            home: Home::Arena,
            life,
        });
        let around = self.recorded_around(block);
        if around.is_some() || self.grows(slot) {
            self.give_lane(slot, around);
        }
        slot
    }

    /// Adds a space whose row numbers are in the slot `index`. Instructions of `block` set its size.
    pub(super) fn add_space(&mut self, rows: RowsId, index: SlotId, block: BlockId) -> usize {
        let size = self.program.row_space(rows).size;
        self.rows.spaces.push(Space { size, index });
        self.rows.space_of.insert(rows, self.rows.spaces.len() - 1);
        if let Some(around) = self.recorded_around(block) {
            self.loops[around.0].sizes.push(size);
        }
        self.rows.spaces.len() - 1
    }

    /// Appends a sort of the sequences whose tokens are `tokens`, if a loop goes along them.
    pub(super) fn sort_sequences(
        &mut self,
        tokens: RowsId,
        block: BlockId,
        code: &mut Vec<Instruction<Kernel<B>>>,
    ) -> Result<(), PlanError> {
        let program = self.program;
        let spaces = (0..).map(RowsId).zip(program.row_spaces());
        let mut steps =
            spaces.filter(|(_, space)| space.parent == Some(tokens) && space.origin == RowOrigin::Steps);
        let Some((steps, _)) = steps.find(|(steps, _)| self.facts.used.contains(steps)) else {
            return Ok(());
        };
        let Some(parent) = program.row_space(tokens).parent else { return Ok(()) };
        let sequences = self.rows_extent(parent);
        let offsets = self.offsets(tokens)?;
        let order = self.auxiliary_slot(
            format!("order of {}", program.row_space(tokens).name),
            vec![sequences],
            DType::I32,
            block,
        );
        let count = self.rows_extent(tokens);
        let index = self.row_numbers_slot(steps, vec![count], block);
        let steps_space = self.add_space(steps, index, block);
        let (inputs, outputs) = ([self.operand(offsets)], [self.operand(order), self.operand(index)]);
        let launch = self.launch_move(Move::SortSequences, &inputs, &outputs)?;
        self.rows.orders.push(Order {
            sequences,
            offsets,
            known: self.known_offsets(tokens),
            order,
            tokens: program.row_space(tokens).size,
            steps: steps_space,
        });
        self.rows.order_of.insert(steps, self.rows.orders.len() - 1);
        code.push(Instruction::Sort(SortCode { launch, order: self.rows.orders.len() - 1 }));
        self.now += 1;
        self.take_sequences(steps, block, None, code, &mut Vec::new())
    }

    /// The source of the host's copy of the offsets of these tokens.
    fn known_offsets(&self, tokens: RowsId) -> KnownOffsets {
        if let Some(&taken) = self.rows.taken_of.get(&tokens) {
            return KnownOffsets::Taken(taken);
        }
        let program = self.program;
        let level_of = |&var| program.levels(program.ty(var)).into_iter().position(|rows| rows == tokens);
        let mut fed = program.inputs().iter().map(level_of).enumerate();
        let fed = fed.find_map(|(input, level)| Some(KnownOffsets::Fed { input, level: level? }));
        fed.unwrap_or(KnownOffsets::Unknown)
    }

    /// Lowers an operator that makes sequences with the lengths in its input.
    pub(super) fn make_sequences(
        &mut self,
        operator: &Operator,
        tokens: RowsId,
        block: BlockId,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        let space = self.program.row_space(tokens);
        let lengths = self.read(operator.inputs[0])?;
        let layout = self.offsets_type(tokens)?;
        let name = format!("offsets of {}", space.name);
        let offsets = self.auxiliary_slot(name, layout.shape, layout.dtype, block);
        self.rows.offsets_of.insert(tokens, offsets);
        if let Some(around) = self.recorded_around(block) {
            self.loops[around.0].sizes.push(space.size);
        }
        let place = self.facts.made.iter().position(|made| made.size == space.size).unwrap_or_default();
        let (inputs, outputs) = ([self.operand(lengths)], [self.operand(offsets)]);
        let launch = self.launch_move(Move::AddLengths, &inputs, &outputs)?;
        self.origins[launch.number as usize] = self.origin(operator);
        Ok(Instruction::Make(MakeCode { launch, offsets, tokens: place }))
    }

    /// Takes the sequences that belong to the rows `parent`, if the program uses them. Appends the instructions to
    /// `code`.
    ///
    /// In front of a `for`, `prefix` names the loop and its body. Then the sequences of all rows are taken once, in
    /// the order of the loop, and an iteration has the first of them. `each` gets the instructions that every
    /// iteration runs.
    pub(super) fn take_sequences(
        &mut self,
        parent: RowsId,
        block: BlockId,
        prefix: Option<(LoopId, BlockId)>,
        code: &mut Vec<Instruction<Kernel<B>>>,
        each: &mut Vec<Instruction<Kernel<B>>>,
    ) -> Result<(), PlanError> {
        let program = self.program;
        for (rows, space) in (0..).map(RowsId).zip(program.row_spaces()) {
            let RowOrigin::Part { of } = space.origin else { continue };
            let is_new = self.facts.used.contains(&rows) && !self.rows.space_of.contains_key(&rows);
            // The sequences of an item come with the rows of an iteration.
            let is_item = program.row_space(of).parent == program.steps_of_loop(parent);
            if space.parent != Some(parent) || !is_new || is_item {
                continue;
            }
            let parent_space = self.need_space(Some(parent))?;
            let from = self.offsets(of)?;
            let layout = self.offsets_type(rows)?;
            let name = |what: &str| format!("{what} of {}", space.name);
            let offsets = self.auxiliary_slot(name("offsets"), layout.shape, layout.dtype, block);
            // The number of taken tokens is not known yet. Its upper bound is the number of tokens of `of`.
            let count = self.rows_extent(rows);
            let index = self.auxiliary_slot(name("token numbers"), vec![count], DType::I32, block);
            let tokens = self.add_space(rows, index, block);
            self.rows.offsets_of.insert(rows, offsets);
            let inputs = [self.operand(from), self.row_numbers(parent_space)];
            let outputs = [self.operand(offsets), self.row_numbers(tokens)];
            let launch = self.launch_move(Move::TakeSequences, &inputs, &outputs)?;
            self.rows.taken.push(TakenSequences { parent: parent_space, offsets, tokens });
            let taken = self.rows.taken.len() - 1;
            self.rows.taken_of.insert(rows, taken);
            code.push(Instruction::Take(TakeCode { launch, taken }));
            if let Some((id, _)) = prefix {
                let sequences = program.row_space(parent).size;
                self.loops[id.0].prefixes.push(Prefix {
                    tokens: space.size,
                    sequences,
                    taken,
                    is_slice: false,
                });
                if self.loops[id.0].recorded {
                    self.loops[id.0].sizes.push(space.size);
                }
            }
            // The sequences that belong to these tokens are taken first. The sort takes them again, in its order.
            self.take_sequences(rows, block, prefix, code, each)?;
            match prefix {
                Some((_, body)) => self.sort_sequences(rows, body, each)?,
                None => self.sort_sequences(rows, block, code)?,
            }
        }
        Ok(())
    }

    /// Extends to now the lifetimes of all slots that these launches read and write.
    pub(super) fn touch_sequences(&mut self, code: &[Instruction<Kernel<B>>]) {
        for launch in code.iter().filter_map(Instruction::launch) {
            self.touch_operands(launch);
        }
    }

    /// The extent of the number of rows.
    pub(super) fn rows_extent(&mut self, rows: RowsId) -> Extent {
        let size = crate::program::Dim::symbol(self.program.row_space(rows).size);
        self.extent(&size)
    }
}
