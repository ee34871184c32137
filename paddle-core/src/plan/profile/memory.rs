//! The memory of a plan's values, and the launch at which most of the arena is in use.

use std::cmp::Reverse;

use super::super::backend::Side;
use super::super::code::{Home, Plan, Slot};
use super::super::layout::MemoryLayout;
use super::super::tape::Tape;

/// The memory of the values of a plan, as it is laid out: with room for batches somewhat larger than the one that was
/// run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryProfile {
    /// The values that have memory, in the order of the plan.
    pub variables: Vec<VariableMemory>,
    /// The bytes of the arena. They are at least those of the [peak](Self::peak), as there may be gaps.
    pub arena: usize,
    /// When most bytes of the arena are in use; none if the plan launches nothing.
    pub peak: Option<Peak>,
}

/// The memory of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VariableMemory {
    /// The name of the value.
    pub name: String,
    /// The memory that it is in.
    pub kind: MemoryKind,
    /// Its bytes; on the tape, those of all iterations.
    pub bytes: usize,
    /// The number of the first launch that needs the value.
    pub first: u32,
    /// The number of the last launch that needs the value.
    pub last: u32,
    /// The first and the last instruction that need it.
    life: (usize, usize),
}

/// The memories that values are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryKind {
    /// Memory that values share, if no launch needs both.
    Arena,
    /// What loops keep of their iterations, and what grows as they run.
    Tape,
    /// Outputs and gradients, which are kept when the run is over.
    Pool,
    /// Values that follow from the parameters alone, and are kept until these change.
    Prepared,
    /// Parameters.
    Parameter,
    /// States of the updater.
    State,
    /// The memory of the fallback, for operators that the backend lacks.
    Fallback,
}

impl MemoryKind {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            MemoryKind::Arena => "arena",
            MemoryKind::Tape => "tape",
            MemoryKind::Pool => "outputs and gradients",
            MemoryKind::Prepared => "prepared",
            MemoryKind::Parameter => "parameters",
            MemoryKind::State => "states",
            MemoryKind::Fallback => "fallback",
        }
    }
}

/// When most bytes of the arena are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peak {
    /// The number of the launch that runs then; the first, if there are several.
    pub launch: u32,
    /// The bytes of the values in the arena that this launch, or a later one, needs.
    pub bytes: usize,
    /// The instruction of the launch.
    at: usize,
}

impl MemoryProfile {
    pub(super) fn new<K>(plan: &Plan<K>, layout: &MemoryLayout, tapes: &[Tape; 2]) -> Self {
        // The launches in the order of their instructions: copies that failed runs go back to are numbered last.
        let mut launches: Vec<(usize, u32)> =
            plan.work.iter().zip(0..).map(|(work, number)| (work.at, number)).collect();
        launches.sort_unstable();
        let variable = |(at, slot): (usize, &Slot)| {
            let (kind, bytes) = match slot.home {
                // It is inside of another slot.
                Home::View { .. } | Home::Iteration { .. } => return None,
                Home::Arena => (MemoryKind::Arena, layout.room[at]),
                Home::Pool => (MemoryKind::Pool, layout.room[at]),
                Home::Prepared => (MemoryKind::Prepared, layout.room[at]),
                Home::Lane(Side::Own, lane) => (MemoryKind::Tape, tapes[0].room(lane)),
                Home::Lane(Side::Fallback, lane) => (MemoryKind::Fallback, tapes[1].room(lane)),
                Home::Staging => (MemoryKind::Fallback, layout.room[at]),
                Home::Parameter(..) => (MemoryKind::Parameter, layout.room[at]),
                Home::State(..) => (MemoryKind::State, layout.room[at]),
            };
            let (birth, death) = slot.life;
            let first = launches.partition_point(|&(at, _)| at < birth);
            let last = launches.partition_point(|&(at, _)| at <= death);
            let [first, last] = [first, last.saturating_sub(1).max(first)]
                .map(|place| launches.get(place).or(launches.last()).map_or(0, |launch| launch.1));
            let name = slot.name.clone();
            (bytes > 0).then_some(VariableMemory { name, kind, bytes, first, last, life: slot.life })
        };
        let variables: Vec<_> = plan.slots.iter().enumerate().filter_map(variable).collect();
        let mut profile = MemoryProfile { variables, arena: layout.arena, peak: None };
        for &(at, launch) in &launches {
            if profile.peak.is_none_or(|peak| peak.at != at) {
                let bytes = profile.in_use(at).map(|variable| variable.bytes).sum();
                if profile.peak.is_none_or(|peak| peak.bytes < bytes) {
                    profile.peak = Some(Peak { launch, bytes, at });
                }
            }
        }
        profile
    }

    /// The variables in the arena that are in use at the peak, the largest first.
    pub fn at_peak(&self) -> Vec<&VariableMemory> {
        let mut variables: Vec<_> = self.peak.iter().flat_map(|peak| self.in_use(peak.at)).collect();
        variables.sort_by_key(|variable| Reverse(variable.bytes));
        variables
    }

    /// The bytes of all values in a memory. Values in the arena share its bytes, so these may be more than it has.
    pub fn bytes(&self, kind: MemoryKind) -> usize {
        let variables = self.variables.iter().filter(|variable| variable.kind == kind);
        variables.map(|variable| variable.bytes).sum()
    }

    fn in_use(&self, at: usize) -> impl Iterator<Item = &VariableMemory> {
        let variables = self.variables.iter().filter(|variable| variable.kind == MemoryKind::Arena);
        variables.filter(move |variable| (variable.life.0..=variable.life.1).contains(&at))
    }
}
