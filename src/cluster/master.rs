//! The process that runs the user's loop: it has the master's machine on a thread of its own, and asks it for steps.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use bytes::Bytes;
use paddle_cluster::machine::{End, StepError, Warning, Writing};
use paddle_cluster::message::Step;
use paddle_cluster::tree::Node;
use paddle_cluster::{Effect, Event, Master};

use super::coordination::Lock;
use super::link::{Frame, Input, Link};
use super::record::Record;
use super::show;
use super::store::Store;

/// What the user's loop hears from the master's machine.
pub(super) enum Answer {
    /// The servers are ready.
    Ready,
    /// A step is computed, and waits for a verdict.
    Results { step: Step, results: Vec<(Node, Bytes)> },
    /// A step is committed.
    Committed,
    /// A step has failed.
    Failed(StepError<Bytes>),
    /// Values that were asked for, of each server.
    Fetched(Vec<Bytes>),
    /// The machine has ended.
    Ended(End),
    /// The processes of the job die as soon as they are started.
    Broken { message: String },
}

/// The time between two looks at who is in the job.
const LOOKS: Duration = Duration::from_millis(100);

/// Runs the master's machine until it is told to stop.
pub(super) fn run<L: Link>(
    mut machine: Master<Bytes>,
    mut link: L,
    (store, lock): (Store, Option<Arc<Lock>>),
    inputs: &Receiver<Input>,
    answers: &Sender<Answer>,
    record: &mut Record,
) {
    let begun = Instant::now();
    let now = || begun.elapsed().as_micros() as u64;
    let (mut effects, mut events) = (Vec::new(), Vec::new());
    let mut recorded: Option<Instant> = None;
    let mut has_begun = false;
    loop {
        let event = match events.pop() {
            Some(event) => event,
            None => {
                let wait = machine
                    .deadline()
                    .map_or(Duration::from_secs(1), |at| Duration::from_micros(at.saturating_sub(now())));
                match inputs.recv_timeout(wait) {
                    Ok(Input::Frame(Frame::Machine(message))) => Event::Received(message),
                    Ok(Input::Event(event)) => {
                        if let Event::Request(request) = &event {
                            record.requested(request);
                        }
                        event
                    }
                    Ok(Input::Frame(Frame::Traffic { from, role, rank, traffic })) => {
                        record.traffic(from, role, rank, traffic);
                        continue;
                    }
                    Ok(Input::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    Ok(_) => continue,
                    Err(RecvTimeoutError::Timeout) => Event::Tick,
                }
            }
        };
        machine.step(now(), event, &mut effects);
        for effect in effects.drain(..) {
            let answer = match effect {
                Effect::Send { to, message } => {
                    link.send(to, Frame::Machine(message));
                    continue;
                }
                // Each job begins so.
                Effect::Warn(Warning::GoingBack(_)) if !has_begun => continue,
                Effect::Warn(warning) => {
                    record.warned(&warning);
                    if let Some(text) = show(&warning) {
                        eprintln!("cluster: {text}");
                    }
                    continue;
                }
                Effect::CommitManifest { manifest, .. } => {
                    let outcome = match store.commit(&manifest) {
                        // It is one from the time on that etcd says so, if there is one.
                        Ok(()) => lock.as_ref().map_or(Writing::Done, |lock| lock.point(manifest.id)),
                        Err(_) => Writing::Failed,
                    };
                    if outcome == Writing::Done {
                        record.saved(manifest.id);
                    }
                    events.push(Event::Manifest { manifest: manifest.id, outcome });
                    continue;
                }
                Effect::Prune(keep) => {
                    // What is not deleted now is deleted behind the next manifest.
                    let _ = store.prune(&keep);
                    continue;
                }
                Effect::Resume { version, .. } => {
                    has_begun = true;
                    record.resumed(machine.epoch(), version);
                    Answer::Ready
                }
                Effect::Results { step, results } => Answer::Results { step, results },
                Effect::Committed(entry) => {
                    record.committed(machine.epoch(), &entry);
                    Answer::Committed
                }
                Effect::StepFailed(error) => Answer::Failed(error),
                Effect::Fetched { values, .. } => Answer::Fetched(values),
                // It goes on to tell whoever asks that the job is over.
                Effect::End(end) => Answer::Ended(end),
                _ => continue,
            };
            // The loop may have ended before.
            let _ = answers.send(answer);
        }
        if recorded.is_none_or(|at| at.elapsed() >= LOOKS) {
            recorded = Some(Instant::now());
            record.now(machine.members().collect(), link.traffic());
        }
    }
}
