//! What machines send each other.
//!
//! `P` is an opaque payload: the machines pass it on and look at nothing in it. It has to be cheap to clone.

use crate::tree::Node;
use std::sync::Arc;

/// A process; no two processes of a job have the same. A random number will do.
pub type Process = u64;

/// Which master, and which of its recoveries. A machine refuses what is of an older epoch than its own.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Epoch {
    /// Which master, counted by the coordination store.
    pub election: u32,
    /// How often this master took the servers back to a manifest.
    pub round: u32,
}

/// Which of the processes that had one rank. Later ones are greater, also those that a later master let in.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Incarnation {
    /// Which master let it in.
    pub election: u32,
    /// How many it let in before, plus 1; 0 for a process that was never let in.
    pub count: u32,
}

/// What a process does in a job.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Role {
    /// Runs the user's loop and says who does what.
    Master,
    /// Holds parameters and updates them.
    Server,
    /// Computes gradients.
    Trainer,
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sender {
    /// Its role.
    pub role: Role,
    /// Which of those with this role, from 0.
    pub rank: u32,
    /// Its process.
    pub process: Process,
    /// As what the master let it in.
    pub incarnation: Incarnation,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum To {
    /// To the process that the coordination store names as the master.
    Master,
    /// To this process. It has said its address in its `Hello`, or the master has told it.
    Process(Process),
}

/// One attempt to update the parameters. An attempt number is used once, so the sums of an attempt that was given
/// up are not those of the next, though the version is the same.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Step {
    /// How many updates were applied before it.
    pub version: u64,
    /// Which attempt of this master.
    pub attempt: u64,
}

/// A part of the parameters, with what belongs to it of the optimizer.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Piece {
    /// Its number; it may be in several plans.
    pub id: u32,
    /// The rank of the server that holds it.
    pub server: u32,
}

/// A network and its trainer: what a step computes and which pieces it updates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Plan<P> {
    /// Its number.
    pub id: u32,
    /// What it updates, by ascending numbers.
    pub pieces: Vec<Piece>,
    /// Whether an update needs what all servers find out about the sums of its step. Only for synchronous training.
    pub measures: bool,
    /// What workers execute.
    pub program: P,
}

/// One step of the user's loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Request<P> {
    /// What to compute.
    pub plan: u32,
    /// What trainers and servers need to know of this step: seeds, the learning rate.
    pub header: P,
    /// The rows of each leaf.
    pub leaves: Vec<P>,
    /// The pass that the batch belongs to.
    pub pass: u64,
    /// Which batch of the pass.
    pub batch: u64,
    /// How many rows the batch has.
    pub rows: u64,
    /// How much memory the request takes in the log from which steps are replayed.
    pub bytes: u64,
}

/// Names a manifest.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ManifestId {
    /// How many updates it contains.
    pub version: u64,
    /// In which epoch it was written.
    pub epoch: Epoch,
}

/// A state of all servers at one version: the object that each wrote is named by the manifest and the server's rank.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Manifest<P> {
    /// Its name.
    pub id: ManifestId,
    /// A digest of the content of each server's object, by rank.
    pub digests: Vec<P>,
    /// Where the user's loop was.
    pub note: P,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Server<P> {
    /// Its process.
    pub process: Process,
    /// Where it listens.
    pub address: P,
}

/// What one trainer computes of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Task<P> {
    /// Later tasks of a master have greater numbers.
    pub number: u64,
    /// The step that it is a part of.
    pub step: Step,
    /// What to compute.
    pub plan: u32,
    /// What the request says of the step.
    pub header: P,
    /// How many leaves the batch has.
    pub leaves: u32,
    /// The leaves of this trainer.
    pub run: Node,
    /// The rows of these leaves.
    pub rows: Vec<P>,
    /// All servers, by rank.
    pub servers: Arc<[Server<P>]>,
    /// In asynchronous training: the lowest attempt that is not finished. A server applies the sums as soon as it has
    /// them. Otherwise a step is applied when the master says so.
    pub alone: Option<u64>,
}

/// The gradient of one piece, summed over one node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Part<P> {
    /// Which piece.
    pub piece: u32,
    /// Over which leaves.
    pub node: Node,
    /// The sum.
    pub sum: P,
}

/// Values that are asked for. The answer repeats it, so that one to an earlier question is not taken for it.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wanted {
    /// The pieces of this plan.
    pub plan: u32,
    /// After so many updates; whatever is current if none.
    pub version: Option<u64>,
    /// The version at which this reader has the values already: the answer need not contain what is unchanged since.
    pub have: Option<u64>,
}

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Refusal {
    /// It is of another epoch than that of the refusing machine, which the message has.
    Epoch,
    /// The sender was replaced: this is the incarnation that it had.
    Superseded(Incarnation),
    /// The master does not know the sender, who should say `Hello`.
    Unknown,
    /// It is of another version; this one is current.
    Version(u64),
    /// It makes no sense.
    Invalid,
    /// The job is over.
    Finished,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message<P> {
    /// The epoch that the sender is in.
    pub epoch: Epoch,
    /// Who sent it.
    pub from: Sender,
    /// What it says.
    pub body: Body<P>,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Body<P> {
    /// Worker to master: let me in.
    Hello {
        /// When it was sent, on the worker's clock.
        sent: u64,
        /// Where the worker listens.
        address: P,
    },
    /// Worker to master: I am there.
    Heartbeat {
        /// When it was sent, on the worker's clock.
        sent: u64,
    },
    /// Worker to master: I was told to stop.
    Leave,
    /// Worker to master: I do not know this plan.
    AskPlan(u32),
    /// Master to worker: you are in.
    Welcome {
        /// When the `Hello` was sent.
        sent: u64,
        /// As what.
        incarnation: Incarnation,
        /// All plans so far.
        plans: Vec<Arc<Plan<P>>>,
    },
    /// Master to worker: I have your heartbeat.
    Alive {
        /// When it was sent.
        sent: u64,
    },
    /// Master to worker: you may stop.
    Farewell,
    /// Master to worker.
    Plan(Arc<Plan<P>>),
    /// Anybody to the sender of a message.
    Refused(Refusal),

    /// Master to trainer: compute this, and nothing else.
    Task(Arc<Task<P>>),
    /// Trainer to master: I have the task.
    Taken(u64),
    /// Trainer to master: all servers have the sums of the task.
    Computed {
        /// Which task.
        task: u64,
        /// What was computed over each node.
        results: Vec<(Node, P)>,
    },
    /// Trainer to master: the user's network has an error, the same wherever it is computed.
    Failed {
        /// Which task.
        task: u64,
        /// The error.
        error: P,
    },
    /// Master to trainer: I have what you say of the task.
    Recorded(u64),

    /// Trainer or master to server.
    Pull(Wanted),
    /// The answer.
    Values {
        /// What was asked for.
        wanted: Wanted,
        /// After how many updates the values are.
        version: u64,
        /// Which part of them this is, of how many. The parts of one answer to a trainer are in the order in which it needs them.
        part: [u32; 2],
        /// The values.
        values: P,
    },
    /// Trainer to server.
    Push {
        /// Which task the sums are of. A trainer may have several of one step.
        task: u64,
        /// Of which step.
        step: Step,
        /// Of which plan.
        plan: u32,
        /// How many leaves the batch has.
        leaves: u32,
        /// As in the task.
        alone: Option<u64>,
        /// As in the task.
        header: P,
        /// The how manieth message of sums of this task.
        number: u32,
        /// The sums.
        parts: Arc<[Part<P>]>,
    },
    /// Server to trainer: I have the sums, or need them no longer.
    Pushed {
        /// Of which task.
        task: u64,
        /// Which message.
        number: u32,
    },

    /// Master to server: measure the sums that you hold of this step.
    Measure {
        /// Which step.
        step: Step,
        /// Its plan.
        plan: u32,
        /// What the request says of the step.
        header: P,
        /// How many leaves the batch has.
        leaves: u32,
    },
    /// Server to master: what I found out. All servers get it with the commit.
    Measured {
        /// Which step.
        step: Step,
        /// What was found out.
        measure: P,
    },
    /// Master to server: apply the sums that you hold of this step.
    Commit {
        /// Which step.
        step: Step,
        /// Its plan.
        plan: u32,
        /// What the request says of the step.
        header: P,
        /// How many leaves the batch has.
        leaves: u32,
        /// What the servers have measured, by rank; nothing if the plan needs none.
        measures: Vec<P>,
    },
    /// Server to master: they are applied; I am at this version.
    Committed(u64),
    /// Master to server: save the state of exactly this version.
    Save {
        /// For which manifest.
        manifest: ManifestId,
        /// In asynchronous training: nothing is under way, and only the master has counted the steps.
        alone: bool,
    },
    /// Server to master: what I save is fixed, further steps do not change it.
    Saving(ManifestId),
    /// Server to master: it is saved.
    Saved {
        /// In which manifest.
        manifest: ManifestId,
        /// The digest of what was written.
        digest: P,
    },
    /// Server to master: it could not be saved.
    NotSaved(ManifestId),
    /// Master to server: drop everything and take the state of this manifest.
    Restore(Arc<Manifest<P>>),
    /// Server to master: I have this state.
    Restored(ManifestId),
    /// Server to master: there is no such state, or it is not what was written.
    Damaged(ManifestId),
}
