//! What the master's process tells people: a log of commits, and how the job goes.
//!
//! Two environment variables of the master ask for it. `PADDLE_COMMITS` is a file that gets a line for each step that is
//! committed. `PADDLE_METRICS` is an address, as `127.0.0.1:9100`, at which [`status`](super::status) answers.

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use paddle_cluster::Settings;
use paddle_cluster::machine::{Entry, Warning};
use paddle_cluster::message::{Epoch, ManifestId, Process, Request, Role};

use super::status::Server;
use super::traffic::Traffic;
use super::{ClusterError, name_of, show};

/// The events that are kept.
const EVENTS: usize = 50;
/// The requests that are kept until they are committed. In synchronous training there is one.
const REQUESTS: usize = 4096;

/// How a job goes.
pub(super) struct Status {
    pub(super) begun: Instant,
    pub(super) servers: u32,
    pub(super) trainers: u32,
    pub(super) election: u32,
    pub(super) steps: u64,
    pub(super) rows: u64,
    /// The plan, the pass and the batch that were committed last.
    pub(super) at: Option<(u32, u64, u64)>,
    /// The times of the newest steps, with all rows so far.
    newest: VecDeque<(Instant, u64)>,
    /// How often the servers went back to a checkpoint because one was lost.
    pub(super) recoveries: u64,
    pub(super) deaths: BTreeMap<Role, u64>,
    pub(super) checkpoints: u64,
    pub(super) checkpoints_failed: u64,
    pub(super) members: Vec<(Role, u32, Process)>,
    /// What each worker's process has said last, and the sum of those before it.
    traffic: BTreeMap<(Role, u32), (Process, Traffic, Traffic)>,
    /// That of the master.
    pub(super) own: Traffic,
    pub(super) events: VecDeque<(Instant, String)>,
}

impl Status {
    pub(super) fn new(servers: u32, trainers: u32) -> Self {
        Status {
            begun: Instant::now(),
            servers,
            trainers,
            election: 0,
            steps: 0,
            rows: 0,
            at: None,
            newest: VecDeque::new(),
            recoveries: 0,
            deaths: BTreeMap::from([(Role::Server, 0), (Role::Trainer, 0)]),
            checkpoints: 0,
            checkpoints_failed: 0,
            members: Vec::new(),
            traffic: BTreeMap::new(),
            own: Traffic::default(),
            events: VecDeque::new(),
        }
    }

    /// The samples in a second, over the newest steps.
    pub(super) fn rate(&self) -> f64 {
        let Some((&(from, before), &(_, rows))) = self.newest.front().zip(self.newest.back()) else {
            return 0.0;
        };
        // A job that stands still has fewer and fewer.
        let time = from.elapsed().as_secs_f64();
        if time > 0.0 { (rows - before) as f64 / time } else { 0.0 }
    }

    /// What all processes of a role have sent and received.
    pub(super) fn traffic_of(&self, role: Role) -> Traffic {
        let mut sum = if role == Role::Master { self.own } else { Traffic::default() };
        for (_, (_, last, earlier)) in self.traffic.iter().filter(|((of, _), _)| *of == role) {
            sum += *last;
            sum += *earlier;
        }
        sum
    }

    fn event(&mut self, what: String) {
        self.events.push_back((Instant::now(), what));
        if self.events.len() > EVENTS {
            self.events.pop_front();
        }
    }
}

/// A status that threads share.
pub(super) type SharedStatus = Arc<Mutex<Status>>;

/// Locks a status.
pub(super) fn lock(status: &SharedStatus) -> MutexGuard<'_, Status> {
    status.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was requested, until it is committed.
struct Requested {
    first: u64,
    shards: usize,
    digest: u32,
}

/// Writes down what happens.
pub(super) struct Record {
    status: SharedStatus,
    commits: Option<File>,
    /// By plan, pass and batch.
    requested: BTreeMap<(u32, u64, u64), Requested>,
    /// The pass of each plan, and the samples of it that were requested.
    samples: BTreeMap<u32, (u64, u64)>,
    /// Those that were committed before the job began.
    before: (u64, u64),
    _server: Option<Server>,
}

impl Record {
    /// A record as the environment asks for it. `before` is a pass, and the samples of it that were committed before.
    pub(super) fn open(settings: &Settings, before: (u64, u64)) -> Result<Self, ClusterError> {
        let status = Arc::new(Mutex::new(Status::new(settings.servers, settings.trainers)));
        let server = match env::var("PADDLE_METRICS") {
            Ok(found) => {
                let address = found.parse().map_err(|_| ClusterError::Environment {
                    variable: "PADDLE_METRICS",
                    found: found.clone(),
                })?;
                Some(Server::open(address, Arc::clone(&status))?.0)
            }
            Err(_) => None,
        };
        let commits = match env::var_os("PADDLE_COMMITS") {
            Some(path) => {
                // A master that was started again goes on with the file. Its first line says from where.
                let file = File::options().create(true).append(true).open(&path);
                Some(file.map_err(|error| ClusterError::Start {
                    message: format!("the log of commits, {}: {error}", path.display()),
                })?)
            }
            None => None,
        };
        Ok(Record {
            status,
            commits,
            requested: BTreeMap::new(),
            samples: BTreeMap::new(),
            before,
            _server: server,
        })
    }

    fn write(&mut self, line: &str) {
        if let Some(file) = &mut self.commits
            && let Err(error) = file.write_all(line.as_bytes())
        {
            eprintln!("cluster: the log of commits ends here: {error}");
            self.commits = None;
        }
    }

    /// The user's loop goes on from a version: what was committed from there on is void.
    pub(super) fn resumed(&mut self, epoch: Epoch, version: u64) {
        self.write(&format!("resume election={} version={version}\n", epoch.election));
        let mut status = lock(&self.status);
        status.election = epoch.election;
        status.event(format!("the job begins at version {version}"));
    }

    /// The user's loop wants a step.
    pub(super) fn requested(&mut self, request: &Request<Bytes>) {
        if self.commits.is_none() {
            return;
        }
        let Request { plan, pass, batch, rows, ref leaves, .. } = *request;
        let (of, next) = self.samples.entry(plan).or_insert(self.before);
        if *of != pass {
            (*of, *next) = (pass, 0);
        }
        let mut digest = crc32fast::Hasher::new();
        leaves.iter().for_each(|leaf| digest.update(leaf));
        let requested = Requested { first: *next, shards: leaves.len(), digest: digest.finalize() };
        *next += rows;
        self.requested.insert((plan, pass, batch), requested);
        if self.requested.len() > REQUESTS {
            // One that was abandoned.
            self.requested.pop_first();
        }
    }

    /// A step is committed.
    pub(super) fn committed(&mut self, epoch: Epoch, entry: &Entry) {
        let Entry { version, plan, pass, batch, rows } = *entry;
        if let Some(Requested { first, shards, digest }) = self.requested.remove(&(plan, pass, batch)) {
            let Epoch { election, round } = epoch;
            self.write(&format!(
                "commit version={version} plan={plan} pass={pass} batch={batch} samples={first}..{} shards={shards} \
                 content={digest:08x} election={election} round={round}\n",
                first + rows
            ));
        }
        let mut status = lock(&self.status);
        status.steps += 1;
        status.rows += rows;
        status.at = Some((plan, pass, batch));
        let rows = status.rows;
        status.newest.push_back((Instant::now(), rows));
        if status.newest.len() > EVENTS {
            status.newest.pop_front();
        }
    }

    /// Something happened that a person should know.
    pub(super) fn warned(&mut self, warning: &Warning) {
        let mut status = lock(&self.status);
        match warning {
            Warning::GoingBack(_) => status.recoveries += 1,
            Warning::Dead(role, _) => *status.deaths.entry(*role).or_default() += 1,
            Warning::NotSaved(_) => status.checkpoints_failed += 1,
            _ => {}
        }
        if let Some(text) = show(warning) {
            status.event(text);
        }
    }

    /// A checkpoint is entered.
    pub(super) fn saved(&mut self, manifest: ManifestId) {
        let mut status = lock(&self.status);
        status.checkpoints += 1;
        status.event(format!("checkpoint of version {}", manifest.version));
    }

    /// A worker has said what it has sent and received.
    pub(super) fn traffic(&mut self, process: Process, role: Role, rank: u32, traffic: Traffic) {
        let mut status = lock(&self.status);
        let most = match role {
            Role::Server => status.servers,
            Role::Trainer => status.trainers,
            Role::Master => 0,
        };
        if rank >= most {
            return;
        }
        let (of, last, earlier) =
            status.traffic.entry((role, rank)).or_insert((process, traffic, Traffic::default()));
        if *of != process {
            *earlier += *last;
            *of = process;
        }
        *last = traffic;
    }

    /// Who is in the job, and what the master has sent and received.
    pub(super) fn now(&mut self, members: Vec<(Role, u32, Process)>, own: Traffic) {
        let mut status = lock(&self.status);
        status.own = own;
        for &(role, rank, process) in &members {
            if !status.members.contains(&(role, rank, process)) {
                status.event(format!("{} {rank} is in the job", name_of(role)));
            }
        }
        status.members = members;
    }
}
