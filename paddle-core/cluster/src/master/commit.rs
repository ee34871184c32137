//! From the results of a step to its application.

use super::*;
use crate::machine::Verdict;

impl<P: Clone> Master<P> {
    /// The user's loop has decided. A commit is in the log from here on, and the step is done for the loop: all
    /// servers hold its sums, and if one of them is lost the step is computed again from the log.
    pub(super) fn verdict(&mut self, step: Step, verdict: Verdict<P>, effects: &mut Vec<Effect<P>>) {
        if self.flights.is_some() {
            return self.verdict_on_flight(step, verdict, effects);
        }
        if self.wish.as_ref().is_none_or(|wish| wish.asked != Some(step)) {
            return;
        }
        let Some(wish) = self.wish.take() else { return };
        match verdict {
            Verdict::Commit { note } => {
                let entry = self.log.append(wish.request, note);
                effects.push(Effect::Committed(entry));
            }
            Verdict::Abandon if self.work.as_ref().is_some_and(|work| work.step == step) => {
                self.work = None;
                self.drop_measures();
            }
            // The servers went back since. The step was not begun again, as its results were known.
            Verdict::Abandon => {}
        }
    }

    /// Has the servers apply the step that is computed, if it is in the log. Values that are being fetched and a
    /// state that is being saved are of the version before: they are waited for.
    pub(super) fn commit_if_computed(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        let Some(work) = &self.work else { return };
        let step = work.step;
        let fixed =
            self.checkpoint.as_ref().is_none_or(Checkpoint::is_fixed) || planted(Bug::SaveOfLaterStep);
        if step.version >= self.log.end()
            || !work.is_closed()
            || !fixed
            || matches!(self.fetch, Some(Fetch { pull: Some(_), .. }))
            || self.outbox.has_any(Key::commits())
        {
            return;
        }
        let Some(measures) = self.measures_of(work) else { return };
        let body = Body::Commit {
            step,
            plan: work.request.plan,
            header: work.request.header.clone(),
            leaves: work.leaves(),
            measures,
        };
        self.work = None;
        self.drop_measures();
        self.applied = step.version + 1;
        self.post_to_servers(now, |server| Key::Commit { server }, &body, effects);
    }
}
