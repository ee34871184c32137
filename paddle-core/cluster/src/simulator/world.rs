//! Time, processes and the network between them.

use super::checks::{Checks, Received, Violation};
use super::model::Reference;
use super::mutants::Mutant;
use super::queue::Queue;
use super::random::Random;
use super::scenario::{Fault, Scenario};
use super::store::{State, Store};
use super::user::User;
use crate::machine::{Effect, Event};
use crate::master::{Master, Mode};
use crate::member::Identity;
use crate::message::*;
use crate::retry::mix;
use crate::server::ParameterServer;
use crate::timing::Micros;
use crate::trainer::Trainer;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Something that is going to happen.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// To a machine, of its own process or a message.
    Event {
        to: usize,
        event: Event<u64>,
    },
    Tick {
        to: usize,
    },
    /// A server's state has reached the storage.
    Written {
        to: usize,
        manifest: ManifestId,
        state: State,
    },
    /// The rest of an update, if updates are carried out in two parts.
    Rest {
        to: usize,
        states: State,
    },
    Thaw {
        to: usize,
    },
    Start {
        role: Role,
        rank: u32,
    },
    Fault(Fault),
}

/// From whom and to whom a message goes.
type Ends = ((Role, u32), (Role, u32));

pub(super) enum Machine {
    Master(Box<Master<u64>>),
    Server(Box<ParameterServer<u64>>),
    Trainer(Box<Trainer<u64>>),
}

/// A task that waits for values.
pub(super) struct Computes {
    pub(super) number: u64,
    pub(super) task: Arc<Task<u64>>,
    /// Whether what is unchanged does not come.
    pub(super) delta: bool,
    /// What has come of each server, and whether that is all.
    pub(super) values: Vec<(u64, bool)>,
    /// How many servers' values are not all there.
    pub(super) missing: usize,
}

/// A process with its clock. Nearly every event is one of another process, so what most of them need is small and lies together.
pub(super) struct Host {
    pub(super) role: Role,
    pub(super) rank: u32,
    pub(super) alive: bool,
    frozen: bool,
    slow_until: Micros,
    offset: Micros,
    /// In a thousand.
    rate: u64,
    tick_at: Option<Micros>,
    pub(super) machine: Machine,
    /// Of a trainer.
    pub(super) computes: Option<Box<Computes>>,
    pub(super) memory: Box<Memory>,
}

/// What a process holds besides its machine.
#[derive(Default)]
pub(super) struct Memory {
    stalled: Vec<What>,
    /// Of a server.
    pub(super) state: State,
    pub(super) version: u64,
    /// Of a trainer: the values of each plan.
    pub(super) cache: BTreeMap<u32, Vec<u64>>,
    pub(super) straggles_until: Micros,
    /// Of the master.
    pub(super) user: User,
    beaten: bool,
    pushes: BTreeSet<(u64, u32)>,
}

impl Host {
    fn local(&self, now: Micros) -> Micros {
        self.offset + now * self.rate / 1000
    }

    fn global(&self, local: Micros) -> Micros {
        (local.saturating_sub(self.offset).saturating_mul(1000)).div_ceil(self.rate)
    }

    fn deadline(&self) -> Option<Micros> {
        match &self.machine {
            Machine::Master(machine) => machine.deadline(),
            Machine::Server(machine) => machine.deadline(),
            Machine::Trainer(machine) => machine.deadline(),
        }
    }

    pub(super) fn step(&mut self, now: Micros, event: Event<u64>, effects: &mut Vec<Effect<u64>>) {
        let now = self.local(now);
        match &mut self.machine {
            Machine::Master(machine) => machine.step(now, event, effects),
            Machine::Server(machine) => machine.step(now, event, effects),
            Machine::Trainer(machine) => machine.step(now, event, effects),
        }
    }
}

/// A cluster at work.
pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) reference: Reference,
    pub(super) mutant: Option<Mutant>,
    pub(super) random: Random,
    pub(super) now: Micros,
    queue: Queue<What>,
    /// Memory for what a machine wants.
    effects: Vec<Effect<u64>>,
    pub(super) hosts: Vec<Host>,
    /// Which process has a rank.
    pub(super) current: BTreeMap<(Role, u32), usize>,
    pub(super) store: Store,
    pub(super) checks: Checks,
    /// From where to where no message gets, and until when.
    cuts: Vec<(Ends, Micros)>,
    pub(super) storage_fails_until: Micros,
    pub(super) trace: u64,
    pub(super) events: u64,
    pub(super) done: bool,
    pub(super) committed_at: Micros,
    /// Between two commits.
    pub(super) longest: Micros,
    pub(super) goings_back: u64,
}

impl World {
    pub(super) fn new(scenario: Scenario, mutant: Option<Mutant>) -> Self {
        let mut world = Self {
            reference: scenario.training.reference(),
            random: Random::new(scenario.seed),
            mutant,
            now: 0,
            queue: Queue::new(),
            effects: Vec::new(),
            hosts: Vec::new(),
            current: BTreeMap::new(),
            store: Store::default(),
            checks: Checks::new(
                scenario.settings.timing.lease,
                match scenario.settings.mode {
                    Mode::Synchronous => None,
                    Mode::Asynchronous { staleness } => Some(staleness),
                },
            ),
            cuts: Vec::new(),
            storage_fails_until: 0,
            trace: 0,
            events: 0,
            done: false,
            committed_at: 0,
            longest: 0,
            goings_back: 0,
            scenario,
        };
        world.place();
        world.schedule(0, What::Start { role: Role::Master, rank: 0 });
        for rank in 0..world.scenario.settings.servers {
            let at = world.random.below(5_000);
            world.schedule(at, What::Start { role: Role::Server, rank });
        }
        for rank in 0..world.scenario.settings.trainers {
            let at = world.random.below(5_000);
            world.schedule(at, What::Start { role: Role::Trainer, rank });
        }
        for (at, fault) in world.scenario.faults.clone() {
            world.schedule(at, What::Fault(fault));
        }
        world
    }

    pub(super) fn schedule(&mut self, delay: Micros, what: What) {
        self.queue.schedule(delay, what);
    }

    /// What happens next, at the time that it is then.
    fn next_event(&mut self) -> Option<What> {
        let next = self.queue.next()?;
        self.now = self.queue.now();
        Some(next)
    }

    /// The epoch that a process has answered in last.
    pub(super) fn epoch_of(&mut self, at: usize) -> Epoch {
        self.checks.epoch(at as u64)
    }

    /// Runs until the job is over, or until something does not hold.
    pub(super) fn run(&mut self) -> Result<(), Violation> {
        while let Some(what) = self.next_event() {
            self.events += 1;
            if self.now > self.scenario.limit || self.events > 20_000_000 {
                let position = self.store.log.len();
                self.checks.fail(self.now, format!("the job is not over; {position} steps are committed"));
            }
            if let Some(violation) = self.checks.violation.take() {
                return Err(violation);
            }
            self.happen(what);
            if self.done && self.checks.violation.is_none() {
                return Ok(());
            }
        }
        Err(Violation { at: self.now, what: "nothing is left to happen".into() })
    }

    /// Runs for a while.
    #[cfg(test)]
    pub(super) fn run_until(&mut self, time: Micros) {
        while self.queue.next_time().is_some_and(|next| next <= time)
            && let Some(what) = self.next_event()
        {
            self.happen(what);
        }
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Start { role, rank } => return self.start(role, rank),
            What::Fault(fault) => return self.fault(fault),
            What::Thaw { to } => {
                self.hosts[to].frozen = false;
                for what in std::mem::take(&mut self.hosts[to].memory.stalled) {
                    self.schedule(0, what);
                }
                return;
            }
            _ => {}
        }
        let (What::Event { to, .. } | What::Tick { to } | What::Written { to, .. } | What::Rest { to, .. }) =
            what
        else {
            return;
        };
        let host = &mut self.hosts[to];
        if !host.alive {
            return;
        }
        if host.frozen {
            return host.memory.stalled.push(what);
        }
        match what {
            What::Event { event, .. } => self.take(to, event),
            What::Tick { .. } => {
                // One that was put off by a standstill is due, too.
                if host.tick_at.is_none_or(|at| at > self.now) {
                    return;
                }
                host.tick_at = None;
                let local = host.local(self.now);
                if host.deadline().is_some_and(|deadline| deadline <= local) {
                    self.feed(to, Event::Tick);
                } else {
                    self.schedule_tick(to);
                }
            }
            What::Written { manifest, state, .. } => self.written(to, manifest, state),
            What::Rest { states, .. } => host.memory.state.extend(states),
            _ => {}
        }
    }

    fn schedule_tick(&mut self, to: usize) {
        let host = &self.hosts[to];
        let Some(deadline) = host.deadline() else { return };
        let at = host.global(deadline).max(self.now + 1);
        if host.tick_at.is_none_or(|tick| at < tick) {
            self.hosts[to].tick_at = Some(at);
            self.schedule(at - self.now, What::Tick { to });
        }
    }

    fn take(&mut self, to: usize, mut event: Event<u64>) {
        if self.mutant == Some(Mutant::AddedTwice)
            && let Event::Received(Message { body: Body::Push { task, number, parts, .. }, .. }) = &mut event
            && !self.hosts[to].memory.pushes.insert((*task, *number))
        {
            *parts = parts
                .iter()
                .map(|part| Part { sum: super::model::add(part.sum, part.sum), ..*part })
                .collect();
        }
        self.feed(to, event);
    }

    /// Gives a machine an event and carries out what it wants.
    pub(super) fn feed(&mut self, to: usize, event: Event<u64>) {
        let received = match &event {
            Event::Received(message) => Some(Received::of(message)),
            _ => None,
        };
        let host = &mut self.hosts[to];
        let role = host.role;
        let mut effects = std::mem::take(&mut self.effects);
        host.step(self.now, event, &mut effects);
        let process = to as u64;
        self.trace = mix(self.trace ^ self.now ^ process << 48 ^ (effects.len() as u64) << 32);
        self.checks.reaction(self.now, (process, role), received, &effects);
        for effect in effects.drain(..) {
            self.execute(to, effect);
        }
        self.effects = effects;
        self.schedule_tick(to);
    }

    fn start(&mut self, role: Role, rank: u32) {
        let process = self.hosts.len() as u64;
        let identity = Identity { rank, process, address: process };
        let crate::master::Settings { timing, trainers, .. } = self.scenario.settings;
        let machine = match role {
            Role::Master => Machine::Master(Box::new(Master::new(process, self.scenario.settings))),
            Role::Server => Machine::Server(Box::new(ParameterServer::new(identity, trainers, timing))),
            Role::Trainer => Machine::Trainer(Box::new(Trainer::new(identity, timing))),
        };
        let skew = self.scenario.skew;
        let host = Host {
            role,
            rank,
            alive: true,
            frozen: false,
            slow_until: 0,
            offset: if skew == 0 { 0 } else { self.random.below(1 << 40) },
            rate: self.random.range(1000 - skew, 1000 + skew),
            tick_at: None,
            machine,
            computes: None,
            memory: Box::default(),
        };
        let to = self.hosts.len();
        self.hosts.push(host);
        // The host's supervisor does not start a process beside another one, but for one that stands still.
        if let Some(old) = self.current.insert((role, rank), to)
            && !self.hosts[old].frozen
        {
            self.hosts[old].alive = false;
        }
        if role == Role::Master {
            self.elect(to);
        } else {
            self.feed(to, Event::Tick);
        }
    }

    /// Lets another process take the place after a while.
    pub(super) fn restart(&mut self, role: Role, rank: u32, after: Micros) {
        self.schedule(after, What::Start { role, rank });
    }

    fn fault(&mut self, fault: Fault) {
        let until = self.now;
        match fault {
            Fault::Kill { role, rank, down } => self.kill(role, rank, down),
            Fault::Freeze { role, rank, time } => self.freeze(role, rank, time),
            Fault::Replace { role, rank, after, time } => {
                self.freeze(role, rank, time);
                self.restart(role, rank, after);
            }
            Fault::Cut { from, to, time } => self.cuts.push(((from, to), until + time)),
            Fault::Slow { role, rank, time } => {
                if let Some(&host) = self.current.get(&(role, rank)) {
                    self.hosts[host].slow_until = until + time;
                }
            }
            Fault::Straggle { rank, time } => {
                if let Some(&host) = self.current.get(&(Role::Trainer, rank)) {
                    self.hosts[host].memory.straggles_until = until + time;
                }
            }
            Fault::Damage { rank } => {
                self.store.damage_newest(rank);
            }
            Fault::Storage { time } => self.storage_fails_until = until + time,
            Fault::Drain { role, rank, patience } => {
                if let Some(&to) = self.current.get(&(role, rank)) {
                    self.schedule(0, What::Event { to, event: Event::Drain });
                    self.schedule(patience, What::Fault(Fault::Impatience { process: to }));
                }
            }
            Fault::Impatience { process } => {
                let Host { role, rank, .. } = self.hosts[process];
                if self.current.get(&(role, rank)) == Some(&process) {
                    self.kill(role, rank, 1_000);
                }
            }
        }
    }

    pub(super) fn kill(&mut self, role: Role, rank: u32, down: Micros) {
        let Some(&host) = self.current.get(&(role, rank)) else { return };
        if !self.hosts[host].alive {
            // It is on its way back already.
            return;
        }
        self.hosts[host].alive = false;
        self.restart(role, rank, down);
        if self.random.per_mille(500)
            && let Some(&master) = self.current.get(&(Role::Master, 0))
        {
            let event = Event::Disconnected(host as u64);
            let delay = self.random.range(100, 100_000);
            self.schedule(delay, What::Event { to: master, event });
        }
    }

    fn freeze(&mut self, role: Role, rank: u32, time: Micros) {
        let Some(&to) = self.current.get(&(role, rank)) else { return };
        if !self.hosts[to].frozen && self.hosts[to].alive {
            self.hosts[to].frozen = true;
            self.schedule(time, What::Thaw { to });
        }
    }

    /// Sends a message over a network that loses, doubles, delays and reorders.
    pub(super) fn send(&mut self, from: usize, to: To, message: Message<u64>) {
        let to = match to {
            To::Master => self.store.master,
            To::Process(process) => process,
        };
        let Ok(to) = usize::try_from(to) else { return };
        let Some(target) = self.hosts.get(to).filter(|host| host.alive) else { return };
        let target = (target.role, target.rank);
        let faulty = self.now < self.scenario.faults_end;
        let source = &mut self.hosts[from];
        if self.mutant == Some(Mutant::OneHeartbeat) && matches!(message.body, Body::Heartbeat { .. }) {
            if source.memory.beaten {
                return;
            }
            source.memory.beaten = true;
        }
        let source = (source.role, source.rank);
        if self.cuts.iter().any(|&(ends, until)| self.now < until && ends == (source, target))
            || faulty && self.random.per_mille(self.scenario.loss)
        {
            return;
        }
        let slow = self.hosts[from].slow_until.max(self.hosts[to].slow_until) > self.now;
        let copy = (faulty && self.random.per_mille(self.scenario.duplicates)).then(|| message.clone());
        let sent = [(Some(message), false), (copy, true)];
        for (message, is_copy) in sent {
            let Some(message) = message else { continue };
            let mut delay = 100 + self.random.below(self.scenario.spread);
            if slow {
                delay += self.random.below(300_000);
            }
            if is_copy || faulty && self.random.per_mille(5) {
                delay += self.random.below(2_000_000);
            }
            self.schedule(delay, What::Event { to, event: Event::Received(message) });
        }
    }
}
