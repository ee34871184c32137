//! What a server finds out about the sums of a step for all servers, before the step is applied.
//!
//! It follows from the sums alone and changes nothing, so it does not matter how often it is asked for.

use super::*;

impl<P: Clone> ParameterServer<P> {
    /// Measures the sums of the current step. The master asks when all of them are here.
    pub(super) fn measure(
        &mut self,
        step: Step,
        plan: u32,
        header: P,
        leaves: u32,
        effects: &mut Vec<Effect<P>>,
    ) {
        let held = self.sums.as_ref().map(|sums| sums.step);
        let measured = self.measured.as_ref().map(|&(step, _)| step);
        let newest = held.max(measured).map(|newest| newest.attempt);
        if step.version != self.version || self.applying.is_some() || newest > Some(step.attempt) {
            // It has come late, or it will come again.
            return;
        }
        match &self.measured {
            Some((of, Some(measure))) if *of == step => {
                let measured = Body::Measured { step, measure: measure.clone() };
                return self.member.send(To::Master, measured, effects);
            }
            // It is being measured.
            Some((of, None)) if *of == step => return,
            _ => {}
        }
        let Some(updates) = self.updates(step, plan, leaves) else {
            // As with a commit: it is not the state that the master takes it for.
            return self.member.send(To::Master, Body::Refused(Refusal::Unknown), effects);
        };
        self.measured = Some((step, None));
        effects.push(Effect::Measure { step, plan, header, leaves, updates });
    }

    pub(super) fn measured(&mut self, now: Micros, step: Step, measure: P, effects: &mut Vec<Effect<P>>) {
        let Some((of, found @ None)) = &mut self.measured else { return };
        if *of != step {
            return;
        }
        *found = Some(measure.clone());
        if self.member.serves(now) {
            self.member.send(To::Master, Body::Measured { step, measure }, effects);
        }
    }

    /// Whether a step of a plan was measured, or need not be.
    pub(super) fn has_measured(&self, step: Step, plan: u32) -> bool {
        self.plans.get(&plan).is_none_or(|plan| !plan.measures)
            || matches!(self.measured, Some((of, Some(_))) if of == step)
    }
}
