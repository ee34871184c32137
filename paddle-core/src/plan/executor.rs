//! The executor: runs a program, planned for a backend, on batches of any size.

mod batch;
mod room;

use std::time::Duration;

pub use self::batch::Feed;
use super::arithmetic::Arithmetic;
use super::backend::{Backend, HostSliceMut, Memories, OWN_MEMORIES, Side, Values, no_memories};
use super::code::{Home, Kernel, Plan, SlotId};
use super::error::{PlanError, RunError};
use super::exchange::Exchange;
use super::layout::MemoryLayout;
use super::lower::lower;
use super::machine::{FallbackRun, Machine, State, nth_seed};
use super::profile::{Clock, PartKind, PlanProfile, Recorder};
use super::stats::RunStats;
use super::storage::{Buffers, Storage};
use crate::memory::OutOfMemory;
use crate::ops::Program;
use crate::program::DType;

/// A part of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Forward, as far as something is sent to other devices there.
    Forward,
    /// Forward and backward.
    Compute,
    /// The updates of the parameters.
    Update,
}

/// The indices of the arena, the tape, the pool and the prepared values among an executor's own memories.
const ARENA: usize = 0;
const TAPE: usize = 1;
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
    /// The way to other machines, if there are any.
    exchange: Option<Box<dyn Exchange>>,
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

// What plans and runs is marked `#[inline(never)]`: a crate that uses an executor then links the functions that another one has
// compiled for the same backend, and does not compile planner and machine again.
impl<B: Backend> Executor<B> {
    /// Plans `program` with the parameters of `storage`.
    pub fn new(backend: B, program: &Program, storage: &Storage) -> Result<Self, PlanError> {
        Self::with_states(backend, program, storage, &Storage::new(), Arithmetic::default())
    }

    /// Like [`new`](Self::new), for a program that updates parameters: `states` has the updaters' states.
    /// `arithmetic` says how a run computes.
    #[inline(never)]
    pub fn with_states(
        backend: B,
        program: &Program,
        storage: &Storage,
        states: &Storage,
        arithmetic: Arithmetic,
    ) -> Result<Self, PlanError> {
        let plan = lower(&backend, program, storage, states, arithmetic)?;
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
            exchange: None,
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

    /// Sets the way to the other machines with which the program exchanges values.
    pub fn set_exchange(&mut self, exchange: Box<dyn Exchange>) {
        self.exchange = Some(exchange);
    }

    /// The number of inputs.
    pub fn input_count(&self) -> usize {
        self.plan.inputs.len()
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

    #[inline(never)]
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
            version = Some(machine.version);
            let (compute, update) = machine.plan.code[0].split_at(machine.plan.update_from);
            match part {
                Part::Compute => {
                    let is_prepared = version == before;
                    machine.compute(if is_prepared { &[] } else { &machine.plan.prepare }, compute)
                }
                Part::Forward => {
                    let is_prepared = version == before;
                    let prepare = if is_prepared { &[] } else { &machine.plan.prepare[..] };
                    machine.compute(prepare, &compute[..machine.plan.forward_until])
                }
                Part::Update => machine.update(update),
            }
        });
        if result.is_ok() && !matches!(part, Part::Update) {
            self.prepared = version;
        }
        let kind = match part {
            Part::Forward | Part::Compute => PartKind::Compute,
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
        mut parameters: ParameterAccess<'_, B>,
        states: &mut Buffers<B>,
        run: impl FnOnce(&mut Machine<'_, B>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let (Some(layout), true) = (self.layouts.last(), self.begun) else {
            return Err(RunError::NotBegun);
        };
        let version = match &mut parameters {
            ParameterAccess::Read(buffers) | ParameterAccess::Apart(buffers, _) => buffers.version(),
            // A run that changes parameters has a version of its own, and the next one another.
            ParameterAccess::Write(buffers) => {
                buffers.touch();
                buffers.version()
            }
        };
        let (own, beside) = match parameters {
            ParameterAccess::Read(Buffers { own, fallback, .. }) => {
                (Values::Read(own), Values::Read(fallback))
            }
            ParameterAccess::Write(buffers) => {
                (Values::Write(&mut buffers.own), Values::Write(&mut buffers.fallback))
            }
            ParameterAccess::Apart(Buffers { own, fallback, .. }, apart) => {
                (Values::Apart(own, apart), Values::Read(fallback))
            }
        };
        let fallback = self.backend.fallback().zip(self.fallback.as_mut());
        let fallback = fallback.map(|(backend, Fallback { queue, buffers, .. })| {
            let states = &mut states.fallback;
            FallbackRun {
                backend,
                queue,
                memories: Memories::Of { own: buffers, parameters: beside, states },
            }
        });
        run(&mut Machine {
            backend: &self.backend,
            plan: &self.plan,
            layout,
            state: &mut self.state,
            queue: &mut self.queue,
            memories: Memories::Of { own: &mut self.buffers, parameters: own, states: &mut states.own },
            fallback,
            fault: None,
            version,
            seed: nth_seed(self.seed, self.step),
            step: self.step,
            exchange: self.exchange.as_mut().map(|exchange| &mut **exchange as &mut dyn Exchange),
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
        self.backend.measure(&mut self.queue, true);
        Ok(())
    }

    /// Ends to measure. Returns what was measured; none if nothing was to be. The memory is that of the last batch.
    pub fn end_profile(&mut self) -> Option<PlanProfile> {
        let recorder = self.recorder.take()?;
        self.backend.measure(&mut self.queue, false);
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

/// The buffers of the parameters of a run, and which of them the run may write.
enum ParameterAccess<'a, B: Backend> {
    Read(&'a Buffers<B>),
    Write(&'a mut Buffers<B>),
    /// The run reads the buffers, but writes those of the list, which it uses in their place.
    Apart(&'a Buffers<B>, &'a mut [(u32, B::Buffer)]),
}
