//! The loops of the machine: `for`, `while`, their gradients, and the sequences that they go along.

use super::backend::{Backend, HostSliceMut, Location, Memory};
use super::code::{
    Instruction, Kernel, KnownOffsets, LoopCode, LoopGradCode, LoopId, LoopKind, MakeCode, Prefix,
    RowsOfWhile, SlotId, SortCode, TakeCode, TakenSequences,
};
use super::error::RunError;
use super::machine::{FallbackRun, Machine, State, nth_seed};
use super::tape::{Device, Tape};
use crate::memory::{OutOfMemory, TryGrow};
use crate::program::{DType, SymbolId};

/// What the memory for sorting sequences is for, in errors.
const PURPOSE_OF_ORDER: &str = "the order in which a loop comes to sequences";

impl<B: Backend> Machine<'_, B> {
    fn value(&self, symbol: SymbolId) -> usize {
        self.state.symbols[symbol.0 as usize]
    }

    fn symbol_name(&self, symbol: SymbolId) -> String {
        self.plan.symbols[symbol.0 as usize].clone()
    }

    /// Sorts sequences by length.
    pub(super) fn sort(&mut self, code: &SortCode<Kernel<B>>) -> Result<(), RunError> {
        let plan = self.plan;
        let order = &plan.orders[code.order];
        let (sequences, tokens) = (order.sequences.get(&self.state.sizes), self.value(order.tokens));
        for rows in [sequences, tokens] {
            self.check_row_numbers(rows, || self.symbol_name(order.tokens))?;
        }
        self.resize(plan.spaces[order.steps].size, tokens)?;
        self.launch(&code.launch);
        if order.known == KnownOffsets::Unknown {
            self.read_offsets(order.offsets, sequences + 1, |state| &mut state.offsets, PURPOSE_OF_ORDER)?;
        }
        let state = &mut *self.state;
        let offsets = match order.known {
            KnownOffsets::Fed { .. } => &state.fed[code.order],
            KnownOffsets::Taken(taken) => &state.taken[taken],
            KnownOffsets::Unknown => &state.offsets,
        };
        // If sequences are taken once for all iterations, an iteration has the first of them.
        let counted = count_steps(&offsets[..=sequences], &mut state.counts[code.order]);
        Ok(counted.map_err(|error| error.wanted_for(PURPOSE_OF_ORDER))?)
    }

    /// Reads offsets into a vector of the state, and waits for them.
    fn read_offsets(
        &mut self,
        slot: SlotId,
        count: usize,
        to: impl Fn(&mut State) -> &mut Vec<i64>,
        what: &str,
    ) -> Result<(), RunError> {
        let token = self.read(self.locate(slot), DType::I64, count);
        let mut offsets = std::mem::take(to(self.state));
        let room = offsets.try_resize(count, 0).map_err(|error| error.wanted_for(what).into());
        let result = room.and_then(|()| self.wait(token, HostSliceMut::I64(&mut offsets)));
        *to(self.state) = offsets;
        result
    }

    /// Takes the sequences of the current rows.
    pub(super) fn take(&mut self, code: &TakeCode<Kernel<B>>) -> Result<(), RunError> {
        let plan = self.plan;
        let TakenSequences { parent, offsets, tokens } = plan.taken[code.taken];
        let (parent, tokens) = (plan.spaces[parent].size, plan.spaces[tokens].size);
        let sequences = self.value(parent);
        // The size is its upper bound until the number of tokens is known.
        let all = plan.bounds[tokens.0 as usize].map_or(0, |all| self.value(all));
        self.check_row_numbers(all, || self.symbol_name(tokens))?;
        self.resize(tokens, all)?;
        self.launch(&code.launch);
        let what = "offsets of the sequences that a block takes";
        self.read_offsets(offsets, sequences + 1, |state| &mut state.taken[code.taken], what)?;
        let count = self.state.taken[code.taken].last().and_then(|&count| usize::try_from(count).ok());
        self.resize(tokens, count.unwrap_or(0))
    }

    /// Makes sequences of given lengths, and room on the tape for their tokens.
    pub(super) fn make(&mut self, code: &MakeCode<Kernel<B>>) -> Result<(), RunError> {
        let plan = self.plan;
        self.launch(&code.launch);
        // The last offset is the number of tokens.
        let last = plan.slots[code.offsets.0].shape[0].get(&self.state.sizes) - 1;
        let Location { memory, offset } = self.locate(code.offsets);
        let offset = offset + last * plan.slots[code.offsets.0].element_bytes;
        let (token, mut tokens) = (self.read(Location { memory, offset }, DType::I64, 1), [0]);
        self.wait(token, HostSliceMut::I64(&mut tokens))?;
        let tokens = usize::try_from(tokens[0]).unwrap_or(usize::MAX);
        self.resize(plan.made[code.tokens].size, tokens)?;
        self.on_tapes(
            |tape, device| tape.reserve_tokens(device, plan, code.tokens, tokens),
            |tape, device| tape.reserve_tokens(device, plan, code.tokens, tokens),
        )
    }

    /// Runs a loop.
    pub(super) fn repeat(&mut self, code: &LoopCode<Kernel<B>>) -> Result<(), RunError> {
        for (rows, _) in &self.plan.loops[code.id.0].slices {
            self.state.firsts[rows.0 as usize] = 0;
        }
        let seed = self.seed;
        let trips = match &code.kind {
            LoopKind::For { order, rows } => self.run_for(code, *order, *rows),
            LoopKind::While { limit, condition, holds, rows: None } => {
                self.run(&code.enter)?;
                let mut trips = 0;
                loop {
                    self.seed = nth_seed(seed, trips as u64 + 1);
                    self.run(condition)?;
                    if !self.test(*holds)? {
                        break Ok(trips);
                    }
                    self.check_limit(code, trips, *limit)?;
                    self.iterate(code, trips)?;
                    trips += 1;
                }
            }
            LoopKind::While { limit, condition, rows: Some(rows), .. } => {
                self.run_while_rows(code, *limit, condition, rows)
            }
        }?;
        self.seed = seed;
        self.state.trips[code.id.0] = trips;
        Ok(())
    }

    fn check_limit(&self, code: &LoopCode<Kernel<B>>, trips: usize, limit: usize) -> Result<(), RunError> {
        match trips == limit {
            true => Err(RunError::LoopLimit { limit, place: self.place(code.place) }),
            false => Ok(()),
        }
    }

    /// Runs one iteration, on the current rows.
    fn iterate(&mut self, code: &LoopCode<Kernel<B>>, trips: usize) -> Result<(), RunError> {
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
        let plan = self.plan;
        self.on_tapes(
            |tape, device| tape.reserve(device, plan, id, iterations),
            |tape, device| tape.reserve(device, plan, id, iterations),
        )
    }

    /// Calls `own` with the tape of the backend, and then `fallback` with the tape of the fallback, if there is one.
    fn on_tapes(
        &mut self,
        own: impl FnOnce(&mut Tape, &mut Device<'_, B>) -> Result<(), RunError>,
        fallback: impl FnOnce(&mut Tape, &mut Device<'_, B::Fallback>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let [tape, other] = &mut self.state.tapes;
        let tape_of = "a run writes its tape";
        let buffer = self.memories.get_mut(Memory::Tape).expect(tape_of);
        own(tape, &mut Device { backend: self.backend, queue: self.queue, buffer })?;
        let Some(FallbackRun { backend, queue, memories }) = &mut self.fallback else { return Ok(()) };
        let buffer = memories.get_mut(Memory::Tape).expect(tape_of);
        fallback(other, &mut Device { backend: *backend, queue, buffer })
    }

    /// Runs a `for`. Returns the number of iterations.
    fn run_for(&mut self, code: &LoopCode<Kernel<B>>, order: usize, rows: usize) -> Result<usize, RunError> {
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
                self.resize_prefix(prefix)?;
            }
            self.iterate(code, trip)?;
        }
        self.resize(size, all)?;
        // The sequences of all rows have their full sizes again: a recorded loop around this one records these.
        for prefix in plan.loops[code.id.0].prefixes.iter().filter(|prefix| !prefix.is_slice) {
            self.resize_prefix(prefix)?;
        }
        self.run(&code.leave)?;
        Ok(trips)
    }

    /// Sets the number of tokens that sequences have in the current iteration.
    fn resize_prefix(&mut self, prefix: &Prefix) -> Result<(), RunError> {
        let offsets = &self.state.taken[prefix.taken];
        let first = if prefix.is_slice { self.state.firsts[prefix.sequences.0 as usize] } else { 0 };
        let last = first + self.value(prefix.sequences);
        let count = match (offsets.get(first), offsets.get(last)) {
            (Some(first), Some(last)) => last - first,
            _ => 0,
        };
        self.resize(prefix.tokens, usize::try_from(count).unwrap_or(0))
    }

    /// Runs a `while` with a condition per row. Returns the number of iterations.
    fn run_while_rows(
        &mut self,
        code: &LoopCode<Kernel<B>>,
        limit: usize,
        condition: &[Instruction<Kernel<B>>],
        rows: &RowsOfWhile<Kernel<B>>,
    ) -> Result<usize, RunError> {
        let (plan, seed) = (self.plan, self.seed);
        let (tested, active) = (plan.spaces[rows.tested].size, plan.spaces[rows.active].size);
        let all = rows.all.get(&self.state.sizes);
        self.check_row_numbers(all, || self.symbol_name(tested))?;
        let (mut left, mut trips, mut given) = (all, 0, 0);
        self.resize(tested, all)?;
        self.launch(&rows.number);
        self.run(&code.enter)?;
        while left > 0 {
            self.seed = nth_seed(seed, trips as u64 + 1);
            self.run(condition)?;
            let goes_on = self.select(&rows.select)?;
            if goes_on < left {
                // `leave` writes all tested rows, also those that stay: later calls write these again.
                self.run(&code.leave)?;
                left = goes_on;
                self.resize(tested, left)?;
                rows.compact.iter().for_each(|compact| self.launch(compact));
            }
            if left == 0 {
                break;
            }
            self.check_limit(code, trips, limit)?;
            self.reserve(code.id, trips + 1)?;
            self.resize(active, left)?;
            rows.keep.iter().for_each(|keep| self.launch(keep));
            if let Some(collected) = &rows.collected {
                let rounds = plan.spaces[collected.rounds].size;
                given += left;
                self.check_row_numbers(given, || self.symbol_name(rounds))?;
                self.resize(rounds, given)?;
                self.launch(&collected.add);
            }
            self.iterate(code, trips)?;
            trips += 1;
        }
        if let Some(collected) = &rows.collected {
            self.resize(plan.spaces[collected.rounds].size, given)?;
            self.resize(collected.tokens, given)?;
            self.launch(&collected.collect);
        }
        Ok(trips)
    }

    /// Records the sizes, and the numbers of inner iterations, that the gradient of this iteration needs.
    fn record(&mut self, around: LoopId) -> Result<(), RunError> {
        let info = &self.plan.loops[around.0];
        let state = &mut *self.state;
        let room = state.records.try_grow(info.inner.len() + info.sizes.len());
        room.map_err(|error| error.wanted_for("the sizes of the iterations of a loop"))?;
        state.tapes[0].push(self.plan, around, &state.sizes);
        for inner in &info.inner {
            state.records.push(state.trips[inner.0]);
        }
        for size in &info.sizes {
            state.records.push(state.symbols[size.0 as usize]);
        }
        Ok(())
    }

    /// Restores what the last iteration recorded, and removes the record.
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
        self.state.tapes[0].pop(self.plan, around, &self.state.sizes);
        Ok(())
    }

    /// Runs the gradient of a loop.
    pub(super) fn unwind(&mut self, code: &LoopGradCode<Kernel<B>>) -> Result<(), RunError> {
        let plan = self.plan;
        for &(rows, all) in &plan.loops[code.id.0].slices {
            self.state.firsts[rows.0 as usize] = self.value(all);
        }
        self.restore_full_sizes(code)?;
        self.run(&code.enter)?;
        for _ in 0..self.state.trips[code.id.0] {
            self.recall(code.id)?;
            self.run(&code.body)?;
        }
        self.restore_full_sizes(code)?;
        self.run(&code.leave)
    }

    fn restore_full_sizes(&mut self, code: &LoopGradCode<Kernel<B>>) -> Result<(), RunError> {
        for &(symbol, all) in &code.full_sizes {
            self.resize(symbol, all.get(&self.state.sizes))?;
        }
        Ok(())
    }
}

/// Sets `counts[step]` to the number of sequences that have a token number `step`.
fn count_steps(offsets: &[i64], counts: &mut Vec<usize>) -> Result<(), OutOfMemory> {
    let length = |pair: &[i64]| usize::try_from(pair[1] - pair[0]).unwrap_or(0);
    let longest = offsets.windows(2).map(length).max().unwrap_or(0);
    counts.clear();
    counts.try_resize(longest, 0)?;
    for last in offsets.windows(2).filter_map(|pair| length(pair).checked_sub(1)) {
        counts[last] += 1;
    }
    for step in (1..longest).rev() {
        counts[step - 1] += counts[step];
    }
    Ok(())
}
