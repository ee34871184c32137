//! The way from one process of a job to the others, and what goes over it.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use paddle_cluster::Event;
use paddle_cluster::message::{Body, Message, Process, Role, Server, To};
use serde::{Deserialize, Serialize};

use super::ClusterError;
use super::asking::{Answer, Ids};
use super::traffic::Traffic;

/// What goes from one process to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Frame {
    /// A message of one machine to another.
    Machine(Message<Bytes>),
    /// A trainer asks a server for rows of tables, as they are after `version` updates.
    Ask { from: Process, question: u64, version: Option<u64>, pieces: Ids },
    /// The answer: the elements of the rows of each piece, or why there are none.
    Answer { question: u64, rows: Answer },
    /// A worker tells the master what it has sent and received so far.
    Traffic { from: Process, role: Role, rank: u32, traffic: Traffic },
}

impl Frame {
    /// What may be large.
    fn payloads(&mut self) -> Vec<&mut Bytes> {
        match self {
            Frame::Machine(Message { body: Body::Values { values, .. }, .. }) => vec![values],
            Frame::Machine(Message { body: Body::Push { parts, .. }, .. }) => {
                Arc::make_mut(parts).iter_mut().map(|part| &mut part.sum).collect()
            }
            Frame::Answer { rows: Ok(rows), .. } => rows.iter_mut().collect(),
            _ => Vec::new(),
        }
    }

    /// Takes out what may be large: it goes beside the frame, and is not copied into it.
    pub(super) fn set_aside(&mut self) -> Vec<Bytes> {
        self.payloads().into_iter().map(std::mem::take).collect()
    }

    /// Puts back what was set aside. False if it is not that of this frame.
    pub(super) fn put_back(&mut self, aside: Vec<Bytes>) -> bool {
        let mut payloads = self.payloads();
        let fits = payloads.len() == aside.len();
        payloads.iter_mut().zip(aside).for_each(|(payload, bytes)| **payload = bytes);
        fits
    }
}

/// What the thread of a machine takes up next.
pub(super) enum Input {
    Frame(Frame),
    Event(Event<Bytes>),
    /// A trainer's program needs rows of tables of a server.
    Ask {
        server: u32,
        pieces: Ids,
        answer: Sender<Answer>,
    },
    /// A frame for another process, from the thread of the work.
    Answer(Process, Frame),
    /// The master does not want this process.
    Refused(ClusterError),
    /// The process is to end.
    Stop,
    /// The thread of the work has ended.
    WorkEnded,
}

/// The way to the other processes. What it is given it sends, or loses.
pub(super) trait Link: Send {
    fn send(&mut self, to: To, frame: Frame);

    /// Learns where servers listen.
    fn connect(&mut self, servers: &[Server<Bytes>]);

    /// What has gone over it so far, as far as it is counted.
    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}

/// Links between threads of one process.
#[derive(Clone, Default)]
pub(super) struct Threads(Arc<Mutex<Switchboard>>);

#[derive(Default)]
struct Switchboard {
    master: Process,
    inputs: BTreeMap<Process, Sender<Input>>,
    has_stopped: bool,
}

impl Threads {
    /// Adds a thread, whose machine is this process. False if all have to stop.
    pub(super) fn add(&self, process: Process, is_master: bool, input: Sender<Input>) -> bool {
        let mut board = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if board.has_stopped {
            return false;
        }
        board.inputs.insert(process, input);
        if is_master {
            board.master = process;
        }
        true
    }

    /// All threads but the master.
    #[cfg(test)]
    pub(super) fn processes(&self) -> Vec<Process> {
        let board = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        board.inputs.keys().copied().filter(|process| *process != board.master).collect()
    }

    /// Cuts a thread off.
    pub(super) fn remove(&self, process: Process) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).inputs.remove(&process);
    }

    /// Cuts all threads off, and ends them.
    pub(super) fn stop_all(&self) {
        let mut board = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        board.has_stopped = true;
        for (_, input) in std::mem::take(&mut board.inputs) {
            // A thread that has ended takes nothing.
            let _ = input.send(Input::Stop);
        }
    }
}

impl Link for Threads {
    fn send(&mut self, to: To, frame: Frame) {
        let board = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let process = match to {
            To::Master => board.master,
            To::Process(process) => process,
        };
        if let Some(input) = board.inputs.get(&process) {
            // A thread that has ended takes nothing.
            let _ = input.send(Input::Frame(frame));
        }
    }

    fn connect(&mut self, _: &[Server<Bytes>]) {}
}
