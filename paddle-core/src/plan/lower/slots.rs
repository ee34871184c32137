//! Lowering of values to slots: their memories and their lifetimes.

use std::collections::BTreeSet;

use super::super::backend::{Backend, Extent, Layout, OperandType, Side};
use super::super::code::{Home, Lane, LaneId, LoopId, Slot, SlotId};
use super::super::error::PlanError;
use super::Lowering;
use crate::ops::Program;
use crate::program::{BlockId, DType, Definition, Dim, RowsId, SymbolId, VarId};

/// A loop whose body is being lowered. A slot that was alive before the loop, and is read in it, lives to its end.
pub(super) struct OpenLoop {
    start: usize,
    /// The slots that live to the end of the loop.
    held: BTreeSet<SlotId>,
}

impl<B: Backend> Lowering<'_, B> {
    pub(super) fn extent(&mut self, dim: &Dim) -> Extent {
        let dim = self.facts.equal.size(dim);
        match dim.constant().and_then(|size| usize::try_from(size).ok()) {
            Some(size) => Extent::Fixed(size),
            None => self.bound_extent(dim),
        }
    }

    /// The extent of a size that a run binds.
    fn bound_extent(&mut self, dim: Dim) -> Extent {
        let extents = &mut self.memory.extents;
        Extent::Bound(extents.iter().position(|known| *known == dim).unwrap_or_else(|| {
            extents.push(dim);
            extents.len() - 1
        }))
    }

    /// The extent of a symbol itself, not of the representative of its class: a loop may change one of two equal
    /// sizes.
    pub(super) fn symbol_extent(&mut self, size: SymbolId) -> Extent {
        self.bound_extent(Dim::symbol(size))
    }

    pub(super) fn operand_type(&mut self, var: VarId) -> OperandType {
        let ty = self.program.ty(var);
        let shape = self.program.shape(ty).iter().map(|dim| self.extent(dim)).collect();
        OperandType { dtype: ty.dtype, shape, layout: self.arrangement.of_value(var) }
    }

    pub(super) fn add_slot(&mut self, slot: Slot) -> SlotId {
        self.memory.slots.push(slot);
        SlotId(self.memory.slots.len() - 1)
    }

    /// Adds a slot of a value's type, whose lifetime begins now.
    pub(super) fn slot_like(&mut self, var: VarId, home: Home) -> SlotId {
        let OperandType { dtype, shape, layout } = self.operand_type(var);
        let name = self.program.var(var).name.clone();
        let element_bytes = match (home.side(), self.backend.fallback()) {
            (Side::Fallback, Some(fallback)) => fallback.element_bytes(dtype),
            _ => self.backend.element_bytes(dtype),
        };
        let life = (self.now, self.now);
        self.add_slot(Slot { name, shape, layout, element_bytes, dtype, home, life })
    }

    /// Gives a value its slot, at its definition.
    pub(super) fn define(&mut self, var: VarId) -> Result<SlotId, PlanError> {
        let value = self.program.var(var);
        if let Some(slot) = self.memory.assigned.remove(&var) {
            self.memory.slot_of.insert(var, slot);
            self.touch(slot);
            return Ok(slot);
        }
        let home = match value.definition {
            Definition::Parameter => {
                let stored = self.storage.locate(self.program, var)?;
                Home::Parameter(stored.side, stored.number)
            }
            Definition::State => {
                let stored = self.states.locate(self.program, var)?;
                Home::State(stored.side, stored.number)
            }
            Definition::Operator if self.facts.prepared_values.contains(&var) => Home::Prepared,
            Definition::Input | Definition::BlockParameter | Definition::Operator => Home::Arena,
        };
        let slot = self.slot_like(var, home);
        if home == Home::Arena {
            let around = self.recorded_around(value.block).filter(|_| self.is_saved(var));
            if around.is_some() || self.grows(slot) {
                self.give_lane(slot, around);
            } else if value.block == Program::GLOBAL && self.facts.kept.contains(&var) {
                self.memory.slots[slot.0].home = Home::Pool;
            }
        }
        self.memory.slot_of.insert(var, slot);
        Ok(slot)
    }

    /// Puts a slot on the tape, in a lane of its own. The lane has an instance for each iteration of the loop, if one
    /// is given.
    pub(super) fn give_lane(&mut self, slot: SlotId, around: Option<LoopId>) {
        let (lane, side) = (LaneId(self.memory.lanes.len()), self.memory.slots[slot.0].home.side());
        self.memory.lanes.push(Lane { slot, side, around });
        self.memory.slots[slot.0].home = Home::Lane(side, lane);
        if let Some(around) = around {
            self.loops[around.0].lanes.push(lane);
        }
    }

    /// Whether the size of a slot is known only when a loop or an operator has run.
    pub(super) fn grows(&self, slot: SlotId) -> bool {
        let grown = |symbol: SymbolId| {
            let mut at = Some(symbol);
            while let Some(symbol) = at {
                if self.is_known_late(symbol) {
                    return true;
                }
                at = self.facts.bounds[symbol.0 as usize];
            }
            false
        };
        self.memory.slots[slot.0].shape.iter().any(|extent| match extent {
            Extent::Fixed(_) => false,
            Extent::Bound(at) => self.memory.extents[*at].symbols().into_iter().any(grown),
        })
    }

    /// Whether a size is known only when a loop or an operator has run.
    pub(super) fn is_known_late(&self, symbol: SymbolId) -> bool {
        self.facts.made.iter().any(|made| made.size == symbol)
            || self.facts.grown.iter().any(|grown| grown.sizes.contains(&symbol))
    }

    /// Whether a gradient block reads the value, or a part of it, which the forward block defines.
    pub(super) fn is_saved(&self, var: VarId) -> bool {
        self.is_saved_from(var, self.program.var(var).block)
    }

    /// Whether a block that is not in `defined_in` reads the value, a part of it, or a view of it.
    fn is_saved_from(&self, var: VarId, defined_in: BlockId) -> bool {
        let reads = self.facts.readers.get(&var).into_iter().flatten().map(|at| at.0);
        let results = self.facts.results.get(&var).into_iter().flatten().copied();
        reads.chain(results).any(|block| !self.is_below(block, defined_in))
            || self.facts.parts.get(&var).into_iter().flatten().any(|&part| self.is_saved(part))
            || self
                .facts
                .viewed
                .get(&var)
                .into_iter()
                .flatten()
                .any(|&view| self.is_saved_from(view, defined_in))
    }

    /// Whether `block` is `outer`, or is nested in it.
    pub(super) fn is_below(&self, block: BlockId, outer: BlockId) -> bool {
        let mut at = Some(block);
        while let Some(id) = at {
            if id == outer {
                return true;
            }
            at = self.program.block(id).parent;
        }
        false
    }

    /// The innermost recorded loop whose body contains `block`.
    pub(super) fn recorded_around(&self, block: BlockId) -> Option<LoopId> {
        let mut at = Some(block);
        while let Some(id) = at {
            if let Some(&found) = self.facts.loop_of.get(&id)
                && self.loops[found.0].recorded
            {
                return Some(found);
            }
            at = self.program.block(id).parent;
        }
        None
    }

    /// The slot of a value that the current instruction reads.
    pub(super) fn read(&mut self, var: VarId) -> Result<SlotId, PlanError> {
        let slot = match self.memory.slot_of.get(&var) {
            Some(&slot) => slot,
            None => self.define(var)?,
        };
        self.touch(slot);
        Ok(slot)
    }

    /// The type of the offsets of the sequences whose tokens are `rows`.
    pub(super) fn offsets_type(&mut self, rows: RowsId) -> Result<OperandType, PlanError> {
        let program = self.program;
        let unbound =
            || PlanError::UnboundSize { symbol: program.row_space(rows).name.clone(), outside: false };
        let sequences = program.row_space(rows).parent.ok_or_else(unbound)?;
        let count = &Dim::symbol(program.row_space(sequences).size) + &Dim::from(1);
        let shape = vec![self.extent(&count.map_err(|_| unbound())?)];
        Ok(OperandType::new(DType::I64, shape))
    }

    /// The slot of the offsets of the sequences whose tokens are `rows`, for the current instruction to read. Offsets
    /// that no instruction makes are there from the beginning of the run.
    pub(super) fn offsets(&mut self, rows: RowsId) -> Result<SlotId, PlanError> {
        let slot = match self.rows.offsets_of.get(&rows) {
            Some(&slot) => slot,
            None => {
                let OperandType { dtype, shape, .. } = self.offsets_type(rows)?;
                let slot = self.add_slot(Slot {
                    name: format!("offsets of {}", self.program.row_space(rows).name),
                    shape,
                    layout: Layout::ROW_MAJOR,
                    element_bytes: self.backend.element_bytes(dtype),
                    dtype,
                    home: Home::Arena,
                    life: (0, 0),
                });
                self.rows.offsets_of.insert(rows, slot);
                slot
            }
        };
        self.touch(slot);
        Ok(slot)
    }

    /// A slot for a value of which an operator needs only the shape. It has no elements.
    pub(super) fn shape_slot(&mut self, var: VarId) -> SlotId {
        let name = self.program.var(var).name.clone();
        let life = (self.now, self.now);
        let (shape, dtype) = (vec![Extent::Fixed(0)], self.program.ty(var).dtype);
        let layout = Layout::ROW_MAJOR;
        self.add_slot(Slot { name, shape, layout, element_bytes: 1, dtype, home: Home::Arena, life })
    }

    /// Extends the lifetime of a slot to the current instruction, and to the end of every loop that began after the
    /// slot.
    pub(super) fn touch(&mut self, slot: SlotId) {
        if let Home::View { of, .. } | Home::Iteration { of, .. } = self.memory.slots[slot.0].home {
            self.touch(of);
        }
        let life = &mut self.memory.slots[slot.0].life;
        life.1 = life.1.max(self.now);
        let born = life.0;
        if let Some(outermost) = self.open.iter_mut().find(|open| open.start > born) {
            outermost.held.insert(slot);
        }
    }

    pub(super) fn begin_loop(&mut self) {
        self.now += 1;
        self.open.push(OpenLoop { start: self.now, held: BTreeSet::new() });
    }

    pub(super) fn end_loop(&mut self) {
        self.now += 1;
        if let Some(open) = self.open.pop() {
            for slot in open.held {
                let life = &mut self.memory.slots[slot.0].life;
                life.1 = life.1.max(self.now);
            }
        }
    }
}
