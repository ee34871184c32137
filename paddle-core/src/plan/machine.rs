//! The machine: runs the instructions of a plan.

use super::backend::{
    Backend, Extent, Fault, HostSliceMut, KernelError, Location, Memories, Memory, Side, Token,
};
use super::code::{
    Home, IfCode, Instruction, JoinHow, Kernel, LaunchCode, Operators, Origin, Plan, SelectCode, Slot, SlotId,
};
use super::error::RunError;
use super::exchange::Exchange;
use super::layout::MemoryLayout;
use super::merging::Mergers;
use super::numbers::{NotFinite, Numbers, badness, look};
use super::profile::Recorder;
use super::stats::RunStats;
use super::tape::Tape;
use crate::memory::OutOfMemory;
use crate::program::{DType, Located, Place, SymbolId};

/// The state of a run. Nothing in it allocates once it has grown to the largest run.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The value of each size symbol.
    pub(super) symbols: Vec<usize>,
    /// The value of each extent.
    pub(super) sizes: Vec<usize>,
    /// For the symbol that is the number of rows of an iteration: the first row of the current iteration among those
    /// of all.
    pub(super) firsts: Vec<usize>,
    /// The tape of the backend, and that of its fallback.
    pub(super) tapes: [Tape; 2],
    /// The number of iterations in the last run of each loop.
    pub(super) trips: Vec<usize>,
    /// The records of the iterations that are on the tape: numbers of inner iterations, then sizes.
    pub(super) records: Vec<usize>,
    /// For each order, the number of sequences that have a first token, a second, and so on.
    pub(super) counts: Vec<Vec<usize>>,
    /// For each order whose offsets are fed, the offsets.
    pub(super) fed: Vec<Vec<i64>>,
    /// The offsets of the taken sequences.
    pub(super) taken: Vec<Vec<i64>>,
    /// The offsets that a sort has read, if the host had none.
    pub(super) offsets: Vec<i64>,
    /// The locations of [`Plan::operands`]. Before a launch, those of its operands that move are computed anew.
    pub(super) locations: Vec<Location>,
    /// What merges the rows of sparse gradients.
    pub(super) merging: Mergers,
    /// The counters of products.
    pub(super) stats: RunStats,
}

impl State {
    /// The state for a plan, before any size is bound.
    pub(super) fn new<K>(plan: &Plan<K>) -> Self {
        let symbols = vec![0; plan.symbols.len()];
        State {
            firsts: symbols.clone(),
            symbols,
            sizes: vec![0; plan.extents.len()],
            tapes: [Side::Own, Side::Fallback].map(|side| Tape::new(plan, side)),
            trips: vec![0; plan.loops.len()],
            counts: vec![Vec::new(); plan.orders.len()],
            fed: vec![Vec::new(); plan.orders.len()],
            taken: vec![Vec::new(); plan.taken.len()],
            stats: plan.stats.clone(),
            ..State::default()
        }
    }

    /// Sets the locations of all operands to those of a layout.
    pub(super) fn locate<K>(&mut self, plan: &Plan<K>, layout: &MemoryLayout) {
        self.locations.clear();
        self.locations.extend(plan.operands.iter().map(|&slot| layout.location(plan, slot)));
    }

    /// Prepares for the next run.
    pub(super) fn reset(&mut self) {
        self.trips.fill(0);
        self.records.clear();
    }

    /// Sets a symbol, and the extents that contain it. False if an extent is negative or too large.
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

/// The `n`-th seed derived from a seed: 0 is the seed itself, the others are numbers of SplitMix64.
pub(super) fn nth_seed(seed: u64, n: u64) -> u64 {
    if n == 0 {
        return seed;
    }
    let z = seed.wrapping_add(n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The fallback in a run.
pub(super) struct FallbackRun<'a, B: Backend> {
    pub(super) backend: &'a B::Fallback,
    pub(super) queue: &'a mut <B::Fallback as Backend>::Queue,
    pub(super) memories: Memories<'a, <B::Fallback as Backend>::Buffer>,
}

/// One run.
pub(super) struct Machine<'a, B: Backend> {
    pub(super) backend: &'a B,
    pub(super) plan: &'a Plan<Kernel<B>>,
    pub(super) layout: &'a MemoryLayout,
    pub(super) state: &'a mut State,
    pub(super) queue: &'a mut B::Queue,
    pub(super) memories: Memories<'a, B::Buffer>,
    /// The fallback, if there is one.
    pub(super) fallback: Option<FallbackRun<'a, B>>,
    /// The first fault that was found while values went from one side to the other. Nothing is launched behind it.
    pub(super) fault: Option<Fault>,
    /// The version of the parameters. A run that changes parameters has one of its own.
    pub(super) version: u64,
    /// The seed of random numbers, for this step and this iteration of the loops around.
    pub(super) seed: u64,
    /// The number of the step, for messages.
    pub(super) step: u64,
    /// The way to other machines, if there are any.
    pub(super) exchange: Option<&'a mut dyn Exchange>,
    /// What launches take is recorded here, if that is asked for.
    pub(super) recorder: Option<&'a mut Recorder>,
}

impl<B: Backend> Machine<'_, B> {
    /// Runs the instructions that prepare values, and those before the update. After an error, parameters and states are as
    /// they were.
    pub(super) fn compute(
        &mut self,
        prepare: &[Instruction<Kernel<B>>],
        code: &[Instruction<Kernel<B>>],
    ) -> Result<(), RunError> {
        let plan = self.plan;
        plan.backups.iter().for_each(|backup| self.launch(&backup.save));
        let result = self.run(prepare).and_then(|()| self.run(code));
        let result = self.finish().and(result);
        if result.is_err() {
            self.go_back()?;
        }
        result
    }

    /// Runs the update.
    pub(super) fn update(&mut self, code: &[Instruction<Kernel<B>>]) -> Result<(), RunError> {
        // Memory for all updates is allocated before the first changes a parameter.
        self.prepare(code)?;
        let result = self.run(code);
        self.finish().and(result)
    }

    /// Undoes the changes of parameters and states that [`compute`](Self::compute) made.
    pub(super) fn go_back(&mut self) -> Result<(), RunError> {
        let plan = self.plan;
        plan.backups.iter().for_each(|backup| self.launch(&backup.restore));
        self.finish()
    }

    /// Waits for all work in both queues.
    fn finish(&mut self) -> Result<(), RunError> {
        self.drain().map_err(|fault| self.failed(fault))
    }

    /// Waits for all work in both queues. Errors with the first fault.
    pub(super) fn drain(&mut self) -> Result<(), Fault> {
        let own = self.backend.finish(self.queue);
        let beside =
            self.fallback.as_mut().map_or(Ok(()), |fallback| fallback.backend.finish(fallback.queue));
        self.fault.take().map_or(Ok(()), Err).and(own).and(beside)
    }

    /// Runs the instructions of a block.
    pub(super) fn run(&mut self, code: &[Instruction<Kernel<B>>]) -> Result<(), RunError> {
        for instruction in code {
            match instruction {
                Instruction::Launch(code) => {
                    match self.plan.numbers {
                        Numbers::Any => self.launch(code),
                        Numbers::Finite | Numbers::Traced => self.launch_checked(code)?,
                    }
                    if let Some(product) = &code.product {
                        self.state.stats.count(product.counter, product.rows.get(&self.state.sizes));
                    }
                }
                Instruction::Sort(code) => self.sort(code)?,
                Instruction::Take(code) => self.take(code)?,
                Instruction::Make(code) => self.make(code)?,
                Instruction::Exchange(code) => self.exchange(code)?,
                Instruction::If(code) => self.conditional(code)?,
                Instruction::Loop(code) => self.repeat(code)?,
                Instruction::LoopGrad(code) => self.unwind(code)?,
            }
        }
        Ok(())
    }

    pub(super) fn locate(&self, slot: SlotId) -> Location {
        match self.plan.slots[slot.0].home {
            Home::Lane(side, lane) => {
                Location { memory: Memory::Tape, offset: self.state.tapes[side as usize].at(lane) }
            }
            Home::View { of, bytes } => {
                let Location { memory, offset } = self.locate(of);
                Location { memory, offset: offset + bytes }
            }
            Home::Iteration { of, rows } => {
                let Location { memory, offset } = self.locate(of);
                let first = self.state.firsts[rows.0 as usize];
                Location { memory, offset: offset + first * self.row_bytes(slot) }
            }
            Home::Arena
            | Home::Staging
            | Home::Pool
            | Home::Prepared
            | Home::Parameter(..)
            | Home::State(..) => self.layout.location(self.plan, slot),
        }
    }

    pub(super) fn elements(&self, slot: SlotId) -> usize {
        let sizes = self.plan.slots[slot.0].shape.iter().map(|extent| extent.get(&self.state.sizes));
        // The product of the sizes in front of a size of zero may overflow.
        sizes.fold(1, usize::saturating_mul)
    }

    pub(super) fn row_bytes(&self, slot: SlotId) -> usize {
        let slot = &self.plan.slots[slot.0];
        let behind = slot.shape.iter().skip(1).map(|extent: &Extent| extent.get(&self.state.sizes));
        behind.fold(slot.element_bytes, usize::saturating_mul)
    }

    pub(super) fn place(&self, place: Option<Place>) -> Option<Located> {
        place.map(|place| self.plan.place(place))
    }

    /// Runs a launch to its end, and errors if its operators have computed a number that a run may not compute.
    fn launch_checked(&mut self, code: &LaunchCode<Kernel<B>>) -> Result<(), RunError> {
        let plan = self.plan;
        let Origin::Operators(operators) = &plan.origins[code.number as usize] else {
            self.launch(code);
            return Ok(());
        };
        let operands = plan.operands(code);
        let allowed = self.allowed(&operands[..code.inputs]);
        self.launch(code);
        self.finish()?;
        self.check_numbers(operands, code.inputs, allowed, operators)
    }

    /// Puts a copy of elements to the host into the queue.
    pub(super) fn read(&mut self, at: Location, dtype: DType, count: usize) -> Token {
        self.backend.read(self.queue, at, dtype, count, &mut self.memories)
    }

    /// Waits for the elements of a token.
    pub(super) fn wait(&mut self, token: Token, to: HostSliceMut<'_>) -> Result<(), RunError> {
        let waited = self.backend.wait(self.queue, token, to);
        self.fault.clone().map_or(Ok(()), Err).and(waited).map_err(|fault| self.failed(fault))
    }

    /// Reads a truth value, and waits for it.
    pub(super) fn test(&mut self, slot: SlotId) -> Result<bool, RunError> {
        let (token, mut holds) = (self.read(self.locate(slot), DType::Bool, 1), [false]);
        self.wait(token, HostSliceMut::Bool(&mut holds))?;
        Ok(holds[0])
    }

    /// Splits rows by a mask. Returns the number of true rows.
    pub(super) fn select(&mut self, code: &SelectCode<Kernel<B>>) -> Result<usize, RunError> {
        self.launch(&code.launch);
        let (token, mut count) = (self.read(self.locate(code.count), DType::I32, 1), [0]);
        self.wait(token, HostSliceMut::I32(&mut count))?;
        Ok(usize::try_from(count[0]).unwrap_or(0))
    }

    /// The error of a launch that failed.
    fn failed(&self, fault: Fault) -> RunError {
        let Some(origin) = self.plan.origins.get(fault.launch as usize) else {
            // A read without any launch.
            return match fault.error {
                KernelError::OutOfMemory(error) => RunError::OutOfMemory(error),
                KernelError::Device { message } => RunError::Device { message },
                KernelError::Value { message } => {
                    RunError::Kernel { operator: "read".to_string(), place: None, message }
                }
            };
        };
        match (fault.error, origin) {
            (KernelError::Device { message }, _) => RunError::Device { message },
            (KernelError::Value { message }, Origin::Operators(operators)) => RunError::Kernel {
                operator: operators.names.join(" + "),
                place: self.place(operators.place),
                message,
            },
            (KernelError::Value { message }, Origin::Move(kind)) => {
                RunError::Kernel { operator: kind.name().to_string(), place: None, message }
            }
            (KernelError::OutOfMemory(error), origin) => self.out_of_memory(error, origin),
        }
    }

    /// Allocates the memory that updates need beside their operands.
    fn prepare(&self, code: &[Instruction<Kernel<B>>]) -> Result<(), RunError> {
        for instruction in code {
            if let Instruction::Launch(LaunchCode { kernel, number, .. }) = instruction {
                let reserved = match (kernel, &self.fallback) {
                    (Kernel::Own(kernel), _) => self.backend.reserve(kernel, &self.state.sizes),
                    (Kernel::Fallback(kernel), Some(fallback)) => {
                        fallback.backend.reserve(kernel, &self.state.sizes)
                    }
                    (Kernel::Fallback(_) | Kernel::Transfer(_), _) => Ok(()),
                };
                reserved.map_err(|error| self.out_of_memory(error, &self.plan.origins[*number as usize]))?;
            }
        }
        Ok(())
    }

    /// The error of a launch for whose work there is no memory.
    fn out_of_memory(&self, error: OutOfMemory, origin: &Origin) -> RunError {
        RunError::OutOfMemory(match origin {
            Origin::Operators(Operators { names, place, .. }) => {
                let operator = names.join(" + ");
                match self.place(*place) {
                    Some(place) => error.wanted_for(format_args!("`{operator}` at {place}")),
                    None => error.wanted_for(format_args!("`{operator}`")),
                }
            }
            Origin::Move(kind) => error.wanted_for(format_args!("the move `{}`", kind.name())),
        })
    }

    /// How bad the outputs of an operator may be, given its inputs. This is asked before the launch, which may
    /// overwrite the inputs.
    fn allowed(&self, read: &[SlotId]) -> u8 {
        match self.plan.numbers {
            Numbers::Any | Numbers::Finite => 0,
            Numbers::Traced => read.iter().map(|&slot| badness(self.look(slot))).max().unwrap_or(0),
        }
    }

    /// Errors if a value that was just written is worse than `allowed`. The values are the outputs or, for an update,
    /// the parameters and states among the inputs.
    fn check_numbers(
        &self,
        operands: &[SlotId],
        inputs: usize,
        allowed: u8,
        operators: &Operators,
    ) -> Result<(), RunError> {
        let is_kept =
            |slot: &&SlotId| matches!(self.plan.slots[slot.0].home, Home::Parameter(..) | Home::State(..));
        let (read, outputs) = operands.split_at(inputs);
        let updated = read.iter().filter(|slot| outputs.is_empty() && is_kept(slot));
        for &slot in outputs.iter().chain(updated) {
            let found = self.look(slot);
            if let Some((element, found)) = found.filter(|_| badness(found) > allowed) {
                return Err(RunError::NotFinite {
                    operator: operators.names.join(" + "),
                    place: self.place(operators.place),
                    value: self.plan.slots[slot.0].name.clone(),
                    element,
                    found,
                    step: self.step,
                });
            }
        }
        Ok(())
    }

    /// The first or worst element of a value that is not finite, see [`look`].
    fn look(&self, slot: SlotId) -> Option<NotFinite> {
        let Slot { dtype, element_bytes, home, .. } = &self.plan.slots[slot.0];
        let Location { memory, offset } = self.locate(slot);
        let download = |offset, to: HostSliceMut<'_>| match (home.side(), &self.fallback) {
            (Side::Fallback, Some(FallbackRun { backend, memories, .. })) => {
                backend.download(memories.get(memory), offset, to);
            }
            _ => self.backend.download(self.memories.get(memory), offset, to),
        };
        look(&download, (offset, *element_bytes), *dtype, self.elements(slot), self.plan.numbers)
    }

    fn conditional(&mut self, code: &IfCode<Kernel<B>>) -> Result<(), RunError> {
        let plan = self.plan;
        // The branches that run: those with rows, or the one that a scalar condition chooses.
        let runs = match &code.rows {
            Some(rows) => {
                let [yes, no] = rows.spaces.map(|space| plan.spaces[space].size);
                if let Some(select) = &rows.select {
                    let all = rows.all.get(&self.state.sizes);
                    self.check_row_numbers(all, || plan.slots[code.condition.0].name.clone())?;
                    let count = self.select(select)?;
                    self.resize(yes, count)?;
                    self.resize(no, all - count)?;
                }
                [yes, no].map(|size| self.state.symbols[size.0 as usize] > 0)
            }
            None => {
                let holds = self.test(code.condition)?;
                [holds, !holds]
            }
        };
        // In the order in which they were lowered: the second branch puts its instances on the tape above those of
        // the first.
        for side in if code.forward { [0, 1] } else { [1, 0] } {
            if runs[side] {
                self.run(&plan.code[code.branches[side]])?;
            }
        }
        for join in &code.joins {
            match &join.how {
                JoinHow::Rows(scatters) => {
                    let scatters = scatters.iter().zip(runs).filter(|(_, runs)| *runs);
                    scatters.for_each(|(scatter, _)| self.launch(scatter));
                }
                JoinHow::Whole { copies, add_second, zero } => match runs {
                    [true, second] => {
                        self.launch(&copies[0]);
                        add_second.iter().filter(|_| second).for_each(|add| self.launch(add));
                    }
                    [false, true] => self.launch(&copies[1]),
                    [false, false] => zero.iter().for_each(|zero| self.launch(zero)),
                },
            }
        }
        Ok(())
    }

    /// Errors if there are more rows than row numbers, which are `i32`, can count.
    pub(super) fn check_row_numbers(&self, rows: usize, value: impl Fn() -> String) -> Result<(), RunError> {
        match i32::try_from(rows) {
            Ok(_) => Ok(()),
            Err(_) => Err(RunError::TooLarge { value: value() }),
        }
    }

    pub(super) fn resize(&mut self, symbol: SymbolId, value: usize) -> Result<(), RunError> {
        let plan = self.plan;
        let is_set = self.state.set(plan, symbol, value);
        let value = |symbol: SymbolId| i64::try_from(self.state.symbols[symbol.0 as usize]).ok();
        if let Some(error) = plan.failing(&plan.late_checks[symbol.0 as usize], &value) {
            return Err(error);
        }
        if is_set {
            return Ok(());
        }
        Err(RunError::TooLarge { value: self.plan.symbols[symbol.0 as usize].clone() })
    }
}
