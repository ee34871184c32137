//! Profiles: what each launch of a plan takes, and what memory its values have.

mod clock;
mod memory;
mod peaks;

use std::time::Duration;

pub use self::clock::Clock;
pub use self::memory::{MemoryKind, MemoryProfile, Peak, VariableMemory};
pub use self::peaks::Peaks;
use super::code::{LaunchWork, Operators, Origin, Plan};
use super::layout::MemoryLayout;
use super::tape::Tape;
use super::work::Work;
use crate::memory::{OutOfMemory, TryGrow, try_vec};
use crate::program::{Located, Role};

/// What an [`Executor`](super::Executor) has measured.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanProfile {
    /// The launches of the plan by number, also those that did not run.
    pub launches: Vec<LaunchProfile>,
    /// The first runs of launches, in order: as many as are [kept](PlanProfile::MOST_EVENTS).
    pub events: Vec<LaunchEvent>,
    /// The first parts of runs, in order; as many.
    pub parts: Vec<PartEvent>,
    /// The time of all [`begin`](super::Executor::begin)s, in which batches are checked and copied to the device.
    pub begin: Duration,
    /// Whether the device has a clock of its own, which the times of launches are by.
    pub by_device: bool,
    /// The memory of values, for the last batch.
    pub memory: MemoryProfile,
}

impl PlanProfile {
    /// The most events that a profile keeps. Later ones count, but leave no event.
    pub const MOST_EVENTS: usize = 100_000;
}

/// All runs of one launch: of a group of operators, or of a move of the runtime.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaunchProfile {
    /// The names of the operators, or of the move.
    pub operators: Vec<String>,
    /// [`Role::Forward`], [`Role::Backward`] or [`Role::Optimize`]; none for moves. What computes the loss itself is
    /// [`Role::Forward`].
    pub role: Option<Role>,
    /// The place of the first operator in the user's source: the call of a layer, also for the gradients of the layer.
    pub place: Option<Located>,
    /// The first value that the launch computes or, if it changes values in place, the first of these.
    pub value: String,
    /// The number of runs.
    pub calls: u64,
    /// The time of all runs: what the device's own clock says, if it has one, and else from the call of the backend until
    /// the host has waited for the work.
    pub time: Duration,
    /// The bytes of the operands, over all runs, at the sizes that they had. Each operand counts once, and one that is
    /// changed in place twice. Where only some elements are touched, as of a table that is looked up, these count.
    pub bytes: u64,
    /// The floating-point operations over all runs: two for each multiplication of a product or a convolution, none
    /// where elements are moved, and one for each operator and element in all others, also where a function of the
    /// element takes many instructions.
    pub flops: u64,
}

/// One run of a launch. Times are those of the clock that the profile was begun with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchEvent {
    /// The number of the launch.
    pub launch: u32,
    /// When it began.
    pub begin: Duration,
    /// How long it took.
    pub time: Duration,
}

/// A part of a run, in which launches are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartEvent {
    /// Which part.
    pub kind: PartKind,
    /// When it began.
    pub begin: Duration,
    /// How long it took.
    pub time: Duration,
}

/// The parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// A batch is checked and copied to the device.
    Begin,
    /// Forward and backward.
    Compute,
    /// The updates of the parameters.
    Update,
}

/// The sums over the runs of a launch.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    calls: u64,
    time: Duration,
    bytes: u64,
    flops: u64,
}

/// Records what launches take. It allocates all its memory when it is made.
#[derive(Debug)]
pub(super) struct Recorder {
    clock: Clock,
    totals: Vec<Total>,
    events: Vec<LaunchEvent>,
    parts: Vec<PartEvent>,
    begin: Duration,
    by_device: bool,
}

impl Recorder {
    /// A recorder for so many launches.
    pub(super) fn new(launches: usize, clock: Clock) -> Result<Self, OutOfMemory> {
        let (mut events, mut parts) = (Vec::new(), Vec::new());
        events.try_grow(PlanProfile::MOST_EVENTS)?;
        parts.try_grow(PlanProfile::MOST_EVENTS)?;
        Ok(Recorder {
            clock,
            totals: try_vec(launches)?,
            events,
            parts,
            begin: Duration::ZERO,
            by_device: false,
        })
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Records that a launch, which began at a time, is over, and how long the device worked on it, if that is known.
    pub(super) fn launched(
        &mut self,
        launch: u32,
        begin: Duration,
        worked: Option<Duration>,
        work: &Work,
        sizes: &[usize],
    ) {
        let waited = self.now().saturating_sub(begin);
        self.by_device |= worked.is_some();
        // The clocks may differ a little in their rates, and what is in a step takes no longer than the step.
        let time = worked.map_or(waited, |worked| worked.min(waited));
        let total = &mut self.totals[launch as usize];
        total.calls += 1;
        total.time += time;
        total.bytes = total.bytes.saturating_add(work.bytes(sizes));
        total.flops = total.flops.saturating_add(work.operations(sizes));
        if self.events.len() < PlanProfile::MOST_EVENTS {
            self.events.push(LaunchEvent { launch, begin, time });
        }
    }

    /// Records that a part, which began at a time, is over.
    pub(super) fn passed(&mut self, kind: PartKind, begin: Duration) {
        let time = self.now().saturating_sub(begin);
        if kind == PartKind::Begin {
            self.begin += time;
        }
        if self.parts.len() < PlanProfile::MOST_EVENTS {
            self.parts.push(PartEvent { kind, begin, time });
        }
    }

    /// The profile of a plan, whose values are in these memories.
    pub(super) fn finish<K>(
        self,
        plan: &Plan<K>,
        layout: Option<&MemoryLayout>,
        tapes: &[Tape; 2],
    ) -> PlanProfile {
        let Recorder { totals, events, parts, begin, by_device, .. } = self;
        let launches = plan.origins.iter().zip(&plan.work).zip(totals);
        let launches = launches.map(|((origin, work), total)| of_launch(plan, origin, work, total)).collect();
        let memory = layout.map(|layout| MemoryProfile::new(plan, layout, tapes)).unwrap_or_default();
        PlanProfile { launches, events, parts, begin, by_device, memory }
    }
}

fn of_launch<K>(plan: &Plan<K>, origin: &Origin, work: &LaunchWork, total: Total) -> LaunchProfile {
    let (operators, role, place) = match origin {
        Origin::Operators(Operators { kinds, role, place, .. }) => {
            let role = if *role == Role::Loss { Role::Forward } else { *role };
            (kinds.clone(), Some(role), place.map(|place| plan.place(place)))
        }
        Origin::Move(kind) => (vec![kind.name().to_string()], None, None),
    };
    let value = work.value.map(|slot| plan.slots[slot.0].name.clone()).unwrap_or_default();
    let Total { calls, time, bytes, flops } = total;
    LaunchProfile { operators, role, place, value, calls, time, bytes, flops }
}
