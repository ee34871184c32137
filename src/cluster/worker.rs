//! The processes that compute and those that hold parameters: each runs a machine on one thread, and its work on another.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use bytes::Bytes;
use paddle_cluster::machine::{End, Restoration};
use paddle_cluster::message::{self, Body, Process, Server, Task, To};
use paddle_cluster::{Effect, Event, Identity, ParameterServer, Timing, Trainer};
use paddle_core::plan::{ExchangeError, RunError};
use paddle_kernels::cpu::Cpu;
use prost::Message;

use super::compute::{Computed, Gradients};
use super::desc::PlanDesc;
use super::link::{Frame, Input, Link};
use super::mail::{Outlet, Rows};
use super::pieces::Pieces;
use super::store::Store;
use crate::Error;

/// A machine, whatever its role is.
pub(super) enum Machine {
    Trainer(Trainer<Bytes>),
    Server(ParameterServer<Bytes>),
}

/// What a machine has others do, on the thread of its work.
enum Work {
    Effect(Effect<Bytes>),
    Rows { to: Process, question: u64, version: Option<u64>, piece: String, ids: Vec<i64> },
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
    /// The questions of the trainer's program that wait for an answer.
    asked: BTreeMap<u64, Question>,
    questions: u64,
}

/// A question that waits.
struct Question {
    asked: Instant,
    answer: Sender<Result<Bytes, String>>,
}

/// Tells the thread of the machine that the thread of the work has ended, however it does.
struct Ending(Sender<Input>);

impl Drop for Ending {
    fn drop(&mut self) {
        // The other thread may have ended before.
        let _ = self.0.send(Input::WorkEnded);
    }
}

/// Asks servers for rows of tables, on behalf of a program.
struct Asking(Sender<Input>);

impl Rows for Asking {
    fn rows(&mut self, from: u32, piece: &str, ids: &[i64]) -> Result<Option<Bytes>, ExchangeError> {
        let (answer, answered) = mpsc::channel();
        let failed = |message: &str| ExchangeError::Failed { message: message.to_string() };
        let ask = Input::Ask { server: from, piece: piece.to_string(), ids: ids.to_vec(), answer };
        self.0.send(ask).map_err(|_| failed("the trainer has ended"))?;
        match answered.recv_timeout(ROWS_WITHIN) {
            Ok(Ok(rows)) => Ok(Some(rows)),
            Ok(Err(why)) => Err(failed(&why)),
            Err(_) => Err(failed(&format!("server {from} gave no rows of `{piece}` in time"))),
        }
    }
}

/// The time within which a server gives rows of a table. Then the trainer computes anew what is still wanted.
const ROWS_WITHIN: Duration = Duration::from_millis(500);

/// What a worker is made with.
pub(super) struct Setting<L> {
    pub(super) is_server: bool,
    pub(super) identity: Identity<Bytes>,
    /// The number of trainers of the job.
    pub(super) trainers: u32,
    pub(super) timing: Timing,
    pub(super) link: L,
    pub(super) store: Store,
    pub(super) backend: Cpu,
}

/// Runs a worker until its machine ends. `to_self` is the other end of `inputs`.
pub(super) fn run<L: Link>(
    Setting { is_server, identity, trainers, timing, link, store, backend }: Setting<L>,
    (to_self, inputs): (Sender<Input>, Receiver<Input>),
) -> Option<End> {
    let (work, works) = mpsc::channel();
    let (rank, process) = (identity.rank, identity.process);
    let machine = match is_server {
        true => Machine::Server(ParameterServer::new(identity, trainers, timing)),
        false => Machine::Trainer(Trainer::new(identity, timing)),
    };
    let back = to_self.clone();
    let worker = std::thread::Builder::new().name(format!("work of {rank}")).spawn(move || {
        let _ending = Ending(back.clone());
        match is_server {
            true => serve(Pieces::new(backend, rank), &store, &works, &back),
            false => train(Gradients::new(backend), &works, &back),
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
                Ok(Input::Frame(Frame::Ask { from, question, version, piece, ids })) => {
                    // Behind the work that the machine has ordered before.
                    let rows = Work::Rows { to: from, question, version, piece, ids };
                    if self.work.send(rows).is_err() {
                        return None;
                    }
                    continue;
                }
                Ok(Input::Frame(Frame::Answer { question, rows })) => {
                    if let Some(Question { answer, .. }) = self.asked.remove(&question) {
                        // The program may have given up.
                        let _ = answer.send(rows);
                    }
                    continue;
                }
                Ok(Input::Ask { server, piece, ids, answer }) => {
                    self.ask(server, piece, ids, answer);
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
                            let traffic = self.link.traffic();
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
                    effect => {
                        if let Effect::Compute { task, version, .. } = &effect {
                            // In asynchronous training the values are those of no version.
                            self.version = task.alone.is_none().then_some(*version);
                        }
                        if self.work.send(Work::Effect(effect)).is_err() {
                            return None;
                        }
                    }
                }
            }
        }
    }

    /// Sends a question about rows of a table to a server.
    fn ask(&mut self, server: u32, piece: String, ids: Vec<i64>, answer: Sender<Result<Bytes, String>>) {
        let Some(&process) = self.servers.get(server as usize) else {
            // The program may have given up.
            let _ = answer.send(Err(format!("there is no server {server}")));
            return;
        };
        self.questions += 1;
        let asked = Instant::now();
        // Whoever asked the others has given up.
        self.asked.retain(|_, question| asked.duration_since(question.asked) < ROWS_WITHIN);
        self.asked.insert(self.questions, Question { asked, answer });
        let frame =
            Frame::Ask { from: self.process, question: self.questions, version: self.version, piece, ids };
        self.link.send(To::Process(process), frame);
    }
}

/// The work of a trainer.
fn train(mut gradients: Gradients, works: &Receiver<Work>, back: &Sender<Input>) {
    let mut broken: BTreeMap<u32, String> = BTreeMap::new();
    // A task for which a server gave no rows: it may have lost the question, or be at another version for a while.
    let mut again: Option<Effect<Bytes>> = None;
    loop {
        let work = match again.take() {
            None => works.recv().ok(),
            // What came in the meantime is newer.
            Some(effect) => works.try_recv().ok().or(Some(Work::Effect(effect))),
        };
        let Some(work) = work else { return };
        match work {
            Work::Effect(Effect::Learn(plan)) => {
                let learned = PlanDesc::decode(plan.program.clone())
                    .map_err(|error| error.to_string())
                    .and_then(|desc| {
                        let rows = Box::new(Asking(back.clone()));
                        gradients.learn(plan.id, &desc, Some(rows)).map_err(|error| error.to_string())
                    });
                if let Err(error) = learned {
                    broken.insert(plan.id, error);
                }
            }
            Work::Effect(Effect::Compute { task, values, have, version }) => {
                let computed = match broken.get(&task.plan) {
                    Some(error) => Err(error.clone()),
                    None => match gradients.compute(&task, &values, outlet(&task, back)) {
                        Err(Error::Run(RunError::Exchange { .. })) => {
                            again = Some(Effect::Compute { task, values, have, version });
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

/// Has the sums of a task sent while others are computed. In asynchronous training all of them go at once.
fn outlet(task: &Task<Bytes>, back: &Sender<Input>) -> Option<Outlet> {
    let (task, back) = (task.alone.is_none().then_some(task.number)?, back.clone());
    let ended = || ExchangeError::Failed { message: "the trainer has ended".to_string() };
    Some(Box::new(move |parts| back.send(Input::Event(Event::Sums { task, parts })).map_err(|_| ended())))
}

/// The work of a server.
fn serve(mut pieces: Pieces, store: &Store, works: &Receiver<Work>, back: &Sender<Input>) {
    let mut version = 0;
    while let Ok(work) = works.recv() {
        let input = match work {
            Work::Rows { to, question, version: wanted, piece, ids } => {
                let rows = match wanted.is_none_or(|wanted| wanted == version) {
                    true => pieces.rows(&piece, &ids).map_err(|error| error.to_string()),
                    false => Err(format!("the values are those after {version} updates")),
                };
                Some(Input::Answer(to, Frame::Answer { question, rows }))
            }
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
            Work::Effect(Effect::Read(reader)) => match pieces.read(&reader) {
                Ok(values) => Some(Input::Event(Event::Values { reader, values })),
                Err(error) => {
                    eprintln!("values cannot be read: {error}");
                    None
                }
            },
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
        if let Some(input) = input
            && back.send(input).is_err()
        {
            return;
        }
    }
}
