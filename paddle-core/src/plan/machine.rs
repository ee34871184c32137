//! The machine: runs the instructions of a plan.

use super::backend::{Backend, Elements, Extent, KernelError, Launch, Location, Memory, Rows};
use super::code::{Home, IfCode, Instruction, Origin, Plan, Slot, SlotId, Transfer};
use super::error::RunError;
use super::layout::MemoryLayout;
use super::numbers::{NotFinite, Numbers, badness, look};
use super::stats::RunStats;
use super::tape::Tape;
use crate::memory::OutOfMemory;
use crate::ops::Join;
use crate::program::{Located, SymbolId};

/// What changes during a run. Nothing in it is allocated anew once it has grown to the largest run.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The value of each size symbol.
    pub(super) symbols: Vec<usize>,
    /// The value of each extent.
    pub(super) sizes: Vec<usize>,
    /// For rows of iterations, by the symbol of their number, the first of this iteration among those of all.
    pub(super) firsts: Vec<usize>,
    pub(super) tape: Tape,
    /// How often each recorded loop ran.
    pub(super) trips: Vec<usize>,
    /// For each iteration that is on the tape: numbers of inner iterations, sizes.
    pub(super) records: Vec<usize>,
    /// For each order, how many sequences have a first token, a second, and so on.
    pub(super) counts: Vec<Vec<usize>>,
    /// The offsets of sequences that were taken.
    pub(super) offsets: Vec<Vec<i64>>,
    /// The lengths of sequences that are being made, then their offsets.
    pub(super) lengths: Vec<i64>,
    /// The operands of the current launch.
    locations: Vec<Location>,
    /// What was done since this was last cleared.
    pub(super) stats: RunStats,
}

impl State {
    /// Of a plan whose sizes are not bound yet.
    pub(super) fn new<K>(plan: &Plan<K>) -> Self {
        let symbols = vec![0; plan.symbols.len()];
        State {
            firsts: symbols.clone(),
            symbols,
            sizes: vec![0; plan.extents.len()],
            tape: Tape::new(plan),
            trips: vec![0; plan.loops.len()],
            counts: vec![Vec::new(); plan.orders.len()],
            offsets: vec![Vec::new(); plan.taken.len()],
            stats: plan.stats.clone(),
            ..State::default()
        }
    }

    /// Ready for a run.
    pub(super) fn reset(&mut self) {
        self.trips.fill(0);
        self.records.clear();
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
    /// Runs instructions that come before the update. After an error, parameters and states are as they were.
    pub(super) fn compute(&mut self, code: &[Instruction<B::Kernel>]) -> Result<(), RunError> {
        let plan = self.plan;
        plan.kept.iter().for_each(|copy| self.copy(copy));
        self.run(code).inspect_err(|_| self.go_back())
    }

    /// Takes back what [`compute`](Self::compute) has changed of parameters and states.
    pub(super) fn go_back(&mut self) {
        let plan = self.plan;
        plan.kept.iter().for_each(|&Transfer { from, to }| self.copy(&Transfer { from: to, to: from }));
    }

    /// Runs the instructions of a block.
    pub(super) fn run(&mut self, code: &[Instruction<B::Kernel>]) -> Result<(), RunError> {
        for instruction in code {
            match instruction {
                Instruction::Launch { kernel, operands, inputs, origin, product } => {
                    let allowed = self.allowed(&operands[..*inputs]);
                    self.launch(kernel, operands, origin)?;
                    if let Some(product) = product {
                        self.state.stats.count(product.counter, product.rows.get(&self.state.sizes));
                    }
                    if self.plan.numbers != Numbers::Any {
                        self.check_numbers(operands, *inputs, allowed, origin)?;
                    }
                }
                Instruction::Gather { space, from, to } => {
                    let (rows, index) = self.rows_of(*space, *to);
                    let (from, to) = (self.locate(*from), self.locate(*to));
                    self.backend.gather(rows, from, index, to, self.buffers);
                }
                Instruction::Scatter { space, from, to } => {
                    let (rows, index) = self.rows_of(*space, *to);
                    let (from, to) = (self.locate(*from), self.locate(*to));
                    self.backend.scatter(rows, from, index, to, self.buffers);
                }
                Instruction::AddRows { space, from, to } => {
                    let (rows, index) = self.rows_of(*space, *to);
                    if let Some(dtype) = self.plan.slots[to.0].dtype {
                        let (from, to) = (self.locate(*from), self.locate(*to));
                        self.backend.add_rows(rows, dtype, from, index, to, self.buffers);
                    }
                }
                Instruction::Copy(copy) => self.copy(copy),
                Instruction::Add(copy) => self.add(copy),
                Instruction::Zero(slot) => self.zero(*slot),
                Instruction::Order(order) => self.order(*order)?,
                Instruction::Take(taken) => self.take(*taken)?,
                Instruction::Rebase(rebase) => self.rebase(rebase),
                Instruction::Make(made) => self.make(made)?,
                Instruction::If(code) => self.conditional(code)?,
                Instruction::Loop(code) => self.repeat(code)?,
                Instruction::LoopGrad(code) => self.unwind(code)?,
            }
        }
        Ok(())
    }

    pub(super) fn locate(&self, slot: SlotId) -> Location {
        let offset = self.layout.offsets[slot.0];
        match self.plan.slots[slot.0].home {
            Home::Arena => Location { memory: Memory::Arena, offset },
            Home::Lane(lane) => Location { memory: Memory::Tape, offset: self.state.tape.at(lane) },
            Home::Iteration { of, rows } => {
                let Location { memory, offset } = self.locate(of);
                let first = self.state.firsts[rows.0 as usize];
                Location { memory, offset: offset + first * self.row_bytes(slot) }
            }
            Home::Pool => Location { memory: Memory::Pool, offset },
            Home::Parameter(offset) => Location { memory: Memory::Parameters, offset },
            Home::State(offset) => Location { memory: Memory::States, offset },
        }
    }

    /// The number of rows of a space, as rows of a slot, and where their numbers are.
    fn rows_of(&self, space: usize, slot: SlotId) -> (Rows, Location) {
        let space = &self.plan.spaces[space];
        let count = self.state.symbols[space.size.0 as usize];
        (Rows { count, bytes: self.row_bytes(slot) }, self.locate(space.index))
    }

    fn elements(&self, slot: SlotId) -> usize {
        let sizes = self.plan.slots[slot.0].shape.iter().map(|extent| extent.get(&self.state.sizes));
        // Large sizes before one of zero may have a product that is out of range.
        sizes.fold(1, usize::saturating_mul)
    }

    pub(super) fn row_bytes(&self, slot: SlotId) -> usize {
        let slot = &self.plan.slots[slot.0];
        let behind = slot.shape.iter().skip(1).map(|extent: &Extent| extent.get(&self.state.sizes));
        behind.fold(slot.element_bytes, usize::saturating_mul)
    }

    pub(super) fn place(&self, origin: &Origin) -> Option<Located> {
        origin.place.map(|place| self.plan.place(place))
    }

    fn launch(&mut self, kernel: &B::Kernel, operands: &[SlotId], origin: &Origin) -> Result<(), RunError> {
        self.state.locations.clear();
        for &slot in operands {
            let location = self.locate(slot);
            self.state.locations.push(location);
        }
        let launch = Launch { sizes: &self.state.sizes, locations: &self.state.locations, seed: self.seed };
        self.backend.launch(kernel, launch, self.buffers).map_err(|error| match error {
            KernelError::Value { message } => RunError::Kernel {
                operator: origin.operators.join(" + "),
                place: self.place(origin),
                message,
            },
            KernelError::OutOfMemory(error) => self.out_of_memory(error, origin),
        })
    }

    /// Takes the memory that updates need beside their operands.
    pub(super) fn prepare(&self, code: &[Instruction<B::Kernel>]) -> Result<(), RunError> {
        for instruction in code {
            if let Instruction::Launch { kernel, origin, .. } = instruction {
                let reserved = self.backend.reserve(kernel, &self.state.sizes);
                reserved.map_err(|error| self.out_of_memory(error, origin))?;
            }
        }
        Ok(())
    }

    /// An operator needs memory that cannot be had.
    fn out_of_memory(&self, error: OutOfMemory, origin: &Origin) -> RunError {
        let operator = origin.operators.join(" + ");
        RunError::OutOfMemory(match self.place(origin) {
            Some(place) => error.wanted_for(format_args!("`{operator}` at {place}")),
            None => error.wanted_for(format_args!("`{operator}`")),
        })
    }

    /// How bad the numbers may be that are computed from these, which what is computed may overwrite.
    fn allowed(&self, read: &[SlotId]) -> u8 {
        match self.plan.numbers {
            Numbers::Any | Numbers::Finite => 0,
            Numbers::Traced => read.iter().map(|&slot| badness(self.look(slot))).max().unwrap_or(0),
        }
    }

    /// What was just written has to be finite, or no worse than allowed: the outputs, or, of an update, the parameters and
    /// states among the inputs.
    fn check_numbers(
        &self,
        operands: &[SlotId],
        inputs: usize,
        allowed: u8,
        origin: &Origin,
    ) -> Result<(), RunError> {
        let is_kept =
            |slot: &&SlotId| matches!(self.plan.slots[slot.0].home, Home::Parameter(_) | Home::State(_));
        let (read, outputs) = operands.split_at(inputs);
        let updated = read.iter().filter(|slot| outputs.is_empty() && is_kept(slot));
        for &slot in outputs.iter().chain(updated) {
            let found = self.look(slot);
            if let Some((element, found)) = found.filter(|_| badness(found) > allowed) {
                return Err(RunError::NotFinite {
                    operator: origin.operators.join(" + "),
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

    /// Looks at the elements of a value, if they are floating-point numbers.
    fn look(&self, slot: SlotId) -> Option<NotFinite> {
        let (at, Slot { dtype, element_bytes, .. }) = (self.locate(slot), &self.plan.slots[slot.0]);
        let buffer = &self.buffers[at.memory as usize];
        let at = (at.offset, *element_bytes);
        look(self.backend, buffer, at, (*dtype)?, self.elements(slot), self.plan.numbers)
    }

    fn copy(&mut self, copy: &Transfer) {
        // State has room for all rows, an iteration may have fewer.
        let elements = self.elements(copy.from).min(self.elements(copy.to));
        let bytes = elements * self.plan.slots[copy.from.0].element_bytes;
        let (from, to) = (self.locate(copy.from), self.locate(copy.to));
        self.backend.copy(bytes, from, to, self.buffers);
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

    fn add(&mut self, copy: &Transfer) {
        if let Some(mut elements) = self.elements_of(copy.to) {
            elements.count = elements.count.min(self.elements(copy.from));
            let (from, to) = (self.locate(copy.from), self.locate(copy.to));
            self.backend.add(elements, from, to, self.buffers);
        }
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
                self.run(&plan.code[code.branches[side]])?;
            }
        }
        for join in &code.joins {
            let sides = join.from.into_iter().zip(runs).enumerate().filter(|(_, (_, runs))| *runs);
            match (join.join, join.spaces) {
                (Join::Merge, Some(spaces)) => {
                    for (side, (from, _)) in sides {
                        let (rows, index) = self.rows_of(spaces[side], join.to);
                        let (from, to) = (self.locate(from), self.locate(join.to));
                        self.backend.scatter(rows, from, index, to, self.buffers);
                    }
                }
                (Join::Merge | Join::Sum | Join::Select, _) => {
                    let mut sides = sides.map(|(_, (from, _))| Transfer { from, to: join.to });
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

    pub(super) fn resize(&mut self, symbol: SymbolId, value: usize) -> Result<(), RunError> {
        if self.state.set(self.plan, symbol, value) {
            return Ok(());
        }
        Err(RunError::TooLarge { value: self.plan.symbols[symbol.0 as usize].clone() })
    }
}
