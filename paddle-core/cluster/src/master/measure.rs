//! What the servers find out about the sums of a step: they tell the master, and get all of it with the commit.

use super::*;

/// What the servers have found out about the sums of a step so far.
#[derive(Clone, Debug)]
pub(super) struct Measures<P> {
    step: Step,
    /// By rank.
    found: BTreeMap<u32, P>,
}

impl<P: Clone> Master<P> {
    fn needs_measures(&self, work: &Assignment<P>) -> bool {
        self.plans.get(&work.request.plan).is_some_and(|plan| plan.measures)
    }

    /// Has the servers measure the sums of the step that is computed, while the user's loop decides on it.
    pub(super) fn measure_if_computed(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        let Some(work) = &self.work else { return };
        let step = work.step;
        if !self.needs_measures(work)
            || !work.is_closed()
            || self.measures.as_ref().is_some_and(|measures| measures.step == step)
            || self.outbox.has_any(Key::commits())
        {
            return;
        }
        let body = Body::Measure {
            step,
            plan: work.request.plan,
            header: work.request.header.clone(),
            leaves: work.leaves(),
        };
        self.drop_measures();
        self.measures = Some(Measures { step, found: BTreeMap::new() });
        self.post_to_servers(now, |server| Key::Measure { server }, &body, effects);
    }

    pub(super) fn measured(&mut self, rank: u32, step: Step, measure: P) {
        let Some(measures) = &mut self.measures else { return };
        if measures.step == step || planted(Bug::MeasuresOfBefore) {
            measures.found.insert(rank, measure);
            self.outbox.acknowledge(&Key::Measure { server: rank });
        }
    }

    /// What goes with the commit of the work; none while a server's measure is missing.
    pub(super) fn measures_of(&self, work: &Assignment<P>) -> Option<Vec<P>> {
        if !self.needs_measures(work) {
            return Some(Vec::new());
        }
        let measures = self.measures.as_ref().filter(|measures| measures.step == work.step)?;
        let is_whole = measures.found.len() == self.settings.servers as usize
            || planted(Bug::PartOfMeasures) && !measures.found.is_empty();
        is_whole.then(|| measures.found.values().cloned().collect())
    }

    pub(super) fn drop_measures(&mut self) {
        self.measures = None;
        self.outbox.drop_all(Key::measures());
    }
}
