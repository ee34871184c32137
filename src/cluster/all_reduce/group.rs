//! The steps of ranks that train as equals: each computes some shards of every batch, adds up the gradients of its pieces of the
//! parameters, updates these pieces, and gives them to all.
//!
//! The programs are those of trainers and parameter servers; a rank runs one of each. What a trainer sends to a server is a
//! reduce-scatter then, and what it receives an all-gather. So the bits are those of one machine with as many shards. A rank that is a
//! stage computes its part of all shards instead, and keeps its values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use paddle_cluster::machine::Update;
use paddle_cluster::message::{Part, Step, Task};
use paddle_cluster::tree::Node;
use paddle_core::passes::distribute::{DistributedTraining, Placement};
use paddle_core::passes::stages::{Stage, StagedTraining};
use paddle_core::plan::{Arithmetic, ExchangeError, RunError};
use paddle_engines::collective::Collective;
use paddle_kernels::Cpu;
use prost::Message;

use super::coming::Coming;
use super::said::{PartDesc, StepDesc, all_to_all, difference, digest, same, send_ahead};
use super::stages::Stages;
use super::tables::{Lookups, Received};
use super::{Group, Passing};
use crate::Error;
use crate::batch::Table;
use crate::cluster::compute::{Computed, Gradients};
use crate::cluster::desc::{EncodedProgram, MomentDesc, OutputsDesc, PlanDesc};
use crate::cluster::devices::Devices;
use crate::cluster::job::{EVERYTHING, everything, object_of, plan_of};
use crate::cluster::mail::Source;
use crate::cluster::pieces::Pieces;
use crate::cluster::{ClusterError, Placed, StepOf, leaf};
use crate::trainer::FedShards;

/// What this rank knows of a training.
pub(crate) struct GroupJob {
    pub(super) group: Arc<Group>,
    /// None behind the end.
    pub(super) way: Option<Passing>,
    pub(super) placement: Placement,
    /// What computes shards, with the values of all parameters.
    pub(super) gradients: Gradients,
    /// The pieces that this rank updates, and the updaters' states of them.
    pub(super) pieces: Pieces,
    plans: u32,
    /// The plans whose updates need what the ranks share about their gradients.
    sharing: BTreeSet<u32>,
    /// The number of updates so far.
    pub(super) version: u64,
    /// The values of all parameters, but for those that are `coming`. Stages have those of the others as they were when all ranks last gave
    /// them.
    pub(super) values: Vec<Placed>,
    /// The new values of the last step.
    pub(super) coming: Coming,
    /// What each plan reads of tables.
    pub(super) lookups: BTreeMap<u32, Lookups>,
    /// The rows that this rank looks up in a step.
    pub(super) received: Received,
    /// The pieces of tables of which `values` is older than what the ranks have that update them.
    pub(super) stale: BTreeSet<u32>,
    /// If each rank has a part of the network.
    pub(super) stages: Option<Stages>,
    waiting: Option<Waiting>,
    /// Whether this rank was told to stop, and whether one of all ranks was before the newest step.
    stop: Stop,
}

#[derive(Clone, Copy, Default)]
struct Stop {
    wanted: bool,
    agreed: bool,
}

/// A step that waits for a verdict.
struct Waiting {
    plan: u32,
    header: Bytes,
    leaves: u32,
    updates: Vec<Update<Bytes>>,
}

/// The rank that updates a piece.
fn owner_of(placement: &Placement, piece: u32) -> u32 {
    placement.pieces().get(piece as usize).map_or(0, |piece| piece.server)
}

/// The leaves that a rank computes of so many.
pub(super) fn run_of(rank: u32, size: u32, leaves: u32) -> Node {
    let border = |rank: u32| (u64::from(leaves) * u64::from(rank) / u64::from(size)) as u32;
    Node::new(border(rank), border(rank + 1))
}

impl GroupJob {
    /// Begins with these values, which have to be the same in all ranks.
    pub(in crate::cluster) fn begin(
        group: Arc<Group>,
        devices: &Devices,
        in_stages: bool,
        placement: Placement,
        values: Vec<Placed>,
    ) -> Result<Self, Error> {
        let backend = devices.of(group.rank, Cpu::new()?)?;
        let mut way = Passing::new(group.meet()?);
        let digest = digest(&values);
        same(&mut way, digest, "other parameters or other states of its updater")
            .map_err(|error| group.explain(error))?;
        let stages = in_stages.then(|| Stages::new(way.clone()));
        let coming = Coming::new(way.clone());
        let mut pieces = Pieces::new(backend.clone(), way.rank());
        pieces.learn(EVERYTHING, &everything(&placement))?;
        let own = object_of(way.rank(), &placement, &values).encode_to_vec();
        pieces.restore(own.into(), 0)?;
        Ok(GroupJob {
            group,
            way: Some(way),
            placement,
            gradients: Gradients::new(backend, (!in_stages).then(|| coming.another())),
            pieces,
            plans: EVERYTHING,
            sharing: BTreeSet::new(),
            version: 0,
            values: values.into_iter().filter(|value| value.state.is_none()).collect(),
            coming,
            lookups: BTreeMap::new(),
            received: Received::default(),
            stale: BTreeSet::new(),
            stages,
            waiting: None,
            stop: Stop::default(),
        })
    }

    pub(crate) fn placement(&self) -> &Placement {
        &self.placement
    }

    fn way(&mut self) -> Result<&mut Passing, ClusterError> {
        self.way.as_mut().ok_or_else(|| ClusterError::Ended { why: "it is over".to_string() })
    }

    /// Whether to stop behind this step, as all ranks see it. `wanted` is what this rank was told; the others hear it with the next step.
    pub(crate) fn stops(&mut self, wanted: bool) -> bool {
        self.stop.wanted |= wanted;
        self.stop.agreed
    }

    /// Does something with the other ranks.
    pub(super) fn together<T>(
        &mut self,
        what: impl FnOnce(&mut dyn Collective) -> Result<T, ClusterError>,
    ) -> Result<T, ClusterError> {
        what(self.way()?).map_err(|error| self.group.explain(error))
    }

    /// The number that the first rank has, and whether this one is the first. Behind the end each rank has its own.
    pub(crate) fn agree(&mut self, own: u64) -> Result<(u64, bool), ClusterError> {
        let is_first = self.group.is_first();
        if self.way.is_none() {
            return Ok((own, is_first));
        }
        let all = self.together(|way| Ok(way.all_gather(Bytes::copy_from_slice(&own.to_le_bytes()))?))?;
        let number = all.first().and_then(|number| number[..].try_into().ok().map(u64::from_le_bytes));
        Ok((number.ok_or(ClusterError::Message { what: "a number" })?, is_first))
    }

    /// Ends the job, when the other ranks have come to its end, too.
    pub(crate) fn finish(&mut self) {
        // Of a rank that is gone nothing comes; whoever reads parameters is told so.
        let _ = self.catch_up();
        if let Some(mut way) = self.way.take() {
            self.group.leave(&mut way);
        }
    }

    /// Adds the programs of a training step. Returns the number of the plan.
    pub(crate) fn plan(
        &mut self,
        training: &DistributedTraining,
        trainer: u32,
        arithmetic: Arithmetic,
    ) -> Result<u32, Error> {
        let (mut desc, _) = plan_of(training, &self.placement, trainer, arithmetic);
        let lookups = Lookups::of(training, &self.placement);
        for piece in &mut desc.pieces {
            piece.by_rows = lookups.ids.contains(&piece.id);
        }
        let plan = self.learn(&desc, crc32fast::hash(&desc.encode_to_vec()), training.shares)?;
        self.lookups.insert(plan, lookups);
        Ok(plan)
    }

    /// Adds the programs of a training step in stages. Returns the number of the plan.
    pub(crate) fn plan_stages(
        &mut self,
        training: &StagedTraining,
        trainer: u32,
        arithmetic: Arithmetic,
    ) -> Result<u32, Error> {
        let rank = self.way()?.rank();
        let mut hasher = crc32fast::Hasher::new();
        let mut own = None;
        for (number, Stage { compute, passes_on, .. }) in (0..).zip(&training.stages) {
            let desc = PlanDesc {
                trainer: EncodedProgram::of(compute),
                passes_on: *passes_on,
                servers: training.stages.iter().map(|stage| EncodedProgram::of(&stage.update)).collect(),
                states_of: trainer,
                ..everything(&self.placement).with(arithmetic)
            };
            hasher.update(&desc.encode_to_vec());
            if number == rank {
                own = Some(desc);
            }
        }
        let own = own.ok_or(ClusterError::Message { what: "a rank" })?;
        let plan = self.learn(&own, hasher.finalize(), training.shares)?;
        if let Some(stages) = &mut self.stages {
            stages.learn(plan, training, rank);
        }
        Ok(plan)
    }

    /// Learns the programs of this rank. `hash` is the same in all ranks if they have one plan.
    fn learn(&mut self, desc: &PlanDesc, hash: u32, shares: bool) -> Result<u32, Error> {
        self.together(|way| same(way, hash, "another network, updater or set of options"))?;
        self.plans += 1;
        if shares {
            self.sharing.insert(self.plans);
        }
        self.catch_up()?;
        self.refresh()?;
        self.gradients.learn(self.plans, desc, Some(Box::new(self.received.clone())))?;
        self.pieces.learn(self.plans, desc)?;
        for Placed { parameter, values, .. } in &self.values {
            let is_own = self.stages.is_none() || self.is_own(parameter);
            // A stage has the newest values of what it updates, whatever plan has updated it last.
            if is_own {
                self.gradients.set(parameter, values.as_slice());
            }
        }
        self.coming.forget();
        Ok(self.plans)
    }

    /// Whether this rank has a parameter, or a piece of it.
    fn is_own(&self, parameter: &str) -> bool {
        let rank = self.pieces.rank();
        self.placement.of(parameter).any(|piece| piece.server == rank)
    }

    /// Whether each rank has a part of the network.
    pub(crate) fn is_in_stages(&self) -> bool {
        self.stages.is_some()
    }

    /// Computes the gradients of a batch, with the other ranks. Returns the outputs of each shard.
    /// [`commit`](Self::commit) or [`abandon`](Self::abandon) has to follow.
    pub(crate) fn compute(
        &mut self,
        StepOf { plan, seed, step, rate, .. }: StepOf,
        table: &Table,
        shards: &mut FedShards,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let rows = table.rows()?;
        let leaves = shards.of(rows) as u32;
        let header = Bytes::from(MomentDesc { seed, step, rate }.encode_to_vec());
        let mut said = StepDesc { header: header.clone(), plan, rows: rows as u64, ..StepDesc::default() };
        said.stops = self.stop.wanted;
        self.give_rows(plan, table, shards, leaves)?;
        let own = self.compute_own(&mut said, table, shards, leaves);
        let (parts, failed) = match own {
            Ok(Computed { parts, results }) => {
                for (_, outputs) in results {
                    let outputs = OutputsDesc::decode(outputs);
                    said.outputs
                        .extend(outputs.map_err(|_| ClusterError::Message { what: "a result" })?.leaves);
                }
                (parts, None)
            }
            Err(error) => {
                said.error = Some(error.to_string());
                said.follows = matches!(&error, Error::Run(RunError::Exchange { .. }));
                (Vec::new(), Some(error))
            }
        };
        let mut to = vec![said.clone(); self.way()?.size() as usize];
        for part in parts {
            let owner = owner_of(&self.placement, part.piece);
            to[owner as usize].parts.push(part.into());
        }
        let heard = self.together(|way| all_to_all(way, to))?;
        let failed_itself = failed.is_some() && !said.follows;
        let of_others = heard.iter().zip(0..).filter(|(desc, _)| !desc.follows);
        let first = of_others.filter_map(|(desc, rank)| Some((rank, desc.error.as_ref()?))).next();
        match (failed, first) {
            (None, None) => {}
            // What is missing in this rank is missing because of the other one.
            (_, Some((rank, message))) if !failed_itself => {
                return Err(ClusterError::Step { message: format!("rank {rank}: {message}") }.into());
            }
            (Some(error), _) => return Err(error),
            (None, Some(_)) => return Err(ClusterError::Message { what: "a step" }.into()),
        }
        let (mut of_ranks, mut covers) = (Vec::new(), BTreeMap::<u32, Vec<(Node, Bytes)>>::new());
        for (rank, desc) in (0..).zip(heard) {
            if let Some(what) = difference(&desc, &said) {
                return Err(ClusterError::Apart { rank, what }.into());
            }
            self.stop.agreed |= desc.stops;
            of_ranks.push(desc.outputs.into_iter().map(|leaf| leaf.outputs).collect::<Vec<_>>());
            for PartDesc { piece, start, end, sum } in desc.parts {
                covers.entry(piece).or_default().push((Node::new(start, end), sum));
            }
        }
        let updates = covers.into_iter().map(|(piece, cover)| Update { piece, cover }).collect();
        self.waiting = Some(Waiting { plan, header, leaves, updates });
        Ok(match &self.stages {
            Some(stages) => stages.merge(plan, &of_ranks, leaves as usize),
            None => of_ranks.into_iter().flatten().collect(),
        })
    }

    /// Computes the shards of this rank.
    fn compute_own(
        &mut self,
        said: &mut StepDesc,
        table: &Table,
        shards: &mut FedShards,
        leaves: u32,
    ) -> Result<Computed, Error> {
        let mut encode = |at: u32| -> Result<Bytes, Error> {
            shards.take(table, at as usize)?;
            Ok(leaf::encode((0..shards.len(table)).map(|k| shards.feed(table, k))).into())
        };
        said.sample = crc32fast::hash(&encode((self.version % u64::from(leaves.max(1))) as u32)?);
        let way = self.way()?;
        let (rank, size) = (way.rank(), way.size());
        // A stage has a part of all shards.
        let run = match &self.stages {
            Some(_) => Node::new(0, leaves),
            None => run_of(rank, size, leaves),
        };
        if run.leaves() == 0 {
            return Ok(Computed { parts: Vec::new(), results: Vec::new() });
        }
        let rows = (run.start..run.end).map(encode).collect::<Result<_, _>>()?;
        let step = Step { version: self.version, attempt: 0 };
        let task = Task {
            number: 0,
            step,
            plan: said.plan,
            header: said.header.clone(),
            leaves,
            run,
            rows,
            servers: [].into(),
            alone: None,
        };
        match &self.stages {
            Some(stages) => {
                stages.way.begin();
                self.gradients.compute_stage(&task, stages.ahead(said.plan), &stages.way)
            }
            None => self.compute_and_send(&task),
        }
    }

    /// Computes shards, and sends their sums to the other ranks while it goes on. Those of this rank's pieces are returned.
    fn compute_and_send(&mut self, task: &Task<Bytes>) -> Result<Computed, Error> {
        let (mut to_others, placement) = (self.way()?.clone(), self.placement.clone());
        let kept = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&kept);
        let outlet = move |parts| {
            let parts = send_ahead(&mut to_others, parts, |piece| owner_of(&placement, piece));
            let parts = parts.map_err(|error| ExchangeError::Failed { message: error.to_string() })?;
            own.lock().unwrap_or_else(PoisonError::into_inner).extend(parts);
            Ok(())
        };
        let mut computed = self.gradients.compute(task, Some(Box::new(outlet)))?;
        let kept = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        let part = |PartDesc { piece, start, end, sum }| Part { piece, node: Node::new(start, end), sum };
        computed.parts.extend(kept.into_iter().map(part));
        Ok(computed)
    }

    /// Applies the step that was computed, and gives the new values to all ranks.
    pub(crate) fn commit(&mut self) -> Result<(), Error> {
        let Some(Waiting { plan, header, leaves, updates }) = self.waiting.take() else { return Ok(()) };
        let before = self.version;
        self.version += 1;
        let step = Step { version: before, attempt: 0 };
        // A norm of all gradients together is a sum over the ranks.
        let measures = match self.sharing.contains(&plan) {
            false => Vec::new(),
            true => {
                let own = self.pieces.measure(step, plan, &header, leaves, &updates)?;
                self.together(|way| Ok(way.all_gather(own)?))?
            }
        };
        self.pieces.apply(step, (plan, &header), leaves, &updates, &measures, self.version)?;
        match self.stages {
            Some(_) => self.take_own(plan, before)?,
            None => self.give_values(plan, before)?,
        }
        self.stale.extend(self.lookups.get(&plan).into_iter().flat_map(|lookups| &lookups.ids));
        Ok(())
    }

    /// Applies nothing of the step that was computed. All ranks have come to the same verdict.
    pub(crate) fn abandon(&mut self) {
        self.waiting = None;
    }
}
