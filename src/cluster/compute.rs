//! What a trainer computes: gradients of leaves, and their sums over the nodes of the tree.

use std::collections::BTreeMap;

use bytes::Bytes;
use paddle_cluster::message::{Part, Task};
use paddle_cluster::tree::{Node, nodes_of};
use paddle_core::ops::Program;
use paddle_core::plan::{
    Backend, Buffers, Executor, HostSlice, Part as RunPart, Storage, initialize_states, stored_name,
};
use paddle_core::program::DType;
use prost::Message;

use super::all_reduce::Passing;
use super::asking::Ids;
use super::desc::{LeafOutputs, MomentDesc, OutputsDesc, PlanDesc};
use super::leaf::{FedLeaf, Leaf, scalar};
use super::lookups::{LookedUp, Wanted, looked_up};
use super::mail::{Mailbox, Outlet, Rows, Source};
use crate::Error;
use crate::cluster::ClusterError;
use crate::device::Device;
use crate::element::Values;
use crate::row_sums::SentRows;
use crate::session;
use crate::trainer::join;

/// The sums that were computed of a task, and the outputs of its nodes.
pub(super) struct Computed {
    pub(super) parts: Vec<Part<Bytes>>,
    pub(super) results: Vec<(Node, Bytes)>,
}

/// The parameters of a trainer, and the plans that it has learned.
pub(super) struct Gradients {
    backend: Device,
    /// Where values come from. Without it, they are set.
    source: Option<Box<dyn Source>>,
    storage: Storage,
    parameters: Buffers<Device>,
    plans: BTreeMap<u32, Plan>,
}

struct Plan {
    executor: Executor<Device>,
    /// Whether a stage sends something before it goes back.
    passes_on: bool,
    states: Buffers<Device>,
    mail: Mailbox,
    /// What is asked for in front of a task.
    lookups: Vec<LookedUp>,
    inputs: Vec<DType>,
    /// The values of the inputs behind those of a leaf: how a shard joins, and whether the sums are sent.
    joining: Vec<Values>,
}

impl Gradients {
    pub(super) fn new(backend: Device, source: Option<Box<dyn Source>>) -> Self {
        let (storage, parameters, plans) = (Storage::new(), Buffers::default(), BTreeMap::new());
        Gradients { backend, source, storage, parameters, plans }
    }

    /// Learns a plan. `rows` gives the rows of tables; without it, they are in the parameters.
    pub(super) fn learn(
        &mut self,
        id: u32,
        desc: &PlanDesc,
        rows: Option<Box<dyn Rows>>,
    ) -> Result<(), Error> {
        let program = desc.trainer.decode()?;
        for parameter in program.parameters() {
            let var = program.var(parameter);
            self.storage.insert(self.backend.element_bytes(var.ty.dtype), &var.name, &var.ty)?;
        }
        self.storage.allocate(&self.backend, &mut self.parameters, "the parameter")?;
        let (storage, states) = states_of(&self.backend, &program)?;
        let (backend, arithmetic) = (self.backend.clone(), desc.arithmetic());
        let mut executor = Executor::with_states(backend, &program, &self.storage, &storage, arithmetic)?;
        let mail = Mailbox::default();
        let is_far = rows.as_ref().is_some_and(|rows| rows.is_far());
        let lookups = if is_far { looked_up(&program) } else { Vec::new() };
        {
            let mut mail = mail.open();
            mail.values = self.source.as_ref().map(|source| source.another());
            (mail.rows, mail.sent_rows) = (rows, SentRows::of(&program));
            mail.pieces = desc.pieces.iter().map(|piece| (piece.name.clone(), piece.id)).collect();
        }
        executor.set_exchange(Box::new(mail.clone()));
        let passes_on = desc.passes_on;
        let inputs: Vec<_> = program.inputs().iter().map(|&input| program.ty(input).dtype).collect();
        let joining = Vec::new();
        self.plans.insert(id, Plan { executor, passes_on, states, mail, lookups, inputs, joining });
        Ok(())
    }

    /// Sets the values of a parameter, if a plan uses it.
    pub(super) fn set(&mut self, parameter: &str, values: HostSlice<'_>) {
        if let Some(stored) = self.storage.find(parameter) {
            self.parameters.upload(&self.backend, stored, values);
        }
    }

    /// Computes a task as a stage: all leaves, each of them forward and then forward and back. So many leaves are forward ahead of those
    /// that are back, so that other stages have something to do.
    pub(super) fn compute_stage(
        &mut self,
        task: &Task<Bytes>,
        ahead: u32,
        stage: &Passing,
    ) -> Result<Computed, Error> {
        let plan = self.plans.get_mut(&task.plan).ok_or(ClusterError::Message { what: "a task" })?;
        plan.begin(&task.header)?;
        plan.mail.open().stage = Some(stage.clone());
        let mut computed = Computed { parts: Vec::new(), results: Vec::new() };
        let (mut outputs, mut waiting) = (OutputsDesc::default(), BTreeMap::new());
        let node = Node::new(0, task.leaves);
        for at in 0..task.leaves + ahead {
            if let Some(leaf) = task.rows.get(at as usize) {
                let (place, leaf) = ((at as usize, task.leaves as usize), plan.read(leaf)?);
                let received = plan.go_forward(place, &leaf, &mut self.parameters)?;
                waiting.insert(at, (leaf, received));
            }
            let Some(back) = at.checked_sub(ahead) else { continue };
            let (leaf, received) = waiting.remove(&back).ok_or(ClusterError::Message { what: "a task" })?;
            {
                let mut mail = plan.mail.open();
                (mail.leaf, mail.stash) = (back, received);
            }
            let (k, count) = (back as usize, task.leaves as usize);
            plan.leaf((node, k, count), &leaf, &mut self.parameters, (&mut computed, &mut outputs))?;
        }
        computed.results.push((node, outputs.encode_to_vec().into()));
        Ok(computed)
    }

    /// Computes a task. Sums go to the outlet as they are ready, if there is one.
    pub(super) fn compute(&mut self, task: &Task<Bytes>, outlet: Option<Outlet>) -> Result<Computed, Error> {
        let plan = self.plans.get(&task.plan).ok_or(ClusterError::Message { what: "a task" })?;
        let mail = plan.mail.clone();
        mail.open().outlet = outlet;
        let computed = self.compute_nodes(task);
        mail.open().outlet = None;
        computed
    }

    fn compute_nodes(&mut self, task: &Task<Bytes>) -> Result<Computed, Error> {
        let plan = self.plans.get_mut(&task.plan).ok_or(ClusterError::Message { what: "a task" })?;
        plan.begin(&task.header)?;
        let leaves: Vec<_> = task.rows.iter().map(|leaf| plan.read(leaf)).collect::<Result<_, _>>()?;
        plan.ask_ahead(&leaves)?;
        let mut computed = Computed { parts: Vec::new(), results: Vec::new() };
        for node in nodes_of(task.run, task.leaves) {
            let [begin, end] = [node.start, node.end].map(|leaf| (leaf - task.run.start) as usize);
            let leaves = leaves.get(begin..end).ok_or(ClusterError::Message { what: "a task" })?;
            plan.node(node, leaves, &mut self.parameters, &mut computed)?;
        }
        Ok(computed)
    }
}

impl Plan {
    /// Begins a step.
    fn begin(&mut self, header: &Bytes) -> Result<(), Error> {
        let moment = MomentDesc::decode(&header[..]).map_err(|_| ClusterError::Message { what: "a task" })?;
        // What is left of a task that failed.
        self.mail.open().parts.clear();
        self.executor.set_seed(moment.seed);
        self.executor.set_step(moment.step);
        Ok(())
    }

    /// Has a stage pass on what others need of leaf `k` of `count`. Returns what it has received.
    fn go_forward(
        &mut self,
        (k, count): (usize, usize),
        leaf: &FedLeaf,
        parameters: &mut Buffers<Device>,
    ) -> Result<BTreeMap<String, Bytes>, Error> {
        if !self.passes_on {
            return Ok(BTreeMap::new());
        }
        {
            let mut mail = self.mail.open();
            (mail.leaf, mail.is_ahead) = (k as u32, true);
            mail.stash.clear();
        }
        self.feed((k, count), leaf)?;
        self.executor.run(RunPart::Forward, parameters)?;
        let mut mail = self.mail.open();
        mail.is_ahead = false;
        Ok(std::mem::take(&mut mail.stash))
    }

    /// Computes the leaves of a node.
    fn node(
        &mut self,
        node: Node,
        leaves: &[FedLeaf],
        parameters: &mut Buffers<Device>,
        computed: &mut Computed,
    ) -> Result<(), Error> {
        let mut outputs = OutputsDesc::default();
        for (k, leaf) in leaves.iter().enumerate() {
            self.leaf((node, k, leaves.len()), leaf, parameters, (computed, &mut outputs))?;
        }
        computed.results.push((node, outputs.encode_to_vec().into()));
        Ok(())
    }

    /// Reads a leaf.
    fn read(&self, leaf: &Bytes) -> Result<FedLeaf, Error> {
        let failed = || ClusterError::Message { what: "a leaf" };
        let leaf = Leaf::decode(leaf.clone()).map_err(|_| failed())?;
        Ok(FedLeaf::read(&leaf, &self.inputs).ok_or_else(failed)?)
    }

    /// Asks for the rows of tables that leaves look up, as far as they say which.
    fn ask_ahead(&mut self, leaves: &[FedLeaf]) -> Result<(), Error> {
        if self.lookups.is_empty() {
            return Ok(());
        }
        let mut wanted = Wanted::of(&self.lookups);
        for leaf in leaves {
            wanted.add(&self.lookups, |input| (input < leaf.len()).then(|| leaf.feed(input)));
        }
        let mut of_servers: BTreeMap<u32, Ids> = BTreeMap::new();
        for (LookedUp { piece, server, .. }, ids) in self.lookups.iter().zip(wanted.rows()) {
            of_servers.entry(*server).or_default().push((piece.clone(), ids));
        }
        if let Some(rows) = &mut self.mail.open().rows {
            rows.ask_ahead(of_servers).map_err(|error| ClusterError::Ended { why: error.to_string() })?;
        }
        Ok(())
    }

    /// Feeds leaf `k` of `count`.
    fn feed(&mut self, (k, count): (usize, usize), leaf: &FedLeaf) -> Result<(), Error> {
        let failed = || ClusterError::Message { what: "a leaf" };
        let own = &self.inputs[leaf.len()..];
        self.joining.resize_with(own.len(), || Values::new(DType::Bool));
        let Some((sends, joining)) = self.joining.split_last_mut() else { return Err(failed().into()) };
        join(joining, k, count);
        self.mail.open().sent_rows.begin(k, count);
        sends.set_scalar(f64::from(u8::from(k + 1 == count)));
        let (executor, joining) = (&mut self.executor, &self.joining);
        executor.begin(&|input| match input.checked_sub(leaf.len()) {
            None => leaf.feed(input),
            Some(input) => scalar(joining[input].as_slice()),
        })?;
        Ok(())
    }

    /// Computes leaf `k` of the `count` leaves of a node.
    fn leaf(
        &mut self,
        (node, k, count): (Node, usize, usize),
        leaf: &FedLeaf,
        parameters: &mut Buffers<Device>,
        (computed, outputs): (&mut Computed, &mut OutputsDesc),
    ) -> Result<(), Error> {
        self.mail.open().node = node;
        self.feed((k, count), leaf)?;
        let executor = &mut self.executor;
        executor.run(RunPart::Compute, parameters)?;
        outputs.leaves.push(outputs_of(executor));
        executor.update(parameters, &mut self.states)?;
        let mut mail = self.mail.open();
        if let Some(values) = &mut mail.values {
            values.settle();
        }
        computed.parts.append(&mut mail.parts);
        Ok(())
    }
}

/// The scalar outputs of the leaf that was just computed.
fn outputs_of(executor: &Executor<Device>) -> LeafOutputs {
    let output = |k: usize| match executor.output_shape(k).iter().product::<usize>() {
        1 => session::scalar(executor, k),
        _ => 0.0,
    };
    LeafOutputs { outputs: (0..executor.output_count()).map(output).collect() }
}

/// The states of a program, with their first values.
pub(super) fn states_of(backend: &Device, program: &Program) -> Result<(Storage, Buffers<Device>), Error> {
    let (mut storage, mut buffers) = (Storage::new(), Buffers::default());
    for state in program.states() {
        let ty = program.ty(state.var);
        storage.insert(backend.element_bytes(ty.dtype), &stored_name(program, state.var), ty)?;
    }
    storage.allocate(backend, &mut buffers, "the state")?;
    initialize_states(backend, program, &storage, &|_| true, &mut buffers)?;
    Ok((storage, buffers))
}
