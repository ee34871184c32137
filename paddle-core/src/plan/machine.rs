//! The machine: runs the instructions of a plan.

use super::backend::{Backend, Elements, Extent, HostSlice, HostSliceMut, Launch, Location, Memory, Rows};
use super::code::{Copy, Home, IfCode, Instruction, LoopId, Origin, Plan, SlotId, WhileCode, WhileGradCode};
use super::error::RunError;
use super::layout::MemoryLayout;
use super::numbers::{Numbers, first_not_finite};
use super::stats::RunStats;
use crate::ops::Join;
use crate::program::{DType, Located, SymbolId};

/// What changes during a run. Nothing in it is allocated anew once it has grown to the largest run.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The value of each size symbol.
    pub(super) symbols: Vec<usize>,
    /// The value of each extent.
    pub(super) sizes: Vec<usize>,
    /// The first byte of each loop's current frame.
    frames: Vec<usize>,
    /// The end of the last frame.
    top: usize,
    /// Bytes of the tape.
    pub(super) tape: usize,
    /// How often each recorded loop ran.
    trips: Vec<usize>,
    /// For each iteration that is on the tape: numbers of inner iterations, sizes, the first byte of its frame.
    records: Vec<usize>,
    /// The operands of the current launch.
    locations: Vec<Location>,
    /// What was done since this was last cleared.
    pub(super) stats: RunStats,
}

impl State {
    /// Of a plan whose sizes are not bound yet.
    pub(super) fn new<K>(plan: &Plan<K>) -> Self {
        State {
            symbols: vec![0; plan.symbols.len()],
            sizes: vec![0; plan.extents.len()],
            stats: plan.stats.clone(),
            ..State::default()
        }
    }

    /// Ready for a run of `plan`.
    pub(super) fn reset<K>(&mut self, plan: &Plan<K>) {
        self.frames.clear();
        self.frames.resize(plan.loops.len(), 0);
        self.trips.clear();
        self.trips.resize(plan.loops.len(), 0);
        self.records.clear();
        self.top = 0;
    }

    /// Sets a size symbol and the extents that it is in. False if an extent leaves the range of sizes.
    pub(super) fn set<K>(&mut self, plan: &Plan<K>, symbol: SymbolId, value: usize) -> bool {
        self.symbols[symbol.0 as usize] = value;
        plan.extents_of[symbol.0 as usize].iter().all(|&at| self.evaluate(plan, at))
    }

    /// Computes an extent. False if it is negative or too large.
    pub(super) fn evaluate<K>(&mut self, plan: &Plan<K>, at: usize) -> bool {
        let symbols = &self.symbols;
        let value = plan.extents[at].evaluate(&|symbol| i64::try_from(symbols[symbol.0 as usize]).ok());
        match value.and_then(|value| usize::try_from(value).ok()) {
            Some(value) => {
                self.sizes[at] = value;
                true
            }
            None => false,
        }
    }
}

/// The `n`-th of the seeds that a seed gives rise to: itself, then the numbers of SplitMix64.
pub(super) fn nth_seed(seed: u64, n: u64) -> u64 {
    if n == 0 {
        return seed;
    }
    let z = seed.wrapping_add(n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One run.
pub(super) struct Machine<'a, B: Backend> {
    pub(super) backend: &'a B,
    pub(super) plan: &'a Plan<B::Kernel>,
    pub(super) layout: &'a MemoryLayout,
    pub(super) state: &'a mut State,
    pub(super) buffers: &'a mut [B::Buffer],
    /// Of the random numbers of this step, in this iteration of the loops around.
    pub(super) seed: u64,
    /// The number of the step, for messages.
    pub(super) step: u64,
}

impl<B: Backend> Machine<'_, B> {
    /// Runs the instructions of a block.
    pub(super) fn run(&mut self, code: &[Instruction<B::Kernel>]) -> Result<(), RunError> {
        for instruction in code {
            match instruction {
                Instruction::Launch { kernel, operands, inputs, origin, product } => {
                    self.launch(kernel, operands, origin)?;
                    if let Some(product) = product {
                        self.state.stats.count(product.counter, product.rows.get(&self.state.sizes));
                    }
                    if self.plan.numbers == Numbers::Finite {
                        self.check_numbers(operands, *inputs, origin)?;
                    }
                }
                Instruction::Gather { space, from, to } => self.gather(*space, *from, *to),
                Instruction::Copy(copy) => self.copy(copy),
                Instruction::If(code) => self.conditional(code)?,
                Instruction::While(code) => self.while_loop(code)?,
                Instruction::WhileGrad(code) => self.while_grad(code)?,
            }
        }
        Ok(())
    }

    fn nested(&mut self, block: usize) -> Result<(), RunError> {
        let plan = self.plan;
        self.run(&plan.code[block])
    }

    fn locate(&self, slot: SlotId) -> Location {
        let offset = self.layout.offsets[slot.0];
        match self.plan.slots[slot.0].home {
            Home::Arena => Location { memory: Memory::Arena, offset },
            Home::Frame(around) => {
                Location { memory: Memory::Tape, offset: self.state.frames[around.0] + offset }
            }
            Home::Pool => Location { memory: Memory::Pool, offset },
            Home::Parameter(offset) => Location { memory: Memory::Parameters, offset },
            Home::State(offset) => Location { memory: Memory::States, offset },
        }
    }

    fn elements(&self, slot: SlotId) -> usize {
        self.plan.slots[slot.0].shape.iter().map(|extent| extent.get(&self.state.sizes)).product()
    }

    fn row_bytes(&self, slot: SlotId) -> usize {
        let slot = &self.plan.slots[slot.0];
        let behind = slot.shape.iter().skip(1).map(|extent: &Extent| extent.get(&self.state.sizes));
        behind.product::<usize>() * slot.element_bytes
    }

    fn place(&self, origin: &Origin) -> Option<Located> {
        origin.place.map(|place| self.plan.place(place))
    }

    fn launch(&mut self, kernel: &B::Kernel, operands: &[SlotId], origin: &Origin) -> Result<(), RunError> {
        self.state.locations.clear();
        for &slot in operands {
            let location = self.locate(slot);
            self.state.locations.push(location);
        }
        let launch = Launch { sizes: &self.state.sizes, locations: &self.state.locations, seed: self.seed };
        self.backend.launch(kernel, launch, self.buffers).map_err(|error| RunError::Kernel {
            operator: origin.operators.join(" + "),
            place: self.place(origin),
            message: error.message,
        })
    }

    /// What was just written has to be finite: the outputs, or, of an update, the parameters and states among the inputs.
    fn check_numbers(&self, operands: &[SlotId], inputs: usize, origin: &Origin) -> Result<(), RunError> {
        let is_kept =
            |slot: &&SlotId| matches!(self.plan.slots[slot.0].home, Home::Parameter(_) | Home::State(_));
        let outputs = &operands[inputs..];
        let updated = operands[..inputs].iter().filter(|slot| outputs.is_empty() && is_kept(slot));
        for &slot in outputs.iter().chain(updated) {
            let (at, count) = (self.locate(slot), self.elements(slot));
            let buffer = &self.buffers[at.memory as usize];
            let found = match self.plan.slots[slot.0].dtype {
                Some(DType::F32) => {
                    let mut values = vec![0.0; count];
                    self.backend.download(buffer, at.offset, HostSliceMut::F32(&mut values));
                    first_not_finite(HostSlice::F32(&values))
                }
                Some(DType::F64) => {
                    let mut values = vec![0.0; count];
                    self.backend.download(buffer, at.offset, HostSliceMut::F64(&mut values));
                    first_not_finite(HostSlice::F64(&values))
                }
                _ => None,
            };
            if let Some((element, found)) = found {
                return Err(RunError::NotFinite {
                    operator: Some(origin.operators.join(" + ")),
                    place: self.place(origin),
                    value: self.plan.slots[slot.0].name.clone(),
                    element,
                    found,
                    step: self.step,
                });
            }
        }
        Ok(())
    }

    fn copy(&mut self, copy: &Copy) {
        let bytes = self.elements(copy.from) * self.plan.slots[copy.from.0].element_bytes;
        let (from, to) = (self.locate(copy.from), self.locate(copy.to));
        self.backend.copy(bytes, from, to, self.buffers);
    }

    fn copies(&mut self, copies: &[Copy]) {
        copies.iter().for_each(|copy| self.copy(copy));
    }

    fn elements_of(&self, slot: SlotId) -> Option<Elements> {
        let dtype = self.plan.slots[slot.0].dtype?;
        Some(Elements { count: self.elements(slot), dtype })
    }

    fn zero(&mut self, slot: SlotId) {
        if let Some(elements) = self.elements_of(slot) {
            let at = self.locate(slot);
            self.backend.zero(elements, at, self.buffers);
        }
    }

    fn add(&mut self, copy: &Copy) {
        if let Some(elements) = self.elements_of(copy.to) {
            let (from, to) = (self.locate(copy.from), self.locate(copy.to));
            self.backend.add(elements, from, to, self.buffers);
        }
    }

    fn gather(&mut self, space: usize, from: SlotId, to: SlotId) {
        let space = &self.plan.spaces[space];
        let rows = Rows { count: self.state.symbols[space.size.0 as usize], bytes: self.row_bytes(to) };
        let (from, index, to) = (self.locate(from), self.locate(space.index), self.locate(to));
        self.backend.gather(rows, from, index, to, self.buffers);
    }

    fn conditional(&mut self, code: &IfCode) -> Result<(), RunError> {
        let plan = self.plan;
        // Which branches run: those that have rows, or the one that a scalar chooses.
        let runs = match code.spaces {
            Some(spaces) => {
                let [yes, no] = spaces.map(|space| &plan.spaces[space]);
                if code.splits {
                    let rows = code.rows.get(&self.state.sizes);
                    // Row numbers are `u32`.
                    if u32::try_from(rows).is_err() {
                        return Err(RunError::TooLarge { value: plan.slots[code.condition.0].name.clone() });
                    }
                    let (mask, yes_at, no_at) =
                        (self.locate(code.condition), self.locate(yes.index), self.locate(no.index));
                    let count = self.backend.select(mask, rows, yes_at, no_at, self.buffers);
                    self.resize(yes.size, count)?;
                    self.resize(no.size, rows - count)?;
                }
                [yes, no].map(|space| self.state.symbols[space.size.0 as usize] > 0)
            }
            None => {
                let holds = self.backend.test(self.locate(code.condition), self.buffers);
                [holds, !holds]
            }
        };
        // As they were lowered: the tape of the first branch lies below that of the second.
        for side in if code.splits { [0, 1] } else { [1, 0] } {
            if runs[side] {
                self.nested(code.branches[side])?;
            }
        }
        for join in &code.joins {
            let sides = join.from.into_iter().zip(runs).enumerate().filter(|(_, (_, runs))| *runs);
            match (join.join, code.spaces) {
                (Join::Merge, Some(spaces)) => {
                    for (side, (from, _)) in sides {
                        let space = &plan.spaces[spaces[side]];
                        let count = self.state.symbols[space.size.0 as usize];
                        let rows = Rows { count, bytes: self.row_bytes(join.to) };
                        let (from, index, to) =
                            (self.locate(from), self.locate(space.index), self.locate(join.to));
                        self.backend.scatter(rows, from, index, to, self.buffers);
                    }
                }
                (Join::Merge | Join::Sum | Join::Select, _) => {
                    let mut sides = sides.map(|(_, (from, _))| Copy { from, to: join.to });
                    match sides.next() {
                        Some(first) => self.copy(&first),
                        None => self.zero(join.to),
                    }
                    sides.for_each(|copy| self.add(&copy));
                }
            }
        }
        Ok(())
    }

    fn resize(&mut self, symbol: SymbolId, value: usize) -> Result<(), RunError> {
        if self.state.set(self.plan, symbol, value) {
            return Ok(());
        }
        Err(RunError::TooLarge { value: self.plan.symbols[symbol.0 as usize].clone() })
    }

    fn while_loop(&mut self, code: &WhileCode) -> Result<(), RunError> {
        self.copies(&code.enter);
        let (mut trips, seed) = (0, self.seed);
        loop {
            self.seed = nth_seed(seed, trips as u64 + 1);
            self.nested(code.condition)?;
            if !self.backend.test(self.locate(code.holds), self.buffers) {
                break;
            }
            if trips == code.limit {
                return Err(RunError::LoopLimit { limit: code.limit, place: self.place(&code.origin) });
            }
            if let Some(recorded) = code.recorded {
                self.push_frame(recorded)?;
                self.copies(&code.save);
            }
            self.nested(code.body)?;
            self.copies(&code.advance);
            if let Some(recorded) = code.recorded {
                self.record(recorded);
            }
            trips += 1;
        }
        self.seed = seed;
        if let Some(recorded) = code.recorded {
            self.state.trips[recorded.0] = trips;
        }
        Ok(())
    }

    fn push_frame(&mut self, around: LoopId) -> Result<(), RunError> {
        let too_large = || RunError::TooLarge { value: "what the loops save for the gradient".to_string() };
        let end = self.state.top.checked_add(self.layout.frames[around.0]).ok_or_else(too_large)?;
        if end > self.state.tape {
            let bytes = end.checked_mul(2).ok_or_else(too_large)?;
            self.backend.grow(&mut self.buffers[Memory::Tape as usize], bytes)?;
            self.state.tape = bytes;
        }
        self.state.frames[around.0] = self.state.top;
        self.state.top = end;
        Ok(())
    }

    /// Notes what the gradient of this iteration will need to know.
    fn record(&mut self, around: LoopId) {
        let info = &self.plan.loops[around.0];
        let state = &mut *self.state;
        for inner in &info.inner {
            state.records.push(state.trips[inner.0]);
        }
        for size in &info.sizes {
            state.records.push(state.symbols[size.0 as usize]);
        }
        state.records.push(state.frames[around.0]);
    }

    /// Goes back to the last iteration that was noted.
    fn recall(&mut self, around: LoopId) -> Result<(), RunError> {
        let info = &self.plan.loops[around.0];
        let pop = |state: &mut State| state.records.pop().unwrap_or_default();
        self.state.frames[around.0] = pop(self.state);
        for &size in info.sizes.iter().rev() {
            let value = pop(self.state);
            self.resize(size, value)?;
        }
        for inner in info.inner.iter().rev() {
            self.state.trips[inner.0] = pop(self.state);
        }
        Ok(())
    }

    fn while_grad(&mut self, code: &WhileGradCode) -> Result<(), RunError> {
        self.copies(&code.enter);
        for sum in &code.sums {
            self.zero(sum.to);
        }
        for _ in 0..self.state.trips[code.recorded.0] {
            self.recall(code.recorded)?;
            self.nested(code.body)?;
            for sum in &code.sums {
                self.add(sum);
            }
            self.copies(&code.advance);
        }
        Ok(())
    }
}
