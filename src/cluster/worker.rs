//! The processes that compute and those that hold parameters: each runs a machine on one thread, and its work on another.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use paddle_cluster::machine::{End, Restoration};
use paddle_cluster::message::{self, Body, Process, Server, Task, To};
use paddle_cluster::{Effect, Event, Identity, ParameterServer, Timing, Trainer};
use paddle_core::plan::{ExchangeError, RunError};
use prost::Message;

use super::arrivals::{Arrival, Arrivals};
use super::asking::{Answer, Asking, Ids, ROWS_WITHIN};
use super::compute::{Computed, Gradients};
use super::desc::PlanDesc;
use super::link::{Frame, Input, Link};
use super::mail::{Outlet, Source as _};
use super::pieces::Pieces;
use super::store::Store;
use super::traffic::{Traffic, Waits};
use crate::Error;
use crate::device::Device;

/// A machine, whatever its role is.
pub(super) enum Machine {
    Trainer(Box<Trainer<Bytes>>),
    Server(Box<ParameterServer<Bytes>>),
}

/// What a machine has others do, on the thread of its work.
enum Work {
    Effect(Effect<Bytes>),
    Rows(Question),
}

/// A trainer's question about rows of tables.
struct Question {
    to: Process,
    number: u64,
    /// After so many updates.
    version: Option<u64>,
    pieces: Ids,
}

/// A worker.
pub(super) struct Worker<L> {
    machine: Machine,
    link: L,
    inputs: Receiver<Input>,
    work: Sender<Work>,
    begun: Instant,
    process: Process,
    servers: Vec<Process>,
    /// The version of the values with which the trainer computes.
    version: Option<u64>,
    /// What comes for the task of a trainer, and how long its work has waited for it.
    arrivals: Sender<Arrival>,
    waits: Waits,
    /// The questions of the trainer's program that wait for an answer.
    asked: BTreeMap<u64, Asked>,
    questions: u64,
}

/// A question that waits.
struct Asked {
    at: Instant,
    answer: Sender<Answer>,
}

/// Tells the thread of the machine that the thread of the work has ended, however it does.
struct Ending(Sender<Input>);

impl Drop for Ending {
    fn drop(&mut self) {
        // The other thread may have ended before.
        let _ = self.0.send(Input::WorkEnded);
    }
}

/// What a worker is made with.
pub(super) struct Setting<L> {
    pub(super) is_server: bool,
    pub(super) identity: Identity<Bytes>,
    /// The number of trainers of the job.
    pub(super) trainers: u32,
    pub(super) timing: Timing,
    pub(super) link: L,
    pub(super) store: Store,
    pub(super) backend: Device,
}

/// Runs a worker until its machine ends. `to_self` is the other end of `inputs`.
pub(super) fn run<L: Link>(
    Setting { is_server, identity, trainers, timing, link, store, backend }: Setting<L>,
    (to_self, inputs): (Sender<Input>, Receiver<Input>),
) -> Option<End> {
    let (work, works) = mpsc::channel();
    let (rank, process) = (identity.rank, identity.process);
    let machine = match is_server {
        true => Machine::Server(Box::new(ParameterServer::new(identity, trainers, timing))),
        false => Machine::Trainer(Box::new(Trainer::new(identity, timing))),
    };
    let back = to_self.clone();
    let (arrivals, arrived) = mpsc::channel();
    let waits = Waits::default();
    let of_work = waits.clone();
    let worker = std::thread::Builder::new().name(format!("work of {rank}")).spawn(move || {
        let _ending = Ending(back.clone());
        match is_server {
            true => serve(Pieces::new(backend, rank), &store, &works, &back),
            false => {
                let arrivals = Arrivals::new(arrived, of_work.clone());
                let gradients = Gradients::new(backend, Some(arrivals.another()));
                train(gradients, (&arrivals, &of_work), &works, &back);
            }
        }
    });
    if worker.is_err() {
        return None;
    }
    let worker = Worker {
        machine,
        link,
        inputs,
        work,
        begun: Instant::now(),
        process,
        servers: Vec::new(),
        version: None,
        arrivals,
        waits,
        asked: BTreeMap::new(),
        questions: 0,
    };
    worker.run()
}

impl<L: Link> Worker<L> {
    fn now(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    fn run(mut self) -> Option<End> {
        let mut effects = Vec::new();
        loop {
            let deadline = match &self.machine {
                Machine::Trainer(machine) => machine.deadline(),
                Machine::Server(machine) => machine.deadline(),
            };
            let wait = deadline
                .map_or(Duration::from_secs(1), |at| Duration::from_micros(at.saturating_sub(self.now())));
            let event = match self.inputs.recv_timeout(wait) {
                Ok(Input::Frame(Frame::Machine(message))) => Event::Received(message),
                Ok(Input::Event(event)) => event,
                Ok(Input::Frame(Frame::Ask { from, question, version, pieces })) => {
                    // Behind the work that the machine has ordered before.
                    let question = Question { to: from, number: question, version, pieces };
                    if self.work.send(Work::Rows(question)).is_err() {
                        return None;
                    }
                    continue;
                }
                Ok(Input::Frame(Frame::Answer { question, rows })) => {
                    if let Some(Asked { answer, .. }) = self.asked.remove(&question) {
                        // The program may have given up.
                        let _ = answer.send(rows);
                    }
                    continue;
                }
                Ok(Input::Ask { server, pieces, answer }) => {
                    self.ask(server, pieces, answer);
                    continue;
                }
                Ok(Input::Answer(to, frame)) => {
                    self.link.send(To::Process(to), frame);
                    continue;
                }
                Ok(Input::Frame(Frame::Traffic { .. })) => continue,
                Ok(Input::Refused(error)) => {
                    eprintln!("cluster: this process ends: {error}");
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => Event::Tick,
                Ok(Input::Stop) => return Some(End::Left),
                Ok(Input::WorkEnded) | Err(RecvTimeoutError::Disconnected) => return None,
            };
            let now = self.now();
            match &mut self.machine {
                Machine::Trainer(machine) => machine.step(now, event, &mut effects),
                Machine::Server(machine) => machine.step(now, event, &mut effects),
            }
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send { to, message } => {
                        if let Body::Heartbeat { .. } = message.body {
                            let message::Sender { role, rank, process: from, .. } = message.from;
                            let waited_micros = self.waits.micros();
                            let traffic = Traffic { waited_micros, ..self.link.traffic() };
                            self.link.send(to, Frame::Traffic { from, role, rank, traffic });
                        }
                        self.link.send(to, Frame::Machine(message));
                    }
                    Effect::Connect(servers) => {
                        self.servers = servers.iter().map(|server: &Server<_>| server.process).collect();
                        self.link.connect(&servers);
                    }
                    Effect::Warn(_) => {}
                    Effect::End(end) => return Some(end),
                    Effect::Arrived { task, server, values, is_last } => {
                        self.tell(Arrival::Values { task, server, values, is_last });
                    }
                    Effect::Cancel(task) => self.tell(Arrival::Cancelled(task)),
                    effect => {
                        if let Effect::Compute { task, .. } = &effect {
                            // In asynchronous training the values are those of no version.
                            self.version = task.alone.is_none().then_some(task.step.version);
                        }
                        if self.work.send(Work::Effect(effect)).is_err() {
                            return None;
                        }
                    }
                }
            }
        }
    }

    /// Says something about values to the thread of the work.
    fn tell(&self, arrival: Arrival) {
        // It may have ended, which another input says.
        let _ = self.arrivals.send(arrival);
    }

    /// Sends a question about rows of tables to a server.
    fn ask(&mut self, server: u32, pieces: Ids, answer: Sender<Answer>) {
        let Some(&process) = self.servers.get(server as usize) else {
            // The program may have given up.
            let _ = answer.send(Err(format!("there is no server {server}")));
            return;
        };
        self.questions += 1;
        let at = Instant::now();
        // Whoever asked the others has given up.
        self.asked.retain(|_, asked| at.duration_since(asked.at) < ROWS_WITHIN);
        self.asked.insert(self.questions, Asked { at, answer });
        let frame =
            Frame::Ask { from: self.process, question: self.questions, version: self.version, pieces };
        self.link.send(To::Process(process), frame);
    }
}

/// The work of a trainer.
fn train(
    mut gradients: Gradients,
    (arrivals, waits): (&Arrivals, &Waits),
    works: &Receiver<Work>,
    back: &Sender<Input>,
) {
    let mut broken: BTreeMap<u32, String> = BTreeMap::new();
    // A task for which a server gave no rows: it may have lost the question, or be at another version for a while.
    let mut again: Option<Effect<Bytes>> = None;
    loop {
        let work = match &again {
            None => works.recv().ok(),
            // What came in the meantime comes first.
            Some(_) => match works.try_recv() {
                Err(TryRecvError::Empty) => again.take().map(Work::Effect),
                work => work.ok(),
            },
        };
        let Some(work) = work else { return };
        match work {
            Work::Effect(Effect::Learn(plan)) => {
                let learned = PlanDesc::decode(plan.program.clone())
                    .map_err(|error| error.to_string())
                    .and_then(|desc| {
                        let rows = Box::new(Asking::new(back.clone(), waits.clone()));
                        gradients.learn(plan.id, &desc, Some(rows)).map_err(|error| error.to_string())
                    });
                if let Err(error) = learned {
                    broken.insert(plan.id, error);
                }
            }
            Work::Effect(Effect::Compute { task, have }) => {
                again = None;
                if !arrivals.begin(task.number) {
                    continue;
                }
                let computed = match broken.get(&task.plan) {
                    Some(error) => Err(error.clone()),
                    None => match gradients.compute(&task, Some(outlet(&task, back))) {
                        Err(Error::Run(RunError::Exchange { .. })) if arrivals.is_cancelled() => continue,
                        Err(Error::Run(RunError::Exchange { .. })) if !arrivals.is_broken() => {
                            again = Some(Effect::Compute { task, have });
                            continue;
                        }
                        computed => computed.map_err(|error| error.to_string()),
                    },
                };
                let number = task.number;
                let events = match computed {
                    Ok(Computed { parts, results }) => {
                        let left = (!parts.is_empty()).then_some(Event::Sums { task: number, parts });
                        left.into_iter().chain([Event::Computed { task: number, results }]).collect()
                    }
                    Err(error) => vec![Event::Failed { task: number, error: error.into() }],
                };
                for event in events {
                    if back.send(Input::Event(event)).is_err() {
                        return;
                    }
                }
            }
            _ => {}
        }
    }
}

/// Has the sums of a task sent while others are computed.
fn outlet(task: &Task<Bytes>, back: &Sender<Input>) -> Outlet {
    let (task, back) = (task.number, back.clone());
    let ended = || ExchangeError::Failed { message: "the trainer has ended".to_string() };
    Box::new(move |parts| back.send(Input::Event(Event::Sums { task, parts })).map_err(|_| ended()))
}

/// The work of a server.
fn serve(mut pieces: Pieces, store: &Store, works: &Receiver<Work>, back: &Sender<Input>) {
    let mut version = 0;
    // Of each trainer, the newest question about values that are not there yet.
    let mut parked: BTreeMap<Process, Question> = BTreeMap::new();
    while let Ok(work) = works.recv() {
        let input = match work {
            Work::Rows(question) if question.version > Some(version) => {
                parked.insert(question.to, question);
                None
            }
            Work::Rows(question) => Some(answer(&pieces, version, &question)),
            Work::Effect(Effect::Learn(plan)) => {
                let learned = PlanDesc::decode(plan.program.clone())
                    .map_err(|error| error.to_string())
                    .and_then(|desc| pieces.learn(plan.id, &desc).map_err(|error| error.to_string()));
                if let Err(error) = learned {
                    eprintln!("a plan cannot be used: {error}");
                    return;
                }
                None
            }
            Work::Effect(Effect::Read(reader)) => {
                let read = pieces.read_in_parts(&reader, |part, values| {
                    back.send(Input::Event(Event::Values { reader: reader.clone(), part, values })).is_ok()
                });
                if let Err(error) = read {
                    eprintln!("values cannot be read: {error}");
                }
                None
            }
            Work::Effect(Effect::Measure { step, plan, header, leaves, updates }) => {
                match pieces.measure(step, plan, &header, leaves, &updates) {
                    Ok(measure) => Some(Input::Event(Event::Measured { step, measure })),
                    Err(error) => {
                        eprintln!("gradients cannot be measured: {error}");
                        return;
                    }
                }
            }
            Work::Effect(Effect::Apply { step, plan, header, leaves, updates, measures }) => {
                version = step.version + 1;
                let of = (plan, &header);
                if let Err(error) = pieces.apply(step, of, leaves, &updates, &measures, version) {
                    // Its state is none that any machine has: it ends, and its successor restores a checkpoint.
                    eprintln!("an update failed: {error}");
                    return;
                }
                Some(Input::Event(Event::Applied(step)))
            }
            Work::Effect(Effect::Save(manifest)) => {
                let digest = pieces.save().ok().and_then(|object| store.put(manifest, pieces.rank(), object));
                Some(Input::Event(Event::SaveDone { manifest, digest }))
            }
            Work::Effect(Effect::Restore(manifest)) => {
                let rank = pieces.rank();
                let outcome = match store.get(manifest.id, rank, manifest.digests.get(rank as usize)) {
                    Ok(Some(object)) => match pieces.restore(object, manifest.id.version) {
                        Ok(()) => Restoration::Done,
                        Err(_) => Restoration::Damaged,
                    },
                    Ok(None) => Restoration::Damaged,
                    Err(_) => Restoration::Unavailable,
                };
                version = manifest.id.version;
                Some(Input::Event(Event::RestoreDone { manifest: manifest.id, outcome }))
            }
            Work::Effect(_) => None,
        };
        let mut answers = Vec::new();
        parked.retain(|_, question| {
            let waits = question.version > Some(version);
            if !waits {
                answers.push(answer(&pieces, version, question));
            }
            waits
        });
        for input in input.into_iter().chain(answers) {
            if back.send(input).is_err() {
                return;
            }
        }
    }
}

/// The answer to a question, of values after so many updates.
fn answer(pieces: &Pieces, version: u64, question: &Question) -> Input {
    let &Question { to, number, version: wanted, pieces: ref asked } = question;
    let rows = |(piece, ids): &(String, Vec<i64>)| pieces.rows(piece, ids).map_err(|error| error.to_string());
    let rows = match wanted.is_none_or(|wanted| wanted == version) {
        true => asked.iter().map(rows).collect(),
        false => Err(format!("the values are those after {version} updates")),
    };
    Input::Answer(to, Frame::Answer { question: number, rows })
}
