//! A job: the servers and trainers that train one set of parameters, as the process that runs the user's loop sees them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender};

use bytes::Bytes;
use paddle_cluster::Event;
use paddle_cluster::machine::{End, StepError, Verdict};
use paddle_cluster::message::{self, Manifest, ManifestId, Request, Step};
use paddle_cluster::tree::Node;
use paddle_core::ops::{Op, Operator, Program};
use paddle_core::passes::distribute::{DistributedTraining, Piece, Placement};
use paddle_core::plan::Arithmetic;
use prost::Message;

use super::ClusterError;
use super::desc::{
    EncodedProgram, MomentDesc, OutputsDesc, PieceDesc, PieceValues, PlanDesc, StateValues, ValuesDesc,
};
use super::leaf;
use super::link::Input;
use super::master::Answer;
use super::operators::link_known;
use super::pieces::{Object, StoredPiece};
use super::store::Store;
use super::values::{bytes_of, size_of, values_of};
use crate::Error;
use crate::batch::Table;
use crate::element::Values;
use crate::trainer::FedShards;

/// The number of the plan of which a reader gets everything.
pub(super) const EVERYTHING: u32 = 0;

/// A job that runs.
pub(crate) struct Job {
    to_master: Sender<Input>,
    answers: Receiver<Answer>,
    placement: Placement,
    plans: u32,
    /// How many earlier steps values may lack, if steps are asynchronous.
    staleness: Option<u64>,
    /// The step that waits for a verdict.
    waiting: Option<Step>,
    tickets: u64,
    /// The tickets of the steps that are under way, in their order.
    under_way: VecDeque<u64>,
    /// What has become of steps for which nobody has asked yet, by ticket.
    outcomes: BTreeMap<u64, Result<Vec<Vec<f64>>, ClusterError>>,
}

/// The value of a parameter or of an updater's state, and what it belongs to.
pub(crate) struct Placed {
    pub(crate) parameter: String,
    /// The trainer and the slot of a state.
    pub(crate) state: Option<(u32, String)>,
    pub(crate) dims: Vec<usize>,
    pub(crate) values: Values,
}

/// A step, beside its rows.
#[derive(Clone, Copy)]
pub(crate) struct StepOf {
    pub(crate) plan: u32,
    pub(crate) seed: u64,
    pub(crate) step: u64,
    pub(crate) rate: f64,
    /// The pass and the batch that the rows belong to.
    pub(crate) at: (u64, u64),
}

/// The descriptions of all pieces, in the order of their numbers.
fn descs(placement: &Placement, by_rows: &dyn Fn(&Piece) -> bool) -> Vec<PieceDesc> {
    let desc = |(id, piece): (usize, &Piece)| PieceDesc {
        id: id as u32,
        name: piece.name.clone(),
        server: piece.server,
        dtype: piece.dtype.to_string(),
        dims: piece.dims.iter().map(|&dim| dim as u64).collect(),
        by_rows: by_rows(piece),
    };
    placement.pieces().iter().enumerate().map(desc).collect()
}

/// The part of a value that belongs to a piece. A state of one element belongs to every piece.
fn part_of(piece: &Piece, dims: &[usize], values: &Values) -> Bytes {
    let is_like = dims.first() == piece.dims.first() || dims.len() == piece.dims.len();
    let whole = values.len() == 1 && piece.elements() != 1;
    match is_like && !whole {
        true => {
            let width = piece.row_elements();
            bytes_of(values.part(piece.rows.start * width..piece.rows.end * width)).into()
        }
        false => bytes_of(values.as_slice()).into(),
    }
}

/// The state with which a server begins.
pub(super) fn object_of(server: u32, placement: &Placement, values: &[Placed]) -> Object {
    let mut object = Object::default();
    let all = descs(placement, &|_| false);
    let own = placement.pieces().iter().zip(all).filter(|(piece, _)| piece.server == server);
    for (piece, desc) in own {
        let mut of_piece = PieceValues { id: desc.id, ..PieceValues::default() };
        for Placed { state, dims, values, .. } in
            values.iter().filter(|value| value.parameter == piece.parameter)
        {
            let value = part_of(piece, dims, values);
            match state {
                None => of_piece.value = value,
                Some((trainer, slot)) => {
                    let is_one = values.len() == 1 && piece.elements() != 1;
                    let dims = if is_one { dims } else { &piece.dims };
                    let dims = dims.iter().map(|&dim| dim as u64).collect();
                    of_piece.states.push(StateValues { trainer: *trainer, slot: slot.clone(), dims, value });
                }
            }
        }
        object.pieces.push(StoredPiece { desc, values: of_piece });
    }
    object
}

/// The programs of a training step as they are sent, and the pieces whose gradients they send.
pub(super) fn plan_of(
    training: &DistributedTraining,
    placement: &Placement,
    trainer: u32,
    arithmetic: Arithmetic,
) -> (PlanDesc, Vec<message::Piece>) {
    let by_rows = |piece: &Piece| training.by_rows.contains(&piece.name);
    let desc = PlanDesc {
        trainer: EncodedProgram::of(&training.trainer),
        servers: training.servers.iter().map(EncodedProgram::of).collect(),
        pieces: descs(placement, &by_rows),
        states_of: trainer,
        received: received(&training.trainer, placement),
        ..PlanDesc::default().with(arithmetic)
    };
    let sent = desc.pieces.iter().filter(|piece| training.pieces.contains(&piece.name));
    let pieces = sent.map(|piece| message::Piece { id: piece.id, server: piece.server });
    let pieces = pieces.collect();
    (desc, pieces)
}

/// The numbers of the pieces that a program receives, in the order in which it needs them.
fn received(trainer: &Program, placement: &Placement) -> Vec<u32> {
    let numbers: BTreeMap<&str, u32> =
        placement.pieces().iter().map(|piece| piece.name.as_str()).zip(0..).collect();
    let operators = trainer.block(Program::GLOBAL).ops.iter();
    let piece = |operator: &Operator| match &operator.op {
        Op::Receive(op) => numbers.get(op.piece.as_str()).copied(),
        _ => None,
    };
    operators.filter_map(piece).collect()
}

/// The plan by which everything is read, states included.
pub(super) fn everything(placement: &Placement) -> PlanDesc {
    PlanDesc { pieces: descs(placement, &|_| false), ..PlanDesc::default() }
}

/// The values of which servers have pieces.
pub(super) fn put_together(
    placement: &Placement,
    of_servers: Vec<Bytes>,
) -> Result<Vec<Placed>, ClusterError> {
    let failed = || ClusterError::Message { what: "values" };
    let mut pieces = BTreeMap::new();
    for values in of_servers {
        for piece in ValuesDesc::decode(values).map_err(|_| failed())?.pieces {
            pieces.insert(piece.id, piece);
        }
    }
    whole(placement, &pieces).ok_or_else(failed)
}

/// Puts pieces together.
pub(super) fn whole(placement: &Placement, pieces: &BTreeMap<u32, PieceValues>) -> Option<Vec<Placed>> {
    let mut all: Vec<Placed> = Vec::new();
    for (id, piece) in placement.pieces().iter().enumerate() {
        let of_piece = pieces.get(&(id as u32))?;
        let states = of_piece.states.iter().map(|state| {
            let dims: Vec<usize> = state.dims.iter().map(|&dim| dim as usize).collect();
            (Some((state.trainer, state.slot.clone())), dims, &state.value)
        });
        for (state, dims, bytes) in std::iter::once((None, piece.dims.clone(), &of_piece.value)).chain(states)
        {
            let values = values_of(piece.dtype, bytes)?;
            let known =
                all.iter_mut().rfind(|known| known.parameter == piece.parameter && known.state == state);
            match known {
                None => {
                    let parameter = piece.parameter.clone();
                    all.push(Placed { parameter, state, dims, values });
                }
                // What has one element for each piece is the same for all of them.
                Some(_) if dims != piece.dims => {}
                Some(known) => {
                    known.dims[0] += dims[0];
                    let mut joined = bytes_of(known.values.as_slice());
                    debug_assert!(joined.len().is_multiple_of(size_of(piece.dtype)));
                    joined.extend_from_slice(bytes);
                    known.values = values_of(piece.dtype, &joined)?;
                }
            }
        }
    }
    Some(all)
}

impl Job {
    /// The objects of the servers, and the manifest, with which a job begins.
    pub(super) fn first_manifest(
        store: &Store,
        placement: &Placement,
        values: &[Placed],
        id: ManifestId,
        note: Bytes,
    ) -> Result<Manifest<Bytes>, ClusterError> {
        let failed = |error: std::io::Error| ClusterError::Store { message: error.to_string() };
        let mut digests = Vec::new();
        for server in 0..placement.servers().get() {
            let object = object_of(server, placement, values).encode_to_vec();
            let digest = store.put(id, server, object.into());
            digests.push(digest.ok_or(ClusterError::Store { message: "it takes no object".to_string() })?);
        }
        let manifest = Manifest { id, digests, note };
        store.commit(&manifest).map_err(failed)?;
        Ok(manifest)
    }

    /// A job whose master's machine is at the other ends. It begins when all servers are there.
    pub(super) fn begin(
        to_master: Sender<Input>,
        answers: Receiver<Answer>,
        placement: Placement,
        staleness: Option<u64>,
        (election, manifests): (u32, Vec<Manifest<Bytes>>),
    ) -> Result<Self, ClusterError> {
        let job = Job {
            to_master,
            answers,
            placement,
            plans: EVERYTHING,
            staleness,
            waiting: None,
            tickets: 0,
            under_way: VecDeque::new(),
            outcomes: BTreeMap::new(),
        };
        let program = everything(&job.placement).encode_to_vec().into();
        let plan = message::Plan { id: EVERYTHING, pieces: Vec::new(), measures: false, program };
        job.tell(Event::Plan(plan))?;
        job.tell(Event::Elected { election, manifests })?;
        loop {
            if let Answer::Ready = job.answer()? {
                return Ok(job);
            }
        }
    }

    fn tell(&self, event: Event<Bytes>) -> Result<(), ClusterError> {
        let ended = || ClusterError::Ended { why: "its master has ended".to_string() };
        self.to_master.send(Input::Event(event)).map_err(|_| ended())
    }

    /// The next answer of the master's machine. That the job has ended is an error.
    fn answer(&self) -> Result<Answer, ClusterError> {
        match self.answers.recv() {
            Ok(Answer::Ended(end)) => Err(ClusterError::Ended { why: show_end(end) }),
            Ok(Answer::Broken { message }) => {
                // Nobody computes any more, and whoever asks again is told that it is over.
                let _ = self.to_master.send(Input::Stop);
                Err(ClusterError::Start { message })
            }
            Ok(answer) => Ok(answer),
            Err(_) => Err(ClusterError::Ended { why: "its master has ended".to_string() }),
        }
    }

    /// The placement of the parameters.
    pub(crate) fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Adds the programs of a training step. Returns the number of the plan.
    pub(crate) fn plan(
        &mut self,
        training: &DistributedTraining,
        trainer: u32,
        arithmetic: Arithmetic,
    ) -> Result<u32, ClusterError> {
        if self.staleness.is_some() && training.shares {
            return Err(ClusterError::Asynchronous);
        }
        // Trainers would not be able to say it before the first step.
        link_known(&mut training.trainer.clone())?;
        self.plans += 1;
        let (desc, pieces) = plan_of(training, &self.placement, trainer, arithmetic);
        let program = desc.encode_to_vec().into();
        let plan = message::Plan { id: self.plans, pieces, measures: training.shares, program };
        self.tell(Event::Plan(plan))?;
        Ok(self.plans)
    }

    /// Has the gradients of a batch computed. Returns a ticket for [`outputs`](Self::outputs). In asynchronous training it
    /// waits while too many steps are under way.
    pub(crate) fn compute(
        &mut self,
        StepOf { plan, seed, step, rate, at: (pass, batch) }: StepOf,
        table: &Table,
        shards: &mut FedShards,
    ) -> Result<u64, Error> {
        while self.staleness.is_some_and(|staleness| self.under_way.len() as u64 > staleness) {
            self.receive()?;
        }
        let rows = table.rows()?;
        let mut leaves: Vec<Bytes> = Vec::new();
        for at in 0..shards.of(rows) {
            shards.take(table, at)?;
            leaves.push(leaf::encode((0..shards.len(table)).map(|k| shards.feed(table, k))).into());
        }
        let header = MomentDesc { seed, step, rate }.encode_to_vec().into();
        let bytes = leaves.iter().map(|leaf| leaf.len() as u64).sum();
        let request = Request { plan, header, leaves, pass, batch, rows: rows as u64, bytes };
        self.tell(Event::Request(request))?;
        self.tickets += 1;
        self.under_way.push_back(self.tickets);
        Ok(self.tickets)
    }

    /// The outputs of each shard of a step. Unless steps are asynchronous, [`commit`](Self::commit) or
    /// [`abandon`](Self::abandon) has to follow.
    pub(crate) fn outputs(&mut self, ticket: u64) -> Result<Vec<Vec<f64>>, ClusterError> {
        loop {
            if let Some(outcome) = self.outcomes.remove(&ticket) {
                return outcome;
            }
            self.receive()?;
        }
    }

    /// Takes an answer. One about a step is kept for whoever asks; the others are returned.
    fn receive(&mut self) -> Result<Option<Answer>, ClusterError> {
        let answer = self.answer()?;
        let Some(&ticket) = self.under_way.front() else { return Ok(Some(answer)) };
        let outcome = match answer {
            Answer::Results { step, results } => {
                match self.staleness {
                    None => self.waiting = Some(step),
                    // Servers have applied it. What is said now is that it is in the log.
                    Some(_) => self.tell(Event::Verdict { step, verdict: COMMIT })?,
                }
                outputs_of(results)
            }
            Answer::Failed(error) => Err(ClusterError::Step { message: show_error(&error) }),
            answer => return Ok(Some(answer)),
        };
        self.under_way.pop_front();
        self.outcomes.insert(ticket, outcome);
        Ok(None)
    }

    /// Applies the step that was computed. `note` says where the user's loop is behind it.
    pub(crate) fn commit(&mut self, note: Bytes) -> Result<(), ClusterError> {
        let Some(step) = self.waiting.take() else { return Ok(()) };
        self.tell(Event::Verdict { step, verdict: Verdict::Commit { note } })?;
        loop {
            if let Answer::Committed = self.answer()? {
                return Ok(());
            }
        }
    }

    /// Applies nothing of the step that was computed.
    pub(crate) fn abandon(&mut self) -> Result<(), ClusterError> {
        let Some(step) = self.waiting.take() else { return Ok(()) };
        self.tell(Event::Verdict { step, verdict: Verdict::Abandon })
    }

    /// All values as they are after the steps so far.
    pub(crate) fn fetch(&mut self) -> Result<Vec<Placed>, ClusterError> {
        self.tell(Event::Fetch(EVERYTHING))?;
        let of_servers = loop {
            match self.receive()? {
                Some(Answer::Fetched(values)) => break values,
                Some(Answer::Failed(error)) => {
                    return Err(ClusterError::Step { message: show_error(&error) });
                }
                _ => {}
            }
        };
        put_together(&self.placement, of_servers)
    }

    /// Ends the job.
    pub(super) fn finish(&mut self) {
        // The master may have ended before.
        let _ = self.tell(Event::Finish);
    }
}

/// An asynchronous step becomes a part of the log. Where the user's loop is behind it is not known yet, so a master that is
/// started again goes on from a checkpoint of the options.
const COMMIT: Verdict<Bytes> = Verdict::Commit { note: Bytes::new() };

/// The outputs of each shard.
fn outputs_of(results: Vec<(Node, Bytes)>) -> Result<Vec<Vec<f64>>, ClusterError> {
    let mut outputs = Vec::new();
    for (_, result) in results {
        let failed = |_| ClusterError::Message { what: "a result" };
        let result = OutputsDesc::decode(result).map_err(failed)?;
        outputs.extend(result.leaves.into_iter().map(|leaf| leaf.outputs));
    }
    Ok(outputs)
}

fn show_end(end: End) -> String {
    match end {
        End::Finished => "it is over",
        End::Left => "its master was told to stop",
        End::Restart => "its servers had to go back to before its master began",
        End::Superseded | End::Deposed => "another process is its master now",
        End::NoManifest => "no checkpoint of it can be read",
        End::ReplayFailed => "a step that was done before fails when it is done again",
    }
    .to_string()
}

fn show_error(error: &StepError<Bytes>) -> String {
    match error {
        StepError::User(message) => String::from_utf8_lossy(message).into_owned(),
        StepError::Poison { deaths, leaves } => format!(
            "{deaths} trainers died while they computed the shards {}..{} of the batch",
            leaves.start, leaves.end
        ),
        StepError::Invalid => "the cluster does not know what to do with the step".to_string(),
    }
}
