//! The executor: runs a program, planned for a backend, on batches of any size.

use std::time::Duration;

use super::backend::{Backend, HostSlice, HostSliceMut, Memories, OWN_MEMORIES, Side, Values, no_memories};
use super::code::{Home, Input, Kernel, KnownOffsets, Plan, SlotId};
use super::error::{PlanError, RunError};
use super::layout::{MemoryLayout, capacity};
use super::lower::lower;
use super::machine::{FallbackRun, Machine, State, nth_seed};
use super::numbers::{Numbers, first_not_finite};
use super::offsets::{OffsetsError, check_levels};
use super::profile::{Clock, PartKind, PlanProfile, Recorder};
use super::stats::RunStats;
use super::storage::{Buffers, Storage};
use super::tape::Tape;
use crate::memory::{OutOfMemory, TryGrow};
use crate::ops::Program;
use crate::program::{Check, DType, Dim, SymbolId};

/// The value that is fed to one input.
#[derive(Clone, Copy, Debug)]
pub struct Feed<'a> {
    /// The elements, in row-major order.
    pub values: HostSlice<'a>,
    /// The shape. If the input has rows, they are the first dimension.
    pub shape: &'a [usize],
    /// For sequences, the offsets: where each sequence begins among the tokens, which are the rows, and then the
    /// number of tokens. Sequences of sequences have a list for each level, the outermost first. Empty for all other
    /// inputs.
    pub offsets: &'a [Vec<i64>],
}

/// A part of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Forward and backward.
    Compute,
    /// The updates of the parameters.
    Update,
}

/// The indices of the arena, the tape, the pool and the prepared values among an executor's own memories.
const ARENA: usize = 0;
pub(super) const TAPE: usize = 1;
const POOL: usize = 2;
const PREPARED: usize = 3;

/// The number of layouts that are kept.
const LAYOUTS: usize = 4;

/// Runs a program. The program is planned once. Memory is laid out for capacities, and reused by every batch that
/// fits.
///
/// [`begin`](Executor::begin) binds the sizes of a batch and uploads it, [`run`](Executor::run) computes it, and
/// [`fetch`](Executor::fetch) then gives the outputs. Nothing is allocated once the largest batch has been seen.
pub struct Executor<B: Backend> {
    backend: B,
    plan: Plan<Kernel<B>>,
    /// The layouts in the order of their use. The last is in use now.
    layouts: Vec<MemoryLayout>,
    state: State,
    queue: B::Queue,
    /// The queue and the memory of the fallback, if there is one.
    fallback: Option<Fallback<B>>,
    /// Arena, tape, pool and prepared values. Parameters and states are the caller's.
    buffers: [B::Buffer; OWN_MEMORIES],
    /// The bytes of each buffer.
    lengths: [usize; OWN_MEMORIES],
    /// The sizes of this batch and of the one before: extents are computed anew only if they differ.
    bound: Vec<Option<usize>>,
    before: Vec<Option<usize>>,
    shapes: Vec<Vec<usize>>,
    /// The version of the parameters that the prepared values follow from; none if they are to be computed.
    prepared: Option<u64>,
    begun: bool,
    seed: u64,
    step: u64,
    /// What is measured, if that is asked for.
    recorder: Option<Box<Recorder>>,
}

/// The queue and the memory on the fallback.
struct Fallback<B: Backend> {
    queue: <B::Fallback as Backend>::Queue,
    /// The same memories on the fallback.
    buffers: [<B::Fallback as Backend>::Buffer; OWN_MEMORIES],
    /// The bytes of the arena.
    length: usize,
}

impl<B: Backend> Fallback<B> {
    fn new(backend: &B::Fallback) -> Result<Self, OutOfMemory> {
        let buffers = no_memories(backend)?;
        Ok(Fallback { queue: backend.queue()?, buffers, length: 0 })
    }
}

impl<B: Backend> Executor<B> {
    /// Plans `program` with the parameters of `storage`.
    pub fn new(backend: B, program: &Program, storage: &Storage) -> Result<Self, PlanError> {
        Self::with_states(backend, program, storage, &Storage::new(), Numbers::Any)
    }

    /// Like [`new`](Self::new), for a program that updates parameters: `states` has the updaters' states. `numbers`
    /// says which numbers a run may compute.
    pub fn with_states(
        backend: B,
        program: &Program,
        storage: &Storage,
        states: &Storage,
        numbers: Numbers,
    ) -> Result<Self, PlanError> {
        let plan = lower(&backend, program, storage, states, numbers)?;
        let buffers = no_memories(&backend)?;
        let queue = backend.queue()?;
        let fallback = backend.fallback().map(Fallback::new).transpose()?;
        let state = State::new(&plan);
        let none = vec![None; plan.symbols.len()];
        let shapes = plan.outputs.iter().map(|out| vec![0; plan.slots[out.slot.0].shape.len()]).collect();
        Ok(Executor {
            backend,
            plan,
            layouts: Vec::with_capacity(LAYOUTS + 1),
            state,
            queue,
            fallback,
            buffers,
            lengths: [0; OWN_MEMORIES],
            bound: none.clone(),
            before: none,
            shapes,
            prepared: None,
            begun: false,
            seed: 0,
            step: 0,
            recorder: None,
        })
    }

    /// The plan as text: the instructions in order, and the memories of their operands.
    pub fn plan(&self) -> impl std::fmt::Display {
        &self.plan
    }

    /// Sets the seed of operators that draw random numbers.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Sets the number of the step. Each step draws other random numbers.
    pub fn set_step(&mut self, step: u64) {
        self.step = step;
    }

    /// The number of inputs.
    pub fn input_count(&self) -> usize {
        self.plan.inputs.len()
    }

    /// Takes a batch: `feed(i)` is the value of the `i`-th input.
    ///
    /// Errors if an element type or a shape is not that of the input, if two inputs give a named size different
    /// values, if a check of the program does not hold, or if the batch is too large. The executor is then as it was:
    /// another batch may begin, or the same one once there is memory.
    pub fn begin<'a>(&mut self, feed: &dyn Fn(usize) -> Feed<'a>) -> Result<(), RunError> {
        let from = self.recorder.as_ref().map(|recorder| recorder.now());
        let result = self.take_batch(feed);
        self.record(PartKind::Begin, from);
        result
    }

    fn take_batch<'a>(&mut self, feed: &dyn Fn(usize) -> Feed<'a>) -> Result<(), RunError> {
        self.begun = false;
        self.bind(feed)?;
        if self.bound != self.before || self.layouts.is_empty() {
            self.before.fill(None);
            self.resize()?;
            self.before.copy_from_slice(&self.bound);
        }
        self.state.reset();
        if self.begin_tape().is_err() {
            // Capacities, and the largest loops so far, may need more memory than this batch.
            self.before.fill(None);
            self.state.tapes.iter_mut().for_each(Tape::forget);
            self.add_exact_layout()?;
            self.begin_tape()?;
            self.before.copy_from_slice(&self.bound);
        }
        let Some(layout) = self.layouts.last() else {
            return Err(RunError::NotBegun);
        };
        self.buffers[..PREPARED].iter_mut().for_each(|buffer| self.backend.poison(buffer));
        for (i, input) in self.plan.inputs.iter().enumerate() {
            let Feed { values, offsets, .. } = feed(i);
            if self.plan.numbers == Numbers::Finite
                && let Some((element, found)) = first_not_finite(values)
            {
                let (row, input, step) = (input.row_of(element, &feed(i)), input.name.clone(), self.step);
                return Err(RunError::FedNotFinite { input, row, element, found, step });
            }
            let of_sequences = input.sequences.iter().zip(offsets);
            let of_sequences =
                of_sequences.map(|(sequences, offsets)| (sequences.offsets, HostSlice::I64(offsets)));
            for (slot, values) in [(input.slot, values)].into_iter().chain(of_sequences) {
                let Some(slot) = slot else { continue };
                let memory = match self.plan.slots[slot.0].home {
                    Home::Pool => POOL,
                    _ => ARENA,
                };
                self.backend.upload(values, &mut self.buffers[memory], layout.offsets[slot.0]);
            }
        }
        self.keep_offsets(feed)?;
        self.begun = true;
        Ok(())
    }

    /// Keeps the offsets of fed sequences that are sorted: the lengths say how often loops run.
    fn keep_offsets<'a>(&mut self, feed: &dyn Fn(usize) -> Feed<'a>) -> Result<(), RunError> {
        for (order, kept) in self.plan.orders.iter().zip(&mut self.state.fed) {
            let KnownOffsets::Fed { input, level } = order.known else { continue };
            let offsets = &feed(input).offsets[level];
            let room = kept.try_resize(offsets.len(), 0);
            room.map_err(|error| error.wanted_for("offsets of the sequences that are fed"))?;
            kept.copy_from_slice(offsets);
        }
        Ok(())
    }

    /// Binds the symbols of the inputs' shapes.
    fn bind<'a>(&mut self, feed: &dyn Fn(usize) -> Feed<'a>) -> Result<(), RunError> {
        self.bound.fill(None);
        let mismatch = |at: usize, found: &[usize], bound| {
            let input = &self.plan.inputs[at];
            let (name, expected) = (input.name.clone(), input.shown.clone());
            RunError::FeedShape { input: name, expected, found: found.to_vec(), bound }
        };
        for (i, input) in self.plan.inputs.iter().enumerate() {
            let Feed { values, shape, .. } = feed(i);
            if values.dtype() != input.dtype {
                let (name, expected, found) = (input.name.clone(), input.dtype, values.dtype());
                return Err(RunError::FeedType { input: name, expected, found });
            }
            let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
            if elements != Some(values.len()) {
                let (input, found) = (input.name.clone(), values.len());
                return Err(RunError::FeedLength { input, expected: elements.unwrap_or(usize::MAX), found });
            }
            if input.scalar && shape.iter().all(|&size| size == 1) {
                continue;
            }
            if shape.len() != input.shape.len() {
                return Err(mismatch(i, shape, None));
            }
            for (dim, &size) in input.shape.iter().zip(shape) {
                if dim.constant().is_some_and(|known| i64::try_from(size) != Ok(known)) {
                    return Err(mismatch(i, shape, None));
                }
                let Some(symbol) = dim.as_symbol() else { continue };
                match self.bound[symbol.0 as usize] {
                    Some(bound) if bound != size => {
                        let name = self.plan.symbols[symbol.0 as usize].clone();
                        return Err(mismatch(i, shape, Some((name, bound))));
                    }
                    _ => self.bound[symbol.0 as usize] = Some(size),
                }
            }
            if let Err(error) = bind_sequences(&self.plan.inputs[..=i], feed, &mut self.bound) {
                let (input, expected) = (input.name.clone(), input.shown.clone());
                return Err(RunError::FeedOffsets { input, expected, error });
            }
        }
        // Sizes that are not symbols can be evaluated once every symbol is bound.
        for (i, input) in self.plan.inputs.iter().enumerate() {
            let shape = feed(i).shape;
            if input.scalar && shape.iter().all(|&size| size == 1) {
                continue;
            }
            let value =
                |symbol: SymbolId| self.bound[symbol.0 as usize].and_then(|size| i64::try_from(size).ok());
            let fits = |(dim, &size): (&Dim, &usize)| dim.evaluate(&value) == i64::try_from(size).ok();
            if !input.shape.iter().zip(shape).all(fits) {
                return Err(mismatch(i, shape, None));
            }
        }
        self.check()
    }

    /// Errors if a check of the program does not hold for the bound sizes.
    fn check(&self) -> Result<(), RunError> {
        let value =
            |symbol: SymbolId| self.bound[symbol.0 as usize].and_then(|size| i64::try_from(size).ok());
        let fails = |check: &&Check| check.condition.evaluate(&value) != Some(true);
        let Some(check) = self.plan.checks.iter().find(fails) else { return Ok(()) };
        let name = |symbol: SymbolId| self.plan.symbols[symbol.0 as usize].clone();
        let place = check.place.map(|place| self.plan.place(place));
        Err(RunError::Check { place, message: check.explain(&name, &value) })
    }

    /// Computes the extents for the bound sizes and finds or makes a layout.
    fn resize(&mut self) -> Result<(), RunError> {
        for at in 0..self.plan.symbols.len() {
            self.state.symbols[at] = self.upper_bound(at, &|symbol| self.bound[symbol].unwrap_or(0));
        }
        self.evaluate()?;
        self.note_shapes();
        let fitting =
            (0..self.layouts.len()).filter(|&at| self.layouts[at].fits(&self.plan, &self.state.sizes));
        match fitting.min_by_key(|&at| self.layouts[at].total()) {
            Some(at) => {
                self.layouts[at..].rotate_left(1);
                self.make_room(self.layouts.len() - 1)
            }
            None => self.add_layout(),
        }
    }

    /// Lays the tapes out for the current layout.
    fn begin_tape(&mut self) -> Result<(), RunError> {
        let Some(layout) = self.layouts.last() else { return Err(RunError::NotBegun) };
        let buffer = &mut self.buffers[TAPE];
        let [tape, other] = &mut self.state.tapes;
        tape.begin(&self.backend, &self.plan, &layout.capacities, buffer)?;
        match (&mut self.fallback, self.backend.fallback()) {
            (Some(Fallback { buffers, .. }), Some(fallback)) => {
                other.begin(fallback, &self.plan, &layout.capacities, &mut buffers[TAPE])
            }
            _ => Ok(()),
        }
    }

    /// Computes the shapes of the outputs.
    fn note_shapes(&mut self) {
        for (shape, output) in self.shapes.iter_mut().zip(&self.plan.outputs) {
            for (size, extent) in shape.iter_mut().zip(&self.plan.slots[output.slot.0].shape) {
                *size = extent.get(&self.state.sizes);
            }
        }
    }

    /// An upper bound on a symbol before the run: a size that is known only later is at most that of the row space
    /// its rows are taken from.
    fn upper_bound(&self, symbol: usize, root: &dyn Fn(usize) -> usize) -> usize {
        let mut at = symbol;
        while let Some(parent) = self.plan.bounds[at] {
            at = parent.0 as usize;
        }
        root(at)
    }

    fn evaluate(&mut self) -> Result<(), RunError> {
        for at in 0..self.plan.extents.len() {
            if !self.state.evaluate(&self.plan, at) {
                let names = |symbol: SymbolId| self.plan.symbols[symbol.0 as usize].clone();
                let value = self.plan.extents[at].display(&names).to_string();
                return Err(RunError::TooLarge { value });
            }
        }
        Ok(())
    }

    /// Adds a layout with room for every size seen so far, so that later batches in between fit too. If there is no
    /// memory for it, adds one for exactly this batch.
    fn add_layout(&mut self) -> Result<(), RunError> {
        match self.rounded_layout()? {
            Some(layout) => self.push_layout(layout).or_else(|_| self.add_exact_layout()),
            None => self.add_exact_layout(),
        }
    }

    /// A layout for the capacities of all sizes. None if an extent falls as a symbol grows, or overflows.
    fn rounded_layout(&mut self) -> Result<Option<MemoryLayout>, RunError> {
        let actual = self.state.symbols.clone();
        for (at, size) in self.state.symbols.iter_mut().enumerate() {
            let seen = self.layouts.iter().map(|layout| layout.capacities[at]).max().unwrap_or(0);
            *size = capacity(*size).max(seen);
        }
        let made = self
            .evaluate()
            .and_then(|()| MemoryLayout::new(&self.plan, &self.state.symbols, &self.state.sizes));
        self.state.symbols = actual;
        self.evaluate()?;
        Ok(made.ok().filter(|layout| layout.fits(&self.plan, &self.state.sizes)))
    }

    fn add_exact_layout(&mut self) -> Result<(), RunError> {
        self.push_layout(MemoryLayout::new(&self.plan, &self.state.symbols, &self.state.sizes)?)
    }

    /// Makes a layout the current one, if there is memory for it.
    fn push_layout(&mut self, layout: MemoryLayout) -> Result<(), RunError> {
        self.layouts.push(layout);
        let last = self.layouts.len() - 1;
        if let Err(error) = self.make_room(last) {
            self.layouts.pop();
            return Err(error);
        }
        if last == LAYOUTS {
            self.layouts.remove(0);
        }
        Ok(())
    }

    /// Allocates the memory of a layout. The old contents are lost.
    fn make_room(&mut self, layout: usize) -> Result<(), RunError> {
        let layout = &self.layouts[layout];
        for (memory, bytes) in [(ARENA, layout.arena), (POOL, layout.pool), (PREPARED, layout.prepared)] {
            let (buffer, length) = (&mut self.buffers[memory], &mut self.lengths[memory]);
            if bytes > *length {
                if memory == PREPARED {
                    self.prepared = None;
                }
                // Nothing in the buffer is needed any more, so its memory is freed before more is allocated.
                *length = 0;
                *buffer = self.backend.allocate(0)?;
                let taken = self.backend.allocate(bytes);
                *buffer = taken.map_err(|error| error.wanted_for(layout.needed_for(&self.plan)))?;
                *length = bytes;
            }
        }
        if let (Some(Fallback { buffers, length, .. }), Some(fallback)) =
            (&mut self.fallback, self.backend.fallback())
            && layout.staging > *length
        {
            *length = 0;
            buffers[ARENA] = fallback.allocate(0)?;
            let taken = fallback.allocate(layout.staging);
            buffers[ARENA] = taken.map_err(|error| error.wanted_for(layout.needed_for(&self.plan)))?;
            *length = layout.staging;
        }
        self.state.locate(&self.plan, layout);
        Ok(())
    }

    /// Runs a part of the program on the batch. `parameters` are the buffers of the storage that the program was
    /// planned with. After an error of [`Part::Compute`] they are as they were, and a batch has to begin again.
    pub fn run(&mut self, part: Part, parameters: &mut Buffers<B>) -> Result<(), RunError> {
        self.run_part(part, ParameterAccess::Write(parameters), &mut Buffers::default())
    }

    /// Runs [`Part::Compute`] of a program that [changes no parameters](Self::changed_parameters). Any number of
    /// executors may read the same buffers at the same time.
    pub fn run_shared(&mut self, parameters: &Buffers<B>) -> Result<(), RunError> {
        self.run_part(Part::Compute, ParameterAccess::Read(parameters), &mut Buffers::default())
    }

    /// Runs [`Part::Compute`] of a program that changes parameters, while others read `parameters`. The run may
    /// change only the parameters in `apart`, each given by its number and a buffer on the backend; it uses these
    /// buffers instead of those in `parameters`.
    pub fn run_apart(
        &mut self,
        parameters: &Buffers<B>,
        apart: &mut [(u32, B::Buffer)],
    ) -> Result<(), RunError> {
        self.run_part(Part::Compute, ParameterAccess::Apart(parameters, apart), &mut Buffers::default())
    }

    /// Runs [`Part::Update`] of a program whose updaters have states. `states` are the buffers of the storage of
    /// states that the program was planned with.
    pub fn update(&mut self, parameters: &mut Buffers<B>, states: &mut Buffers<B>) -> Result<(), RunError> {
        self.run_part(Part::Update, ParameterAccess::Write(parameters), states)
    }

    fn run_part(
        &mut self,
        part: Part,
        parameters: ParameterAccess<'_, B>,
        states: &mut Buffers<B>,
    ) -> Result<(), RunError> {
        let from = self.recorder.as_ref().map(|recorder| recorder.now());
        let before = self.prepared.take();
        let mut version = None;
        let result = self.on_machine(parameters, states, |machine| {
            version = machine.version;
            let (compute, update) = machine.plan.code[0].split_at(machine.plan.update_from);
            match part {
                Part::Compute => {
                    let is_prepared = version.is_some() && version == before;
                    machine.compute(if is_prepared { &[] } else { &machine.plan.prepare }, compute)
                }
                Part::Update => machine.update(update),
            }
        });
        if result.is_ok() {
            self.prepared = version;
        }
        let kind = match part {
            Part::Compute => PartKind::Compute,
            Part::Update => PartKind::Update,
        };
        self.record(kind, from);
        self.begun = result.is_ok();
        // Collected and made sizes are known only now.
        if !self.plan.grown.is_empty() || !self.plan.made.is_empty() {
            self.note_shapes();
        }
        result
    }

    /// Undoes the changes of parameters that [`Part::Compute`] made, instead of running [`Part::Update`]: then the
    /// batch has had no effect.
    pub fn go_back(&mut self, parameters: &mut Buffers<B>) -> Result<(), RunError> {
        let states = &mut Buffers::default();
        let result = self.on_machine(ParameterAccess::Write(parameters), states, |machine| machine.go_back());
        self.begun = false;
        result
    }

    /// Calls `run` with a machine for the batch.
    fn on_machine(
        &mut self,
        parameters: ParameterAccess<'_, B>,
        states: &mut Buffers<B>,
        run: impl FnOnce(&mut Machine<'_, B>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let (Some(layout), true) = (self.layouts.last(), self.begun) else {
            return Err(RunError::NotBegun);
        };
        let version = match &parameters {
            ParameterAccess::Read(buffers) => Some(buffers.version()),
            ParameterAccess::Write(_) | ParameterAccess::Apart(..) => None,
        };
        let (own, beside) = match parameters {
            ParameterAccess::Read(Buffers { own, fallback, .. }) => {
                (Values::Read(own), Values::Read(fallback))
            }
            ParameterAccess::Write(buffers) => {
                buffers.touch();
                (Values::Write(&mut buffers.own), Values::Write(&mut buffers.fallback))
            }
            ParameterAccess::Apart(Buffers { own, fallback, .. }, apart) => {
                (Values::Apart(own, apart), Values::Read(fallback))
            }
        };
        let fallback = self.backend.fallback().zip(self.fallback.as_mut());
        let fallback = fallback.map(|(backend, Fallback { queue, buffers, .. })| {
            let states = &mut states.fallback;
            FallbackRun { backend, queue, memories: Memories { own: buffers, parameters: beside, states } }
        });
        run(&mut Machine {
            backend: &self.backend,
            plan: &self.plan,
            layout,
            state: &mut self.state,
            queue: &mut self.queue,
            memories: Memories { own: &mut self.buffers, parameters: own, states: &mut states.own },
            fallback,
            fault: None,
            version,
            seed: nth_seed(self.seed, self.step),
            step: self.step,
            recorder: self.recorder.as_deref_mut(),
        })
    }

    /// The numbers of the parameters that [`Part::Compute`] changes, such as running statistics. All of them are on
    /// the backend.
    pub fn changed_parameters(&self) -> impl Iterator<Item = u32> + '_ {
        self.plan.backups.iter().filter_map(|backup| {
            match self.plan.slots[self.plan.operands(&backup.save)[0].0].home {
                Home::Parameter(Side::Own, number) => Some(number),
                _ => None,
            }
        })
    }

    /// The numbers of the parameters on the backend that the program uses.
    pub fn used_parameters(&self) -> impl Iterator<Item = u32> + '_ {
        self.plan.slots.iter().filter_map(|slot| match slot.home {
            Home::Parameter(Side::Own, number) => Some(number),
            _ => None,
        })
    }

    /// Begins to measure what each launch takes, by this clock. Until [`end_profile`](Self::end_profile), the host waits
    /// for each launch before the next, so runs take longer; what they compute stays the same.
    pub fn begin_profile(&mut self, clock: Clock) -> Result<(), OutOfMemory> {
        self.recorder = Some(Box::new(Recorder::new(self.plan.work.len(), clock)?));
        Ok(())
    }

    /// Ends to measure. Returns what was measured; none if nothing was to be. The memory is that of the last batch.
    pub fn end_profile(&mut self) -> Option<PlanProfile> {
        let recorder = self.recorder.take()?;
        Some(recorder.finish(&self.plan, self.layouts.last(), &self.state.tapes))
    }

    /// Records a part that began at a time.
    fn record(&mut self, kind: PartKind, from: Option<Duration>) {
        if let (Some(recorder), Some(from)) = (&mut self.recorder, from) {
            recorder.passed(kind, from);
        }
    }

    /// The counters of products since [`clear_stats`](Executor::clear_stats), over all batches and parts.
    pub fn stats(&self) -> &RunStats {
        &self.state.stats
    }

    /// Sets the counters to zero.
    pub fn clear_stats(&mut self) {
        self.state.stats.clear();
    }

    /// The number of outputs.
    pub fn output_count(&self) -> usize {
        self.plan.outputs.len()
    }

    /// The element type of an output.
    pub fn output_dtype(&self, output: usize) -> DType {
        self.plan.outputs[output].dtype
    }

    /// The shape of an output for the current batch. If a loop or an operator decides the shape, it is that of the
    /// last run.
    pub fn output_shape(&self, output: usize) -> &[usize] {
        &self.shapes[output]
    }

    /// For an output whose rows are tokens, the number of offsets of each level of sequences in the current batch,
    /// the outermost first.
    pub fn output_offsets(&self, output: usize) -> impl Iterator<Item = usize> + '_ {
        let slots = self.plan.outputs[output].offsets.iter();
        slots.map(|slot| self.plan.slots[slot.0].shape[0].get(&self.state.sizes))
    }

    /// Copies the offsets of one level to the host. `to` has as many elements as
    /// [`output_offsets`](Self::output_offsets) says.
    pub fn fetch_offsets(&self, output: usize, level: usize, to: &mut [i64]) {
        if let Some(&slot) = self.plan.outputs[output].offsets.get(level) {
            self.download(slot, HostSliceMut::I64(to));
        }
    }

    /// Copies an output to the host. `to` has the output's element type, and as many elements as its shape says.
    pub fn fetch(&self, output: usize, to: HostSliceMut<'_>) {
        self.download(self.plan.outputs[output].slot, to);
    }

    /// Copies a slot that is kept after a run to the host.
    fn download(&self, slot: SlotId, to: HostSliceMut<'_>) {
        let Some(layout) = self.layouts.last() else { return };
        let (memory, offset) = match self.plan.slots[slot.0].home {
            Home::Lane(_, lane) => (TAPE, self.state.tapes[0].at(lane)),
            _ => (POOL, layout.offsets[slot.0]),
        };
        self.backend.download(&self.buffers[memory], offset, to);
    }
}

impl Input {
    /// The row of the batch that an element of the input belongs to; none if the input is one value for all rows.
    fn row_of(&self, element: usize, feed: &Feed<'_>) -> Option<usize> {
        let count = *feed.shape.first().filter(|_| self.has_rows)?;
        let token = element / (feed.values.len() / count);
        // The last sequence that begins at or before the token has it: sequences without tokens end where they begin.
        let sequence_of = |at, offsets: &Vec<i64>| offsets.partition_point(|&begin| begin as usize <= at) - 1;
        Some(feed.offsets.iter().rev().fold(token, sequence_of))
    }
}

/// The buffers of the parameters of a run, and which of them the run may write.
enum ParameterAccess<'a, B: Backend> {
    Read(&'a Buffers<B>),
    Write(&'a mut Buffers<B>),
    /// The run reads the buffers, but writes those of the list, which it uses in their place.
    Apart(&'a Buffers<B>, &'a mut [(u32, B::Buffer)]),
}

/// Checks the offsets of the last of these inputs, and binds its numbers of sequences.
fn bind_sequences<'a>(
    inputs: &[Input],
    feed: &dyn Fn(usize) -> Feed<'a>,
    bound: &mut [Option<usize>],
) -> Result<(), OffsetsError> {
    let Some((input, others)) = inputs.split_last() else { return Ok(()) };
    let Feed { shape, offsets, .. } = feed(others.len());
    match (input.sequences.len(), offsets.len()) {
        (0, 0) => return Ok(()),
        (0, _) => return Err(OffsetsError::Unexpected),
        (_, 0) => return Err(OffsetsError::Missing),
        (expected, found) if expected != found => return Err(OffsetsError::Levels { found, expected }),
        _ => {}
    }
    check_levels(offsets, shape.first().copied().unwrap_or(0))?;
    for (sequences, offsets) in input.sequences.iter().zip(offsets) {
        let (count, found) = (&mut bound[sequences.count.0 as usize], offsets.len() - 1);
        match *count {
            Some(expected) if expected != found => return Err(OffsetsError::Rows { found, expected }),
            _ => *count = Some(found),
        }
        for (at, other) in others.iter().enumerate() {
            let theirs = other.sequences.iter().zip(feed(at).offsets);
            let mut theirs = theirs.filter(|(other, _)| other.tokens == sequences.tokens);
            if theirs.any(|(_, theirs)| theirs != offsets) {
                return Err(OffsetsError::Differ { other: other.name.clone() });
            }
        }
    }
    Ok(())
}
