//! What goes into a machine and what comes out.
//!
//! Whoever runs a machine hands it every event with the time of its clock, and carries out the effects **in their
//! order**: a `Read` sees the values before an `Apply` behind it, a `Save` saves what is there before it. Effects
//! may take long as long as this holds; their events come when they are done. [`Event::Tick`] is due at the
//! machine's `deadline`, which is asked for after each step.

use crate::message::*;
use crate::tree::Node;
use std::sync::Arc;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event<P> {
    /// A message came.
    Received(Message<P>),
    /// The deadline is over. One that comes too early or too late does no harm.
    Tick,
    /// To the master: the connection to this process broke, and its host says that it is gone.
    Disconnected(Process),
    /// To a worker: it was told to stop, as by SIGTERM.
    Drain,

    /// To a trainer: some sums of its task are there. They are sent while others are computed. In asynchronous training
    /// all sums of a piece come at once.
    Sums {
        /// Which task.
        task: u64,
        /// The sums of each node of the task's run.
        parts: Vec<Part<P>>,
    },
    /// To a trainer: all of its task is computed.
    Computed {
        /// Which task.
        task: u64,
        /// What else was computed over each node of the run: the cost, metrics.
        results: Vec<(Node, P)>,
    },
    /// To a trainer: the user's network has an error that it has wherever it is computed.
    Failed {
        /// Which task.
        task: u64,
        /// The error.
        error: P,
    },

    /// To a server: a part of the values was read. There is at least one, and each goes as soon as it is read, so that the first can be
    /// used while the others are on their way.
    Values {
        /// What the effect had.
        reader: Reader,
        /// Which part this is, of how many.
        part: [u32; 2],
        /// The values.
        values: P,
    },
    /// To a server: the sums of a step are measured.
    Measured {
        /// Which step.
        step: Step,
        /// What was found out; the same for the same sums.
        measure: P,
    },
    /// To a server: a step is applied.
    Applied(Step),
    /// To a server: its state is written, with this digest of the content, or could not be.
    SaveDone {
        /// Which manifest.
        manifest: ManifestId,
        /// The digest, taken from the content before it was written.
        digest: Option<P>,
    },
    /// To a server: how it went.
    RestoreDone {
        /// Which manifest.
        manifest: ManifestId,
        /// How it went.
        outcome: Restoration,
    },

    /// To the master: this process is the master now. Nothing else is done before.
    Elected {
        /// How many masters were elected before, plus 1. The store never gives the same again.
        election: u32,
        /// The manifests of the store: at least one, at most the two newest count.
        manifests: Vec<Manifest<P>>,
    },
    /// To the master: there is a new plan.
    Plan(Plan<P>),
    /// To the master: the user's loop wants a step. The next one waits for the end of this one.
    Request(Request<P>),
    /// To the master: what is to become of a step whose results the user's loop has.
    Verdict {
        /// The step of the results.
        step: Step,
        /// What is to become of it.
        verdict: Verdict<P>,
    },
    /// To the master: the values of this plan are wanted as they are after all steps committed so far.
    Fetch(u32),
    /// To the master: a manifest is wanted at the next occasion.
    Save,
    /// To the master: the job is over. The store has it already, conditional on this master's election: an old master
    /// must not end the workers of a new one.
    Finish,
    /// To the master: what became of a manifest in the store.
    Manifest {
        /// Which.
        manifest: ManifestId,
        /// What became of it.
        outcome: Writing,
    },
}

/// What is to become of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<P> {
    /// It is applied.
    Commit {
        /// Where the user's loop is after it.
        note: P,
    },
    /// Nothing is applied.
    Abandon,
}

/// How the restoration of a server's state went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restoration {
    /// The server has the state.
    Done,
    /// The object is not there, or not what was written.
    Damaged,
    /// The storage does not answer. It is asked again later.
    Unavailable,
}

/// What became of a manifest in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// It is there, for good.
    Done,
    /// It is not known whether it is there. It is tried again later.
    Failed,
    /// Another master was elected: this one is none any more.
    Lost,
}

/// Who reads values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    /// Where they go: all that ask for the same get each part before anyone gets the next.
    pub to: Vec<Process>,
    /// What was asked for.
    pub wanted: Wanted,
    /// After how many updates the values are.
    pub version: u64,
    /// The epoch of the server.
    pub epoch: Epoch,
}

/// A piece that a step updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update<P> {
    /// Which piece.
    pub piece: u32,
    /// The sums of nodes that together are the tree over all leaves, in order: to be combined by
    /// [`tree::fold`](crate::tree::fold).
    pub cover: Vec<(Node, P)>,
}

/// A step in the commit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How many updates were there before it.
    pub version: u64,
    /// What was computed.
    pub plan: u32,
    /// The pass that the batch belongs to.
    pub pass: u64,
    /// Which batch of the pass.
    pub batch: u64,
    /// How many rows the batch had.
    pub rows: u64,
}

/// Why a machine ended. It does nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The job is over.
    Finished,
    /// It was told to stop, and has handed back what it held.
    Left,
    /// Another process has its rank.
    Superseded,
    /// There is a newer master.
    Deposed,
    /// The servers had to go back to before the place where this process began: the user's loop has to go back, too,
    /// so the process has to be started again.
    Restart,
    /// No manifest can be restored.
    NoManifest,
    /// A step that was applied before fails when it is done again.
    ReplayFailed,
}

/// What was computed over nodes that together are the tree over all leaves, in order; or why nothing was.
pub type Outcome<P> = Result<Vec<(Node, P)>, StepError<P>>;

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepError<P> {
    /// The user's network has an error.
    User(P),
    /// So many trainers died while they computed these leaves.
    Poison {
        /// How many.
        deaths: u32,
        /// Which leaves.
        leaves: Node,
    },
    /// The request makes no sense: no leaves or too many, an unknown plan, or another one is under way.
    Invalid,
}

/// Something that a person should know; the job goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A worker is dead or was replaced.
    Dead(Role, u32),
    /// All servers go back to a manifest.
    GoingBack(ManifestId),
    /// A manifest is damaged.
    Damaged(ManifestId),
    /// A manifest could not be written.
    NotSaved(ManifestId),
    /// A plan makes no sense: a piece twice, or on a server that is not there.
    InvalidPlan(u32),
    /// A sum that a trainer computed is of no piece of the plan or of no leaf of the task.
    InvalidSum(u32),
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Effect<P> {
    /// Send a message, or try to.
    Send {
        /// To whom.
        to: To,
        /// The message.
        message: Message<P>,
    },
    /// Of a worker: these are the servers, by rank.
    Connect(Arc<[Server<P>]>),
    /// Of a worker: a plan that comes up in what follows.
    Learn(Arc<Plan<P>>),
    /// Of a machine: it has ended.
    End(End),
    /// Of a machine: tell a person.
    Warn(Warning),

    /// Of a trainer: begin to compute a task. The values come while it is computed; what needs one that has not come waits for it.
    Compute {
        /// What to compute.
        task: Arc<Task<P>>,
        /// The version of the plan's values that the trainer has from before. What is unchanged since then does not come.
        have: Option<u64>,
    },
    /// Of a trainer: values for the task that is computed have come.
    Arrived {
        /// Which task.
        task: u64,
        /// From which server.
        server: u32,
        /// The values.
        values: P,
        /// Whether all of the server's values are there now.
        is_last: bool,
    },
    /// Of a trainer: this task is not wanted any more.
    Cancel(u64),

    /// Of a server: read values.
    Read(Reader),
    /// Of a server: find out what the other servers need to know of these sums. It changes no piece.
    Measure {
        /// Of which step.
        step: Step,
        /// Of which plan.
        plan: u32,
        /// What the request says of the step.
        header: P,
        /// How many leaves the batch has.
        leaves: u32,
        /// The pieces.
        updates: Vec<Update<P>>,
    },
    /// Of a server: update pieces. If the plan needs measures, this step is the one that was measured last.
    Apply {
        /// Which step.
        step: Step,
        /// Of which plan.
        plan: u32,
        /// What the request says of the step.
        header: P,
        /// How many leaves the batch has.
        leaves: u32,
        /// The pieces.
        updates: Vec<Update<P>>,
        /// What the servers have measured, by rank; nothing if the plan needs none.
        measures: Vec<P>,
    },
    /// Of a server: write the state. What is written has to be fixed before the next effect.
    Save(ManifestId),
    /// Of a server: drop the state and take this one. An earlier restoration that is under way is given up.
    Restore(Arc<Manifest<P>>),

    /// Of the master: the servers are at a manifest, and the user's loop goes on from there. Entries of the commit
    /// log from this version on are void, and so are manifests of later versions, which are damaged: the store drops
    /// both in one transaction, if this master's election is the newest there, before the loop goes on.
    Resume {
        /// How many updates are applied.
        version: u64,
        /// Where the user's loop was.
        note: P,
    },
    /// Of the master: a step is computed. The master waits for the verdict.
    Results {
        /// Which step.
        step: Step,
        /// What was computed over nodes that together are the tree over all leaves, in order.
        results: Vec<(Node, P)>,
    },
    /// Of the master: a step is committed; nothing can undo it but the loss of this process.
    Committed(Entry),
    /// Of the master: a step has failed, and nothing was applied.
    StepFailed(StepError<P>),
    /// Of the master: a step that was committed before was computed again.
    Replayed {
        /// How many updates were there before it.
        version: u64,
        /// What was computed; the same as the first time.
        results: Vec<(Node, P)>,
    },
    /// Of the master: values that were fetched.
    Fetched {
        /// Of which plan.
        plan: u32,
        /// After how many updates.
        version: u64,
        /// The values of each server, by rank; one server may give several parts.
        values: Vec<P>,
    },
    /// Of the master: enter a manifest into the store, if this master's election is the newest there. The store
    /// then has this one and those of `keep`, in one transaction.
    CommitManifest {
        /// The manifest.
        manifest: Arc<Manifest<P>>,
        /// Which of the earlier ones stay.
        keep: Vec<ManifestId>,
    },
    /// Of the master: delete the objects of all manifests but these, and of none that is newer than the last.
    Prune(Vec<ManifestId>),
}
