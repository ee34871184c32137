//! Who computes which leaves of a step.

use crate::message::{Request, Step};
use crate::planted::{Bug, planted};
use crate::timing::{Micros, Timing};
use crate::tree::{self, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Leaves that one trainer computes.
#[derive(Clone, Debug)]
struct Run {
    leaves: Node,
    trainer: u32,
    since: Micros,
    deaths: u32,
    /// Another trainer computes them, too.
    doubled: bool,
}

/// Leaves that nobody computes.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    leaves: Node,
    /// How many trainers died while they computed these leaves.
    deaths: u32,
}

/// A run that was given to a trainer.
pub(super) struct Given {
    pub(super) number: u64,
    pub(super) trainer: u32,
    pub(super) leaves: Node,
}

/// A step that is being computed.
#[derive(Clone, Debug)]
pub(super) struct Assignment<P> {
    pub(super) step: Step,
    pub(super) request: Arc<Request<P>>,
    leaves: u32,
    /// By the number of the task.
    runs: BTreeMap<u64, Run>,
    /// The number of each trainer that has one.
    busy: BTreeMap<u32, u64>,
    /// Those that only one trainer computes, by their ages.
    single: BTreeSet<(Micros, u64)>,
    waiting: Vec<Waiting>,
    results: BTreeMap<Node, P>,
    /// Whether there are results of all leaves.
    closed: bool,
    /// How long runs took that are done, in ascending order.
    durations: Vec<Micros>,
    /// How long a run took in the step before; 0 if that is not known.
    usual: Micros,
    /// Whether runs or trainers have changed since leaves were given last.
    changed: bool,
    /// When a run is late that an idle trainer could compute, too.
    late: Option<Micros>,
}

impl<P: Clone> Assignment<P> {
    pub(super) fn new(step: Step, request: Arc<Request<P>>, usual: Micros) -> Self {
        let leaves = u32::try_from(request.leaves.len()).unwrap_or(u32::MAX);
        Self {
            step,
            request,
            leaves,
            runs: BTreeMap::new(),
            busy: BTreeMap::new(),
            single: BTreeSet::new(),
            waiting: vec![Waiting { leaves: Node::new(0, leaves), deaths: 0 }],
            results: BTreeMap::new(),
            closed: false,
            durations: Vec::new(),
            usual,
            changed: true,
            late: None,
        }
    }

    /// There are other trainers now.
    pub(super) fn trainers_changed(&mut self) {
        self.changed = true;
    }

    pub(super) fn leaves(&self) -> u32 {
        self.leaves
    }

    /// Whether it is a trainer's task to compute the run with this number.
    pub(super) fn is_of(&self, number: u64, trainer: u32) -> bool {
        self.runs.get(&number).is_some_and(|run| run.trainer == trainer)
    }

    pub(super) fn is_busy(&self, trainer: u32) -> bool {
        self.busy.contains_key(&trainer)
    }

    fn covered(&self, leaves: Node) -> bool {
        tree::covers(leaves, self.leaves, |node| self.results.contains_key(&node))
    }

    /// The results of all leaves, if they are there: nodes that together are the tree, in order.
    pub(super) fn results(&self) -> Option<Vec<(Node, P)>> {
        if planted(Bug::PartOfCover) && !self.results.is_empty() {
            return Some(self.results.iter().map(|(&node, result)| (node, result.clone())).collect());
        }
        let cover = tree::cover(self.leaves, self.results.iter().map(|(&node, result)| (node, result)))?;
        Some(cover.into_iter().map(|(node, result)| (node, result.clone())).collect())
    }

    /// All is computed: what other trainers are still about is not needed.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.runs.clear();
        self.busy.clear();
        self.single.clear();
        self.waiting.clear();
        self.late = None;
    }

    /// Whether all is computed.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// What a run takes: half of those that are done took less, or of those of the step before.
    pub(super) fn median(&self) -> Micros {
        self.durations.get(self.durations.len() / 2).copied().unwrap_or(self.usual)
    }

    fn late_after(&self, timing: &Timing) -> Micros {
        match self.median() {
            0 => timing.late,
            median => median.saturating_mul(timing.late_factor).max(timing.retry),
        }
    }

    /// The runs that are late, by their numbers.
    fn late(&self, now: Micros, late_after: Micros) -> Vec<u64> {
        let late = self.single.iter().take_while(|(since, _)| since.saturating_add(late_after) <= now);
        let mut late: Vec<u64> = late.map(|&(_, number)| number).collect();
        late.sort_unstable();
        late
    }

    /// Whether there may be something to give.
    pub(super) fn has_to_give(&self, now: Micros) -> bool {
        self.changed || self.late.is_some_and(|late| late <= now)
    }

    fn insert(&mut self, number: u64, run: Run) {
        self.busy.insert(run.trainer, number);
        if !run.doubled {
            self.single.insert((run.since, number));
        }
        self.runs.insert(number, run);
    }

    fn remove(&mut self, number: u64) -> Option<Run> {
        let run = self.runs.remove(&number)?;
        self.busy.remove(&run.trainer);
        self.single.remove(&(run.since, number));
        Some(run)
    }

    /// Gives leaves that nobody computes to idle ones of `trainers`, as equally as possible, one run to each; and
    /// then those that are late. `number` is the number of the next task.
    pub(super) fn give(
        &mut self,
        now: Micros,
        trainers: impl Iterator<Item = u32>,
        timing: &Timing,
        mut number: u64,
    ) -> Vec<Given> {
        self.changed = false;
        let waiting: Vec<Waiting> = std::mem::take(&mut self.waiting);
        let mut waiting: Vec<Waiting> =
            waiting.into_iter().filter(|part| !self.covered(part.leaves)).collect();
        let late_after = self.late_after(timing);
        let late = self.late(now, late_after);
        let idle = trainers.filter(|&trainer| !self.is_busy(trainer));
        // After most reports there is nothing to give. Then it matters whether anyone is idle, and not who.
        let enough = if waiting.is_empty() && late.is_empty() { 1 } else { usize::MAX };
        let idle: Vec<u32> = idle.take(enough).collect();
        let mut given = Vec::new();
        let mut idle = idle.as_slice();
        let mut give = |leaves: Node, trainer: u32, deaths: u32, to: &mut Self| {
            to.insert(number, Run { leaves, trainer, since: now, deaths, doubled: false });
            given.push(Given { number, trainer, leaves });
            number += 1;
        };
        while let Some(part) = waiting.first().copied()
            && !idle.is_empty()
        {
            let share = (idle.len() / waiting.len()).max(1);
            waiting.remove(0);
            let runs = (part.leaves.leaves() as usize).min(share);
            let (now_busy, rest) = idle.split_at(runs);
            idle = rest;
            for (i, &trainer) in (0..).zip(now_busy) {
                let bound = |i: u64| {
                    let offset = u64::from(part.leaves.leaves()) * i / runs as u64;
                    part.leaves.start + u32::try_from(offset).unwrap_or(0)
                };
                give(Node::new(bound(i), bound(i + 1)), trainer, part.deaths, self);
            }
        }
        self.waiting = waiting;
        for (late, &trainer) in late.iter().zip(idle) {
            let Some(run) = self.runs.get_mut(late) else { continue };
            run.doubled = true;
            self.single.remove(&(run.since, *late));
            let (leaves, deaths) = (run.leaves, run.deaths);
            give(leaves, trainer, deaths, self);
        }
        let oldest = self.single.first().map(|&(since, _)| since);
        self.late =
            if idle.len() > late.len() { oldest.map(|since| since.saturating_add(late_after)) } else { None };
        given
    }

    /// When leaves have to be given again.
    pub(super) fn deadline(&self) -> Option<Micros> {
        self.late
    }

    /// Takes the results of a run. Those over nodes that are not of the tree are left out. A report that lacks results
    /// is worth no more than the death of its trainer: as there, what `limit` trainers could not do is returned.
    pub(super) fn computed(
        &mut self,
        now: Micros,
        number: u64,
        results: Vec<(Node, P)>,
        limit: u32,
    ) -> Option<(u32, Node)> {
        let run = self.remove(number)?;
        self.changed = true;
        for (node, result) in results {
            if run.leaves.contains(node) && tree::is_node(node, self.leaves) {
                self.results.insert(node, result);
            }
        }
        if self.covered(run.leaves) {
            let duration = now.saturating_sub(run.since);
            let place = self.durations.partition_point(|&other| other <= duration);
            self.durations.insert(place, duration);
            return None;
        }
        let deaths = run.deaths + 1;
        self.waiting.push(Waiting { leaves: run.leaves, deaths });
        (deaths >= limit).then_some((deaths, run.leaves))
    }

    /// Takes back what a trainer computes. When it is the death of the `limit`th trainer over the same leaves, these
    /// are returned.
    pub(super) fn take_back(&mut self, trainer: u32, died: bool, limit: u32) -> Option<(u32, Node)> {
        self.changed = true;
        let number = *self.busy.get(&trainer)?;
        let run = self.remove(number)?;
        let deaths = run.deaths + u32::from(died);
        let doubled_by_another = self.runs.iter_mut().filter(|(_, other)| other.leaves == run.leaves);
        let mut another = false;
        for (&number, other) in doubled_by_another {
            (another, other.deaths, other.doubled) = (true, deaths.max(other.deaths), false);
            self.single.insert((other.since, number));
        }
        if self.covered(run.leaves) {
            return None;
        }
        if !another {
            self.waiting.push(Waiting { leaves: run.leaves, deaths });
        }
        (deaths >= limit).then_some((deaths, run.leaves))
    }
}
