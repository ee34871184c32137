//! Asynchronous training: several steps are under way, each on one trainer, and each is applied when it is computed.
//!
//! What a trainer computes with misses at most as many earlier steps as the staleness says. Steps are numbered by
//! their attempts; servers apply each piece of an attempt once. The user's loop gets results in the order of its
//! requests. A checkpoint waits until nothing is under way, so that it contains whole steps only.

use super::*;
use crate::machine::{Outcome, Verdict};
use crate::tree::Node;
use std::collections::VecDeque;

/// A step that is under way.
#[derive(Clone, Debug)]
struct Flight<P> {
    request: Arc<Request<P>>,
    /// The version of the log that it does again.
    again: Option<u64>,
    /// The task and its trainer.
    given: Option<(u64, u32)>,
    deaths: u32,
    outcome: Option<Outcome<P>>,
}

/// What the user's loop has the results of and has to say its place for.
#[derive(Clone, Debug)]
struct Asked<P> {
    step: Step,
    request: Arc<Request<P>>,
    /// The servers went back since.
    lost: bool,
}

/// All steps that are wanted and not in the log, and those of the log that the servers lack.
#[derive(Clone, Debug)]
pub(super) struct Flights<P> {
    staleness: u64,
    queue: VecDeque<Arc<Request<P>>>,
    /// By attempt.
    flights: BTreeMap<u64, Flight<P>>,
    asked: Option<Asked<P>>,
    /// Versions of the log.
    missing: BTreeSet<u64>,
}

impl<P: Clone> Flights<P> {
    pub(super) fn new(staleness: u64) -> Self {
        Self {
            staleness,
            queue: VecDeque::new(),
            flights: BTreeMap::new(),
            asked: None,
            missing: BTreeSet::new(),
        }
    }

    pub(super) fn is_busy(&self, trainer: u32) -> bool {
        self.flights.values().any(|flight| flight.given.is_some_and(|(_, rank)| rank == trainer))
    }

    /// Whether the servers have what is in the log, and nothing else.
    fn is_quiet(&self) -> bool {
        self.flights.is_empty() && self.asked.is_none() && self.missing.is_empty()
    }

    /// Whether another request may come.
    fn has_place(&self) -> bool {
        let own = self.flights.values().filter(|flight| flight.again.is_none()).count();
        let wanted = self.queue.len() + own + usize::from(self.asked.is_some());
        wanted as u64 <= self.staleness
    }

    /// The servers go back to a version: all that is under way is lost.
    pub(super) fn go_back(&mut self) {
        for (_, flight) in std::mem::take(&mut self.flights).into_iter().rev() {
            if flight.again.is_none() {
                self.queue.push_front(flight.request);
            }
        }
        if let Some(asked) = &mut self.asked {
            asked.lost = true;
        }
    }

    /// The servers are at a version, and lack what is behind it.
    pub(super) fn went_back(&mut self, version: u64, end: u64) {
        self.missing = (version..end).collect();
    }

    /// The lowest attempt that is not finished.
    fn lowest(&self, next: u64) -> u64 {
        let open = self.flights.iter().find(|(_, flight)| flight.outcome.is_none());
        open.map_or(next, |(&attempt, _)| attempt)
    }
}

impl<P: Clone> Master<P> {
    pub(super) fn request_flight(&mut self, request: Arc<Request<P>>, effects: &mut Vec<Effect<P>>) {
        match &mut self.flights {
            Some(flights) if flights.has_place() => flights.queue.push_back(request),
            _ => effects.push(Effect::StepFailed(StepError::Invalid)),
        }
    }

    /// Does what can be done by now.
    pub(super) fn advance_flights(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        if self.flights.as_ref().is_some_and(Flights::is_quiet) {
            self.applied = self.log.end();
            self.save_if_due(now, effects);
            if !matches!(self.phase, Phase::Running) {
                return;
            }
            self.fetch_if_current(now, effects);
        }
        self.release(effects);
        self.start_flights();
        self.give_flights(now, effects);
    }

    /// Begins steps that are wanted, unless the servers' state is wanted first.
    fn start_flights(&mut self) {
        let held = self.fetch.is_some()
            || self.checkpoint.as_ref().is_some_and(|checkpoint| !checkpoint.is_fixed())
            || self.checkpoint_is_due(self.log.end());
        let Some(flights) = &mut self.flights else { return };
        loop {
            if self.attempts - flights.lowest(self.attempts) > flights.staleness && !planted(Bug::TooStale) {
                return;
            }
            let again = flights.missing.first().copied();
            let request = match again.and_then(|version| self.log.get(version)) {
                Some(step) => step.request.clone(),
                None if held => return,
                None => match flights.queue.pop_front() {
                    Some(request) => request,
                    None => return,
                },
            };
            if let Some(version) = again {
                flights.missing.remove(&version);
            }
            let flight = Flight { request, again, given: None, deaths: 0, outcome: None };
            flights.flights.insert(self.attempts, flight);
            self.attempts += 1;
        }
    }

    /// Gives each step to a trainer without one.
    fn give_flights(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        let Some(flights) = &mut self.flights else { return };
        if !flights.flights.values().any(Flight::waits) {
            return;
        }
        let busy: BTreeSet<u32> =
            flights.flights.values().filter_map(|flight| Some(flight.given?.1)).collect();
        let idle: Vec<u32> =
            self.members.ready_trainers().filter(|trainer| !busy.contains(trainer)).collect();
        let lowest = flights.lowest(self.attempts);
        let waiting = flights.flights.iter_mut().filter(|(_, flight)| flight.waits());
        let mut given = Vec::new();
        for ((&attempt, flight), trainer) in waiting.zip(idle) {
            flight.given = Some((self.tasks, trainer));
            let request = &flight.request;
            let leaves = u32::try_from(request.leaves.len()).unwrap_or(0);
            given.push((
                trainer,
                Task {
                    number: self.tasks,
                    step: Step { version: 0, attempt },
                    plan: request.plan,
                    header: request.header.clone(),
                    leaves,
                    run: Node::new(0, leaves),
                    rows: request.leaves.clone(),
                    servers: Arc::default(),
                    alone: Some(lowest),
                },
            ));
            self.tasks += 1;
        }
        if given.is_empty() {
            return;
        }
        let servers = self.servers();
        for (trainer, mut task) in given {
            let Some(worker) = self.members.get(Role::Trainer, trainer) else { continue };
            let to = To::Process(worker.process);
            task.servers = servers.clone();
            let message = self.message(Body::Task(Arc::new(task)));
            self.outbox.post(now, Key::Task { trainer }, to, message, effects);
        }
    }

    /// A trainer is done with its step: the servers have applied it, or it has failed.
    pub(super) fn report_flight(
        &mut self,
        task: u64,
        from: Sender,
        outcome: Option<Outcome<P>>,
        effects: &mut Vec<Effect<P>>,
    ) {
        let Some(flights) = &mut self.flights else { return };
        let mut open = flights.flights.iter_mut();
        let Some((&attempt, flight)) = open.find(|(_, flight)| flight.given == Some((task, from.rank)))
        else {
            return;
        };
        self.outbox.acknowledge(&Key::Task { trainer: from.rank });
        let Some(outcome) = outcome else { return };
        flight.given = None;
        match (flight.again, outcome) {
            (None, outcome) => flight.outcome = Some(outcome),
            (Some(version), Ok(results)) => {
                flights.flights.remove(&attempt);
                effects.push(Effect::Replayed { version, results });
            }
            (Some(_), Err(_)) => self.end(End::ReplayFailed, effects),
        }
    }

    /// A step whose trainer has died waits for another one.
    pub(super) fn take_flight_back(&mut self, trainer: u32, effects: &mut Vec<Effect<P>>) {
        let limit = self.settings.deaths;
        let Some(flights) = &mut self.flights else { return };
        for flight in flights.flights.values_mut() {
            if flight.given.is_none_or(|(_, rank)| rank != trainer) {
                continue;
            }
            flight.given = None;
            flight.deaths += 1;
            if flight.deaths >= limit {
                let leaves = Node::new(0, u32::try_from(flight.request.leaves.len()).unwrap_or(0));
                flight.outcome = Some(Err(StepError::Poison { deaths: flight.deaths, leaves }));
                if flight.again.is_some() {
                    return self.end(End::ReplayFailed, effects);
                }
            }
        }
    }

    /// Gives the user's loop the outcome of its first step that it does not have, when it is there.
    fn release(&mut self, effects: &mut Vec<Effect<P>>) {
        let Some(flights) = &mut self.flights else { return };
        while flights.asked.is_none() {
            let first = flights.flights.iter().find(|(_, flight)| flight.again.is_none());
            let Some(attempt) =
                first.filter(|(_, flight)| flight.outcome.is_some()).map(|(&attempt, _)| attempt)
            else {
                return;
            };
            let Some(flight) = flights.flights.remove(&attempt) else { return };
            match flight.outcome {
                Some(Ok(results)) => {
                    let step = Step { version: self.log.end(), attempt };
                    flights.asked = Some(Asked { step, request: flight.request, lost: false });
                    effects.push(Effect::Results { step, results });
                }
                Some(Err(error)) => effects.push(Effect::StepFailed(error)),
                None => return,
            }
        }
    }

    /// The user's loop has the results. It can no longer abandon the step, but it says where it is behind it.
    pub(super) fn verdict_on_flight(
        &mut self,
        step: Step,
        verdict: Verdict<P>,
        effects: &mut Vec<Effect<P>>,
    ) {
        let Some(flights) = &mut self.flights else { return };
        let Verdict::Commit { note } = verdict else { return };
        if flights.asked.as_ref().is_none_or(|asked| asked.step != step) {
            return;
        }
        let Some(asked) = flights.asked.take() else { return };
        let entry = self.log.append(asked.request, note);
        if asked.lost {
            flights.missing.insert(entry.version);
        }
        effects.push(Effect::Committed(entry));
    }
}

impl<P> Flight<P> {
    /// Whether it needs a trainer.
    fn waits(&self) -> bool {
        self.given.is_none() && self.outcome.is_none()
    }
}
