//! Sums of steps that are applied by themselves, each once, when all of its sums are there.

use super::sums::Sums;
use crate::machine::Update;
use crate::message::*;
use crate::planted::{Bug, planted};
use std::collections::BTreeMap;

/// So many steps may be under way at once. It bounds what a peer can make a server remember.
pub const MOST_STEPS: u64 = 4096;

/// What has come of steps that are under way.
#[derive(Clone, Debug)]
pub(super) struct UnderWay<P> {
    /// Attempts and tasks are those of this epoch: another master counts them anew.
    epoch: Epoch,
    /// No step before this attempt is under way.
    low: u64,
    /// By attempt.
    steps: BTreeMap<u64, State<P>>,
}

#[derive(Clone, Debug)]
enum State<P> {
    /// By the rank of the trainer, with the number of its task. A step may be given to several trainers, one after the death of the other: sums
    /// of one are none of the other's.
    Coming(BTreeMap<u32, (u64, Sums<P>)>),
    Applied,
}

impl<P> Default for UnderWay<P> {
    fn default() -> Self {
        Self { epoch: Epoch::default(), low: 0, steps: BTreeMap::new() }
    }
}

impl<P: Clone> UnderWay<P> {
    /// Takes sums of a trainer's task. Returns the updates of the step, if these were the last sums that it lacked; none if it is applied
    /// already. `low` is the lowest attempt that is under way.
    pub(super) fn take(
        &mut self,
        (epoch, step): (Epoch, Step),
        low: u64,
        (plan, server, leaves): (&Plan<P>, u32, u32),
        (trainer, task): (u32, u64),
        parts: &[Part<P>],
    ) -> Result<Option<Vec<Update<P>>>, Refusal> {
        if step.attempt < low || step.attempt - low > MOST_STEPS {
            return Err(Refusal::Invalid);
        }
        if epoch != self.epoch {
            *self = Self { epoch, ..Self::default() };
        }
        if low > self.low {
            self.low = low;
            self.steps = self.steps.split_off(&low);
        }
        if step.attempt < self.low {
            // The step is finished.
            return Ok(None);
        }
        let state = self.steps.entry(step.attempt).or_insert_with(|| State::Coming(BTreeMap::new()));
        let State::Coming(coming) = state else { return Ok(None) };
        if coming.get(&trainer).is_some_and(|(newest, _)| *newest > task) {
            // Of a task that the trainer has given up for another one.
            return Ok(None);
        }
        let held = coming.remove(&trainer).filter(|(of, _)| *of == task).map(|(_, sums)| sums);
        let is_known = held.is_some();
        let mut sums = held.or_else(|| Sums::new(step, plan, server, leaves)).ok_or(Refusal::Invalid)?;
        let fits = sums.is_of(plan.id, leaves) && sums.hold(parts);
        let updates = sums.updates().filter(|_| fits);
        if fits || is_known {
            coming.insert(trainer, (task, sums));
        }
        if !fits {
            return Err(Refusal::Invalid);
        }
        if updates.is_some() && !planted(Bug::SeenTwice) {
            *state = State::Applied;
        }
        Ok(updates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Node;

    fn plan() -> Plan<u64> {
        let pieces = [(0, 0), (1, 1), (2, 0)].map(|(id, server)| Piece { id, server }).into();
        Plan { id: 7, pieces, measures: false, program: 0 }
    }

    fn part(piece: u32, sum: u64) -> Part<u64> {
        Part { piece, node: Node::new(0, 3), sum }
    }

    fn step(election: u32, attempt: u64) -> (Epoch, Step) {
        (Epoch { election, round: 0 }, Step { version: 0, attempt })
    }

    #[test]
    fn a_step_is_applied_once_when_all_its_sums_are_there() {
        let (plan, mut steps) = (plan(), UnderWay::default());
        let mut take = |attempt, low, trainer, parts: &[Part<u64>]| {
            steps.take(step(1, attempt), low, (&plan, 0, 3), trainer, parts)
        };
        assert_eq!(take(4, 4, (0, 1), &[part(0, 10)]), Ok(None));
        // Another trainer is given the step. The first one's sums are none of it.
        assert_eq!(take(4, 4, (1, 2), &[part(2, 22)]), Ok(None));
        let both = take(4, 4, (1, 2), &[part(0, 20)]).unwrap().unwrap();
        let sums: Vec<_> = both.iter().map(|update| (update.piece, update.cover[0].1)).collect();
        assert_eq!(sums, [(0, 20), (2, 22)]);
        assert_eq!(take(4, 4, (0, 1), &[part(2, 12)]), Ok(None));
        assert_eq!(take(4, 4, (1, 2), &[part(0, 20), part(2, 22)]), Ok(None));
        // Steps before the lowest one are finished.
        assert_eq!(take(6, 5, (0, 3), &[part(0, 1)]), Ok(None));
        assert_eq!(take(4, 4, (2, 9), &[part(0, 1), part(2, 1)]), Ok(None));
    }

    /// Nothing of the master before was applied, so this server did not go back.
    #[test]
    fn another_master_counts_attempts_and_tasks_anew() {
        let (plan, mut steps) = (plan(), UnderWay::default());
        let mut take = |election, attempt, task, parts: &[Part<u64>]| {
            let updates = steps.take(step(election, attempt), 1, (&plan, 0, 3), (0, task), parts).unwrap();
            updates.map(|updates| updates.len())
        };
        assert_eq!(take(1, 3, 5, &[part(0, 1)]), None);
        assert_eq!(take(2, 3, 1, &[part(2, 1)]), None);
        assert_eq!(take(2, 3, 1, &[part(0, 1)]), Some(2));
    }

    #[test]
    fn nonsense_is_refused_and_holds_nothing() {
        let (plan, mut steps) = (plan(), UnderWay::default());
        let mut take = |attempt, low, leaves, parts: &[Part<u64>]| {
            steps.take(step(1, attempt), low, (&plan, 0, leaves), (0, 1), parts)
        };
        let good = [part(0, 1)];
        assert_eq!(take(4, 4, 0, &good), Err(Refusal::Invalid));
        assert_eq!(take(3, 4, 3, &good), Err(Refusal::Invalid));
        assert_eq!(take(4 + MOST_STEPS + 1, 4, 3, &good), Err(Refusal::Invalid));
        // The piece of another server, and a node that the tree does not have.
        assert_eq!(take(4, 4, 3, &[part(0, 1), part(1, 1)]), Err(Refusal::Invalid));
        assert_eq!(take(4, 4, 2, &good), Err(Refusal::Invalid));
        assert_eq!(take(4, 4, 3, &good), Ok(None));
        assert_eq!(take(4, 4, 3, &[part(2, 5)]).map(|updates| updates.map(|all| all.len())), Ok(Some(2)));
    }
}
