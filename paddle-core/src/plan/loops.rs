//! Loops of the machine: `for`, `while`, and their gradients.

use super::backend::{Backend, HostSliceMut, Location, Memory, Rows};
use super::code::{Collected, LoopCode, LoopGradCode, LoopId, LoopKind, Prefix, Rebase, RowsOfWhile, Taken};
use super::error::RunError;
use super::machine::{Machine, State, nth_seed};
use crate::memory::TryGrow;
use crate::program::SymbolId;

impl<B: Backend> Machine<'_, B> {
    fn value(&self, symbol: SymbolId) -> usize {
        self.state.symbols[symbol.0 as usize]
    }

    /// Sorts sequences by length.
    pub(super) fn order(&mut self, order: usize) -> Result<(), RunError> {
        let plan = self.plan;
        let code = &plan.orders[order];
        let steps = &plan.spaces[code.steps];
        let (sequences, tokens) = (code.sequences.get(&self.state.sizes), self.value(code.tokens));
        // Row numbers are `u32`.
        if u32::try_from(sequences).is_err() || u32::try_from(tokens).is_err() {
            return Err(RunError::TooLarge { value: plan.symbols[code.tokens.0 as usize].clone() });
        }
        self.resize(steps.size, tokens)?;
        let (offsets, at, to) =
            (self.locate(code.offsets), self.locate(code.order), self.locate(steps.index));
        let counts = &mut self.state.counts[order];
        counts.clear();
        let ordered = self.backend.order(sequences, offsets, at, to, counts, self.buffers);
        Ok(ordered.map_err(|error| error.wanted_for("the order in which a loop comes to sequences"))?)
    }

    /// Takes the sequences of the rows that there are.
    pub(super) fn take(&mut self, taken: usize) -> Result<(), RunError> {
        let plan = self.plan;
        let Taken { parent, from, offsets, tokens } = plan.taken[taken];
        let (parent, tokens) = (&plan.spaces[parent], &plan.spaces[tokens]);
        let sequences = self.value(parent.size);
        // Row numbers are `u32`.
        let all = plan.bounds[tokens.size.0 as usize].map_or(0, |all| self.value(all));
        if u32::try_from(all).is_err() {
            return Err(RunError::TooLarge { value: plan.symbols[tokens.size.0 as usize].clone() });
        }
        let at = [from, parent.index, offsets, tokens.index].map(|slot| self.locate(slot));
        let count = self.backend.take_sequences(sequences, at[0], at[1], at[2], at[3], self.buffers);
        self.resize(tokens.size, count)?;
        let host = &mut self.state.offsets[taken];
        let room = host.try_resize(sequences + 1, 0);
        room.map_err(|error| error.wanted_for("offsets of the sequences that a block takes"))?;
        let Location { memory, offset } = at[2];
        self.backend.download(&self.buffers[memory as usize], offset, HostSliceMut::I64(host));
        Ok(())
    }

    pub(super) fn rebase(&mut self, rebase: &Rebase) {
        let first = self.state.firsts[rebase.rows.0 as usize];
        let count = self.value(rebase.rows) + 1;
        let (mut from, to) = (self.locate(rebase.from), self.locate(rebase.to));
        from.offset += first * size_of::<i64>();
        self.backend.rebase(count, from, to, self.buffers);
    }

    /// Runs a loop.
    pub(super) fn repeat(&mut self, code: &LoopCode<B::Kernel>) -> Result<(), RunError> {
        for (rows, _) in &self.plan.loops[code.id.0].slices {
            self.state.firsts[rows.0 as usize] = 0;
        }
        let seed = self.seed;
        let trips = match &code.kind {
            LoopKind::For { order, rows } => self.along(code, *order, *rows),
            LoopKind::While { limit, condition, holds, rows: None } => {
                self.run(&code.enter)?;
                let mut trips = 0;
                loop {
                    self.seed = nth_seed(seed, trips as u64 + 1);
                    self.run(condition)?;
                    if !self.backend.test(self.locate(*holds), self.buffers) {
                        break Ok(trips);
                    }
                    self.limit(code, trips, *limit)?;
                    self.iterate(code, trips)?;
                    trips += 1;
                }
            }
            LoopKind::While { limit, condition, holds, rows: Some(rows) } => {
                self.row_by_row(code, *limit, condition, self.locate(*holds), rows)
            }
        }?;
        self.seed = seed;
        self.state.trips[code.id.0] = trips;
        Ok(())
    }

    fn limit(&self, code: &LoopCode<B::Kernel>, trips: usize, limit: usize) -> Result<(), RunError> {
        match trips == limit {
            true => Err(RunError::LoopLimit { limit, place: self.place(&code.origin) }),
            false => Ok(()),
        }
    }

    /// One iteration, on the rows that there are.
    fn iterate(&mut self, code: &LoopCode<B::Kernel>, trips: usize) -> Result<(), RunError> {
        let plan = self.plan;
        let info = &plan.loops[code.id.0];
        self.reserve(code.id, trips + 1)?;
        self.run(&code.save)?;
        self.run(&code.body)?;
        self.run(&code.advance)?;
        for (rows, _) in &info.slices {
            self.state.firsts[rows.0 as usize] += self.value(*rows);
        }
        if info.recorded {
            self.record(code.id)?;
        }
        Ok(())
    }

    fn reserve(&mut self, id: LoopId, iterations: usize) -> Result<(), RunError> {
        let tape = &mut self.buffers[Memory::Tape as usize];
        self.state.tape.reserve(self.backend, self.plan, id, iterations, tape)
    }

    /// `for`.
    fn along(&mut self, code: &LoopCode<B::Kernel>, order: usize, rows: usize) -> Result<usize, RunError> {
        let (plan, seed) = (self.plan, self.seed);
        let size = plan.spaces[rows].size;
        let all = plan.orders[order].sequences.get(&self.state.sizes);
        let trips = self.state.counts[order].len();
        self.reserve(code.id, trips)?;
        self.resize(size, all)?;
        self.run(&code.enter)?;
        for trip in 0..trips {
            self.seed = nth_seed(seed, trip as u64 + 1);
            self.resize(size, self.state.counts[order][trip])?;
            for prefix in &plan.loops[code.id.0].prefixes {
                self.prefix(prefix)?;
            }
            self.iterate(code, trip)?;
        }
        self.resize(size, all)?;
        // What the rows brought in is as large as all of them again: a loop around keeps it whole.
        for prefix in plan.loops[code.id.0].prefixes.iter().filter(|prefix| !prefix.is_slice) {
            self.prefix(prefix)?;
        }
        self.run(&code.leave)?;
        Ok(trips)
    }

    /// The tokens of the sequences of an iteration.
    fn prefix(&mut self, prefix: &Prefix) -> Result<(), RunError> {
        let offsets = &self.state.offsets[prefix.taken];
        let first = if prefix.is_slice { self.state.firsts[prefix.sequences.0 as usize] } else { 0 };
        let last = first + self.value(prefix.sequences);
        let count = match (offsets.get(first), offsets.get(last)) {
            (Some(first), Some(last)) => last - first,
            _ => 0,
        };
        self.resize(prefix.tokens, usize::try_from(count).unwrap_or(0))
    }

    /// `while` with a condition per row.
    fn row_by_row(
        &mut self,
        code: &LoopCode<B::Kernel>,
        limit: usize,
        condition: &[super::code::Instruction<B::Kernel>],
        holds: Location,
        rows: &RowsOfWhile,
    ) -> Result<usize, RunError> {
        let (plan, seed) = (self.plan, self.seed);
        let (tested, active) = (&plan.spaces[rows.tested], &plan.spaces[rows.active]);
        let all = rows.all.get(&self.state.sizes);
        if u32::try_from(all).is_err() {
            return Err(RunError::TooLarge { value: plan.symbols[tested.size.0 as usize].clone() });
        }
        let (mut left, mut trips, mut given) = (all, 0, 0);
        self.resize(tested.size, all)?;
        self.backend.number(all, self.locate(tested.index), self.buffers);
        self.run(&code.enter)?;
        while left > 0 {
            self.resize(tested.size, left)?;
            self.seed = nth_seed(seed, trips as u64 + 1);
            self.run(condition)?;
            let [yes, no] = rows.split.map(|slot| self.locate(slot));
            let goes_on = self.backend.select(holds, left, yes, no, self.buffers);
            if goes_on < left {
                // What stays is written again, until it leaves.
                self.run(&code.leave)?;
                for &slot in rows.states.iter().chain([&tested.index]) {
                    let bytes = if slot == tested.index { size_of::<u32>() } else { self.row_bytes(slot) };
                    let (rows, at) = (Rows { count: goes_on, bytes }, self.locate(slot));
                    self.backend.compact(rows, yes, at, self.buffers);
                }
                left = goes_on;
            }
            if left == 0 {
                break;
            }
            self.limit(code, trips, limit)?;
            self.reserve(code.id, trips + 1)?;
            self.resize(active.size, left)?;
            let numbers = left * size_of::<u32>();
            let from = self.locate(tested.index);
            if active.index != tested.index {
                self.backend.copy(numbers, from, self.locate(active.index), self.buffers);
            }
            if let Some(collected) = &rows.collected {
                let rounds = &plan.spaces[collected.rounds];
                if u32::try_from(given + left).is_err() {
                    return Err(RunError::TooLarge { value: plan.symbols[rounds.size.0 as usize].clone() });
                }
                let mut to = self.locate(rounds.index);
                to.offset += given * size_of::<u32>();
                self.backend.copy(numbers, from, to, self.buffers);
                given += left;
                self.resize(rounds.size, given)?;
            }
            self.iterate(code, trips)?;
            trips += 1;
        }
        if let Some(Collected { rounds, tokens, offsets }) = rows.collected {
            let rounds = &plan.spaces[rounds];
            self.resize(rounds.size, given)?;
            self.resize(tokens, given)?;
            let (numbers, offsets) = (self.locate(rounds.index), self.locate(offsets));
            self.backend.collect(all, given, numbers, offsets, self.buffers);
        }
        Ok(trips)
    }

    /// Notes what the gradient of this iteration will need to know.
    fn record(&mut self, around: LoopId) -> Result<(), RunError> {
        let info = &self.plan.loops[around.0];
        let state = &mut *self.state;
        let room = state.records.try_grow(info.inner.len() + info.sizes.len());
        room.map_err(|error| error.wanted_for("the sizes of the iterations of a loop"))?;
        state.tape.push(self.plan, around, &state.sizes);
        for inner in &info.inner {
            state.records.push(state.trips[inner.0]);
        }
        for size in &info.sizes {
            state.records.push(state.symbols[size.0 as usize]);
        }
        Ok(())
    }

    /// Goes back to the last iteration that was noted.
    fn recall(&mut self, around: LoopId) -> Result<(), RunError> {
        let info = &self.plan.loops[around.0];
        let pop = |state: &mut State| state.records.pop().unwrap_or_default();
        for &size in info.sizes.iter().rev() {
            let value = pop(self.state);
            self.resize(size, value)?;
        }
        for inner in info.inner.iter().rev() {
            self.state.trips[inner.0] = pop(self.state);
        }
        for (rows, _) in &info.slices {
            self.state.firsts[rows.0 as usize] -= self.value(*rows);
        }
        self.state.tape.pop(self.plan, around, &self.state.sizes);
        Ok(())
    }

    /// Runs the gradient of a loop.
    pub(super) fn unwind(&mut self, code: &LoopGradCode<B::Kernel>) -> Result<(), RunError> {
        let plan = self.plan;
        for &(rows, all) in &plan.loops[code.id.0].slices {
            self.state.firsts[rows.0 as usize] = self.value(all);
        }
        self.whole(code)?;
        self.run(&code.enter)?;
        for _ in 0..self.state.trips[code.id.0] {
            self.recall(code.id)?;
            self.run(&code.body)?;
        }
        self.whole(code)?;
        self.run(&code.leave)
    }

    fn whole(&mut self, code: &LoopGradCode<B::Kernel>) -> Result<(), RunError> {
        for &(symbol, all) in &code.whole {
            self.resize(symbol, all.get(&self.state.sizes))?;
        }
        Ok(())
    }
}
