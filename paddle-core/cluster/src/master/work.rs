//! The step that is being computed.

use super::*;

impl<P: Clone> Master<P> {
    /// Takes a request of the user's loop, one at a time.
    pub(super) fn request(&mut self, request: Request<P>, effects: &mut Vec<Effect<P>>) {
        let leaves = request.leaves.len();
        let sensible = leaves > 0
            && leaves <= crate::tree::MOST_LEAVES as usize
            && self.plans.contains_key(&request.plan)
            && self.wish.is_none();
        if sensible && self.flights.is_some() {
            self.request_flight(Arc::new(request), effects);
        } else if sensible {
            self.wish = Some(Wish { request: Arc::new(request), asked: None });
        } else {
            effects.push(Effect::StepFailed(StepError::Invalid));
        }
    }

    /// What the servers lack of the log comes first, then what the user's loop wants.
    pub(super) fn begin_work(&mut self) {
        if self.work.is_some() {
            return;
        }
        let request = match (self.log.get(self.applied), &self.wish) {
            (Some(step), _) => step.request.clone(),
            (None, Some(Wish { request, asked: None })) => request.clone(),
            _ => return,
        };
        let step = Step { version: self.applied, attempt: self.attempts };
        self.attempts += 1;
        self.work = Some(Assignment::new(step, request, self.usual));
    }

    /// Gives leaves to trainers.
    pub(super) fn give_work(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        let Some(work) = self.work.as_mut().filter(|work| work.has_to_give(now)) else { return };
        let trainers = self.members.ready_trainers();
        let given = work.give(now, trainers, &self.settings.timing, self.tasks);
        if given.is_empty() {
            return;
        }
        self.tasks += given.len() as u64;
        let (step, request, leaves) = (work.step, work.request.clone(), work.leaves());
        let servers = self.servers();
        for assignment::Given { number, trainer, leaves: run } in given {
            let Some(worker) = self.members.get(Role::Trainer, trainer) else { continue };
            let task = Task {
                number,
                step,
                plan: request.plan,
                header: request.header.clone(),
                leaves,
                run,
                rows: request.leaves[run.start as usize..run.end as usize].to_vec(),
                servers: servers.clone(),
                alone: None,
            };
            let to = To::Process(worker.process);
            let message = self.message(Body::Task(Arc::new(task)));
            self.outbox.post(now, Key::Task { trainer }, to, message, effects);
        }
    }

    /// What a trainer says of its task.
    pub(super) fn report(&mut self, now: Micros, from: Sender, body: Body<P>, effects: &mut Vec<Effect<P>>) {
        let task = match &body {
            Body::Taken(task) => *task,
            Body::Computed { task, .. } | Body::Failed { task, .. } => {
                self.send(from.process, Body::Recorded(*task), effects);
                *task
            }
            _ => return,
        };
        if self.flights.is_some() {
            let outcome = match body {
                Body::Computed { results, .. } => Some(Ok(results)),
                Body::Failed { error, .. } => Some(Err(StepError::User(error))),
                _ => None,
            };
            return self.report_flight(task, from, outcome, effects);
        }
        let Some(work) = self.work.as_mut().filter(|work| work.is_of(task, from.rank)) else { return };
        self.outbox.acknowledge(&Key::Task { trainer: from.rank });
        match body {
            Body::Computed { results, .. } => {
                if let Some((deaths, leaves)) = work.computed(now, task, results, self.settings.deaths) {
                    self.fail(StepError::Poison { deaths, leaves }, effects);
                } else if let Some(results) = work.results() {
                    self.computed(results, effects);
                }
            }
            Body::Failed { error, .. } => self.fail(StepError::User(error), effects),
            _ => {}
        }
    }

    /// The user's loop gets the results of its step and decides; a step of the log was decided before.
    fn computed(&mut self, results: Vec<(crate::tree::Node, P)>, effects: &mut Vec<Effect<P>>) {
        let Some(work) = &mut self.work else { return };
        work.close();
        self.usual = work.median();
        self.outbox.drop_all(Key::tasks());
        if work.step.version < self.log.end() {
            effects.push(Effect::Replayed { version: work.step.version, results });
        } else if let Some(wish) = &mut self.wish {
            wish.asked = Some(work.step);
            effects.push(Effect::Results { step: work.step, results });
        }
    }

    /// Ends the step with an error. Nothing of it is applied.
    fn fail(&mut self, error: StepError<P>, effects: &mut Vec<Effect<P>>) {
        let Some(work) = self.work.take() else { return };
        self.outbox.drop_all(Key::tasks());
        if work.step.version < self.log.end() {
            return self.end(End::ReplayFailed, effects);
        }
        self.wish = None;
        effects.push(Effect::StepFailed(error));
    }

    /// Somebody else has to compute what this trainer did.
    pub(super) fn take_work_back(&mut self, trainer: u32, died: bool, effects: &mut Vec<Effect<P>>) {
        self.outbox.acknowledge(&Key::Task { trainer });
        self.take_flight_back(trainer, effects);
        let Some(work) = &mut self.work else { return };
        if let Some((deaths, leaves)) = work.take_back(trainer, died, self.settings.deaths) {
            self.fail(StepError::Poison { deaths, leaves }, effects);
        }
    }
}
