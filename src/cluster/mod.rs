//! Training on a cluster: parameter servers that hold the parameters, and trainers that compute gradients.
//!
//! The process that runs the user's loop is the master. A step cuts the batch into shards ([`Options::shards`]), which the
//! trainers share. Gradients are added up in an order that depends on the number of shards alone, so parameters, costs and
//! metrics are those of one machine, bit for bit, whatever computes them: trainers may come, go and die at any time.
//!
//! [`Options::shards`]: crate::Options::shards

mod all_reduce;
mod any_job;
mod arrivals;
mod asking;
mod begin;
mod compute;
#[cfg(feature = "etcd")]
mod coordination;
#[cfg(not(feature = "etcd"))]
#[path = "without_etcd.rs"]
mod coordination;
mod desc;
mod devices;
mod dist_train;
mod error;
mod grpc;
mod job;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod leaf;
mod link;
mod lookups;
mod mail;
mod master;
mod net;
mod operators;
mod pieces;
mod processes;
mod ranks;
mod record;
mod recovery;
mod refusal;
mod relay;
mod status;
mod store;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "without_tls.rs"]
mod tls;
mod traffic;
mod values;
mod worker;

use std::num::NonZero;
use std::str::FromStr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use paddle_cluster::MOST_STEPS;
use paddle_cluster::machine::Warning;
use paddle_cluster::message::Role;

use crate::options::Options;

pub(crate) use self::any_job::{AnyJob, Begun, SharedJob, lock};
pub(crate) use self::begin::Beginning;
use self::devices::Devices;
pub use self::dist_train::dist_train;
pub use self::error::ClusterError;
pub(crate) use self::job::{Placed, StepOf};
#[cfg(feature = "kubernetes")]
pub use self::kubernetes::{JobStatus, KubernetesJob};
use self::link::{Input, Threads};
pub(crate) use self::operators::remember;
pub use self::operators::with_operators_of;
pub use self::processes::WorkerStatus;
use self::processes::{Folder, Processes};
pub(crate) use self::recovery::{Interrupted, Note, digest};
pub use paddle_engines::collective;
#[cfg(feature = "kubernetes")]
pub use paddle_engines::{image::ImageError, kubernetes::KubernetesError, launch::LaunchError};

/// Machines that train together.
///
/// ```
/// use paddle::cluster::Cluster;
/// use paddle::{Adam, Options, Parameters, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
/// let rows = [net.row([0.0, 1.0], 3.0), net.row([1.0, 0.0], 2.0), net.row([1.0, 1.0], 4.0)];
/// let options = Options::default().shards(3);
///
/// let mut alone = Parameters::create(&net)?;
/// Trainer::new(Adam::new(0.1)).step_with(&net, &mut alone, &rows, &options)?;
///
/// // Two parameter servers and three trainers, as threads of this process.
/// let cluster = Cluster::threads(3).servers(2);
/// let mut together = Parameters::create(&net)?;
/// Trainer::new(Adam::new(0.1)).on(&cluster).step_with(&net, &mut together, &rows, &options)?;
/// assert_eq!(together.get::<f32>("fc.w")?, alone.get::<f32>("fc.w")?);
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone)]
pub struct Cluster(Arc<Mutex<Inner>>);

struct Inner {
    kind: Kind,
    servers: NonZero<u32>,
    trainers: u32,
    whole: bool,
    /// Whether each rank has the part of a network that is on its device.
    in_stages: bool,
    devices: Devices,
    /// How many earlier steps values may lack, if steps are asynchronous.
    staleness: Option<u64>,
    options: Options,
    job: SharedJob,
    /// The number of trainers of the user that are on the cluster.
    users: u32,
    running: Running,
}

/// What the machines of a cluster are.
#[derive(Clone)]
enum Kind {
    Threads,
    Processes,
    /// Something else has started the processes. This one is the master.
    Ranks(ranks::Ranks),
    /// Ranks that train as equals, of which this process is one.
    Group(Arc<all_reduce::Group>),
    /// Its processes are started by `dist_train`, which this process is outside of.
    #[cfg(feature = "kubernetes")]
    Kubernetes(Box<KubernetesJob>),
}

/// What runs for a job.
#[derive(Default)]
struct Running {
    threads: Option<Threads>,
    to_master: Option<Sender<Input>>,
    // The processes end before their folder is deleted.
    processes: Option<Processes>,
    folder: Option<Folder>,
    /// The number of its master.
    election: Option<u32>,
}

impl Cluster {
    /// So many trainers, and a parameter server, as threads of this process. It shows that a network trains on a cluster as it
    /// does alone; it is not faster.
    pub fn threads(trainers: u32) -> Self {
        Self::of(Kind::Threads, trainers)
    }

    /// So many trainers, and a parameter server, as processes on this machine. They run this program with the same arguments,
    /// and take their role here: **in these processes this function does not return**. So what stands before it is run in
    /// every process, and it belongs to the beginning of `main`. A process that dies is started again, and no bit changes. One whose `main` returns
    /// an error for five times within a minute each ends the job with that error, and with its role and rank.
    ///
    /// Each process computes on one thread, unless the environment variable `PADDLE_THREADS` says how many.
    pub fn local(trainers: u32) -> Self {
        processes::take_role();
        Self::of(Kind::Processes, trainers)
    }

    /// The cluster whose processes a launcher has started, each with the same program and with a rank in its environment:
    /// torchrun's `RANK`, `WORLD_SIZE` and `MASTER_ADDR`, mpirun, Slurm, or an Indexed Job of Kubernetes. Rank 0 is the master,
    /// `1..=servers` are parameter servers, all others are trainers. **In servers and trainers this function does not return**,
    /// so it belongs to the beginning of `main`. `None` if there is no rank in the environment.
    ///
    /// Two further variables are the same in all processes: `PADDLE_STORE` is a folder that all of them see, for checkpoints, or with
    /// the feature `kubernetes` an address such as `s3://bucket/prefix`, and `PADDLE_SECRET` is a file whose content only they know. `PADDLE_ADDRESS` is the address at which a process can be
    /// reached, if that is not the one from which it reaches the master.
    ///
    /// With the feature `etcd`, `PADDLE_ETCD` is the address of an etcd, as `http://10.0.0.7:2379`, in which the master of the job
    /// `PADDLE_JOB` holds a lock with its address: workers find it wherever it is started again, and of two masters one commits.
    ///
    /// With the feature `tls`, `PADDLE_TLS` is a folder with `ca.pem`, `cert.pem` and `key.pem`: processes then show each other
    /// certificates, which that CA has to have signed for the name `paddle`, and what they say is encrypted.
    ///
    /// # Errors
    /// [`ClusterError::Rank`] if the variables contradict each other; [`ClusterError::Environment`] if one is missing;
    /// [`ClusterError::Start`] if the secret cannot be read; [`ClusterError::Certificates`] if certificates cannot be used.
    pub fn ranks(servers: u32) -> Result<Option<Self>, ClusterError> {
        Ok(ranks::take_role(servers)?.map(Self::of_ranks))
    }

    /// A job on Kubernetes, which [`dist_train`] starts: it checks the network and the options, builds an image of this program, pushes
    /// it, applies the job, and follows it to its end; then the parameters are those of the job. On Ctrl-C it asks whether to leave the
    /// job or to end it. The same call again follows the job that runs; a job of the same name that differs is an error.
    ///
    /// The same program with the same arguments is every process of the job. In a pod of it, this function takes the role of the pod's
    /// rank: **in servers and trainers it does not return**, so it belongs to the beginning of `main`. The master's process goes on.
    ///
    /// The program has to be static, which a program for `x86_64-unknown-linux-musl` is. No daemon of Docker is needed.
    ///
    /// ```no_run
    /// use paddle::cluster::{Cluster, KubernetesJob, dist_train};
    /// use paddle::reader::{DataSet, Reader};
    /// use paddle::{Options, Parameters, Sgd, Trainer, network};
    ///
    /// let job = KubernetesJob::new("line").trainers(4).image("registry.example/line").store("s3://bucket/jobs");
    /// let cluster = Cluster::kubernetes(job).servers(15).credentials("kube_cluster_tls.pem");
    /// let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
    /// let rows = [net.row(0.0, 1.0), net.row(1.0, 3.0)];
    /// let mut parameters = Parameters::create(&net)?;
    /// let cluster = cluster.options(Options::default().shards(2).progress());
    /// dist_train(&net, &mut parameters, Trainer::new(Sgd::new(0.3)), rows.iter().passes(10).batch(2), cluster)?;
    /// # Ok::<(), paddle::Error>(())
    /// ```
    #[cfg(feature = "kubernetes")]
    pub fn kubernetes(job: impl Into<KubernetesJob>) -> Self {
        let job = job.into();
        // What is wrong with an environment is said by `dist_train`, which looks again.
        if let Ok(Some(ranks)) = ranks::take_role_in_pod() {
            return Self::of_ranks(ranks);
        }
        let trainers = job.trainers_wanted();
        Self::of(Kind::Kubernetes(Box::new(job)), trainers)
    }

    /// Names the file with the credentials for Kubernetes: [`KubernetesJob::credentials`].
    #[cfg(feature = "kubernetes")]
    pub fn credentials(self, path: impl Into<std::path::PathBuf>) -> Self {
        self.change_job(|job| job.credentials(path))
    }

    /// Has [`dist_train`] print the [manifests](Self::manifests) and start nothing.
    #[cfg(feature = "kubernetes")]
    pub fn dry_run(self) -> Self {
        self.change_job(|mut job| {
            job.action = kubernetes::Action::DryRun;
            job
        })
    }

    /// The manifests of a job on Kubernetes as YAML, as they would be applied; empty for other clusters. The contents of the secret are
    /// left out, and the image has its name: its digest is known when it is built.
    ///
    /// # Errors
    /// [`ClusterError::Launch`] if a name or a quantity is none.
    #[cfg(feature = "kubernetes")]
    pub fn manifests(&self) -> Result<String, ClusterError> {
        let inner = self.inner();
        match &inner.kind {
            Kind::Kubernetes(job) => job.manifests(inner.servers.get()),
            _ => Ok(String::new()),
        }
    }

    #[cfg(feature = "kubernetes")]
    fn change_job(self, change: impl FnOnce(KubernetesJob) -> KubernetesJob) -> Self {
        {
            let mut inner = self.inner();
            if let Kind::Kubernetes(job) = &mut inner.kind {
                **job = change((**job).clone());
            }
        }
        self
    }

    /// The job on Kubernetes that has to be started, if this process is outside of it. Within it, the process takes its role.
    #[cfg(feature = "kubernetes")]
    fn to_start(&self) -> Result<Option<KubernetesJob>, ClusterError> {
        let mut inner = self.inner();
        let Kind::Kubernetes(job) = &inner.kind else { return Ok(None) };
        match ranks::take_role(inner.servers.get())? {
            None => Ok(Some((**job).clone())),
            Some(ranks) => {
                inner.trainers = ranks.trainers;
                inner.kind = Kind::Ranks(ranks);
                Ok(None)
            }
        }
    }

    fn of_ranks(ranks: ranks::Ranks) -> Self {
        let (servers, trainers) = (ranks.servers, ranks.trainers);
        Self::of(Kind::Ranks(ranks), trainers).servers(servers)
    }

    fn of(kind: Kind, trainers: u32) -> Self {
        Cluster(Arc::new(Mutex::new(Inner {
            kind,
            servers: NonZero::<u32>::MIN,
            trainers,
            whole: false,
            in_stages: false,
            devices: Devices::default(),
            staleness: None,
            options: Options::default(),
            job: SharedJob::default(),
            users: 0,
            running: Running::default(),
        })))
    }

    /// The processes of a cluster of [processes](Self::local), once its job has begun.
    pub fn workers(&self) -> Vec<WorkerStatus> {
        self.inner().running.processes.as_ref().map(Processes::workers).unwrap_or_default()
    }

    /// Sets the number of parameter servers; 0 is 1. The default is 1.
    pub fn servers(self, servers: u32) -> Self {
        self.inner().servers = NonZero::new(servers).unwrap_or(NonZero::<u32>::MIN);
        self
    }

    /// Places each parameter as a whole on one server. Updates that need all of a parameter need it, as those of `Lamb` do.
    pub fn whole(self) -> Self {
        self.inner().whole = true;
        self
    }

    /// Has steps be asynchronous: a server updates as soon as it has a step's gradients, without regard for other steps, and up
    /// to `staleness` + 1 steps are under way at once, each computed by one trainer. It has to be said before the first step.
    ///
    /// What holds: each batch is applied once, also where processes die; what a step is computed with lacks at most `staleness`
    /// of the steps before it; costs come in the order of the batches. What does not hold: bits depend on who was faster, but
    /// with a staleness of 0.
    ///
    /// [`Trainer::train`](crate::Trainer::train) begins the steps of further batches before the first one has ended, so
    /// `BeginIteration` is up to `staleness` batches ahead of `EndIteration`, which has the cost of its own batch. At the end
    /// of a pass, in front of a checkpoint, and when parameters are read, it waits for all steps that are under way. A cost that
    /// is not finite ends the training, but its update is applied. A master that is started again goes on from the
    /// [checkpoint](crate::Options::checkpoint) of the options, and not from the job's own. [`Trainer::step`](crate::Trainer::step) waits for its own step,
    /// so with it there is only one under way.
    ///
    /// ```
    /// use paddle::cluster::Cluster;
    /// use paddle::reader::{DataSet, Reader};
    /// use paddle::{Options, Parameters, Sgd, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
    /// let rows = [net.row(0.0, 1.0), net.row(1.0, 3.0)];
    /// let cluster = Cluster::threads(3).asynchronous(2);
    /// let mut parameters = Parameters::create(&net)?;
    /// let mut trainer = Trainer::new(Sgd::new(0.1)).on(&cluster);
    /// trainer.train(&net, &mut parameters, rows.iter().passes(9).batch(1), Options::default(), |_| Ok(()))?;
    /// assert_eq!(trainer.steps(&net)?, 18);
    /// # Ok::<(), paddle::Error>(())
    /// ```
    pub fn asynchronous(self, staleness: u64) -> Self {
        {
            let mut inner = self.inner();
            if lock(&inner.job).is_none() {
                // More steps than servers remember are never under way.
                inner.staleness = Some(staleness.min(MOST_STEPS));
            }
        }
        self
    }

    /// The number of servers, and whether parameters are placed as a whole.
    #[cfg(feature = "kubernetes")]
    pub(crate) fn placed(&self) -> (NonZero<u32>, bool) {
        let inner = self.inner();
        (inner.servers, inner.whole)
    }

    /// How many earlier steps values may lack, if steps are asynchronous.
    pub(crate) fn staleness(&self) -> Option<u64> {
        self.inner().staleness
    }

    /// Sets the options with which [`dist_train`] trains.
    pub fn options(self, options: Options) -> Self {
        self.inner().options = options;
        self
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a new trainer of the user.
    pub(crate) fn add_user(&self) -> u32 {
        let mut inner = self.inner();
        inner.users += 1;
        inner.users
    }

    /// The job, if it has begun.
    pub(crate) fn job(&self) -> SharedJob {
        Arc::clone(&self.inner().job)
    }
}

/// The cluster that a word of a command line means: `local:4` and `threads:4` have four trainers, `ranks:2` has two servers; `all-reduce:4` has four
/// ranks that train as equals, `stages:4` has four that are stages of the network, and `all-reduce` as many as a launcher has started; with the feature `mpi`, `mpi` has those that `mpirun` has started. With the
/// feature `kubernetes`, `kubernetes:NAME,servers=2,trainers=4,image=registry.example/name,store=s3://bucket/jobs` is a job there; further
/// words of it are `credentials=FILE`, `server=https://…`, `namespace=`, `program=FILE`, `cpu=`, `memory=` and `docker`, and `status`, `logs`, `scale=8` and
/// `stop`, with which [`dist_train`] does that with the job.
///
/// ```
/// use paddle::cluster::Cluster;
///
/// assert!("threads:4".parse::<Cluster>().is_ok());
/// let error = "four".parse::<Cluster>().err().unwrap();
/// assert_eq!(error.to_string(), "`four` is no cluster; `local:4` is one of four trainers on this machine, `all-reduce:4` one of four equals");
/// ```
impl FromStr for Cluster {
    type Err = ClusterError;

    fn from_str(word: &str) -> Result<Self, ClusterError> {
        let count = |count: &str| count.parse().ok().filter(|&count: &u32| count > 0);
        let no_rank = || ClusterError::Rank {
            message: "no environment variable says the rank of this process".to_string(),
        };
        match word.split_once(':').map(|(kind, trainers)| (kind, count(trainers))) {
            Some(("threads", Some(trainers))) => Ok(Self::threads(trainers)),
            Some(("local", Some(trainers))) => Ok(Self::local(trainers)),
            Some(("all-reduce", Some(ranks))) => Ok(Self::all_reduce(ranks)),
            Some(("stages", Some(ranks))) => Ok(Self::all_reduce(ranks).stages()),
            #[cfg(feature = "mpi")]
            None if word == "mpi" => {
                let message = "MPI cannot be started, or was started before".to_string();
                Ok(Self::over(collective::Mpi::start().ok_or(ClusterError::Start { message })?))
            }
            None if word == "all-reduce" => Self::all_reduce_ranks()?.ok_or_else(no_rank),
            Some(("ranks", Some(servers))) => Self::ranks(servers)?.ok_or_else(no_rank),
            #[cfg(feature = "kubernetes")]
            Some(("kubernetes", None)) => {
                let parsed = word.split_once(':').and_then(|(_, job)| KubernetesJob::parse(job));
                let (job, servers) = parsed.ok_or(ClusterError::Word { found: word.to_string() })?;
                Ok(Self::kubernetes(job).servers(servers))
            }
            _ => Err(ClusterError::Word { found: word.to_string() }),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(job) = lock(&self.job).as_mut() {
            job.finish();
        }
        if let Some(threads) = self.running.threads.take() {
            threads.stop_all();
        }
        if let Kind::Group(group) = &self.kind {
            group.end();
        }
        drop(self.running.processes.take());
        if let (Kind::Ranks(_), Some(_)) = (&self.kind, &self.running.to_master) {
            // Whoever has not heard that the job is over is told when it next says that it is there.
            thread::sleep(FAREWELL);
        }
        if let Some(to_master) = self.running.to_master.take() {
            // Its thread may have ended.
            let _ = to_master.send(Input::Stop);
        }
    }
}

/// The time in which all workers hear that the job is over: more than two of their heartbeats.
const FAREWELL: Duration = Duration::from_secs(1);

fn name_of(role: Role) -> &'static str {
    match role {
        Role::Master => "master",
        Role::Server => "server",
        Role::Trainer => "trainer",
    }
}

/// What a warning tells the user; the job goes on.
fn show(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::GoingBack(manifest) => {
            format!("all servers go back to the checkpoint of version {}", manifest.version)
        }
        Warning::Dead(role, rank) => format!("{} {rank} is gone", name_of(*role)),
        Warning::Damaged(manifest) => {
            format!("the checkpoint of version {} is damaged; the one before is taken", manifest.version)
        }
        Warning::NotSaved(manifest) => {
            format!("the checkpoint of version {} cannot be written; training goes on", manifest.version)
        }
        Warning::InvalidPlan(_) | Warning::InvalidSum(_) => {
            format!("a process sent what makes no sense; it was left out ({warning:?})")
        }
    })
}

#[cfg(test)]
mod tests {
    use paddle_cluster::message::{Body, Incarnation, Message, Plan, Sender as From, To};

    use bytes::Bytes;

    use super::begin::MASTER;
    use super::link::{Frame, Link};
    use super::*;
    use crate::{Adam, Parameters, Trainer, network};

    #[test]
    fn a_thread_whose_work_fails_is_followed_by_another_one() {
        let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
        let rows = [net.row([0.0, 1.0], 3.0), net.row([1.0, 0.0], 2.0), net.row([1.0, 1.0], 4.0)];
        let options = Options::default().shards(3);
        let trainings = [false, true].map(|fails| {
            let cluster = Cluster::threads(2).servers(2);
            let mut parameters = Parameters::create_with_seed(&net, 1).unwrap();
            let mut trainer = Trainer::new(Adam::new(0.1)).on(&cluster);
            for step in 0..6 {
                trainer.step_with(&net, &mut parameters, rows, &options).unwrap();
                if fails && step == 2 {
                    // A plan that servers cannot use.
                    let mut threads = cluster.inner().running.threads.clone().unwrap();
                    let incarnation = Incarnation::default();
                    let from = From { role: Role::Master, rank: 0, process: MASTER, incarnation };
                    let program = Bytes::from_static(b"no plan");
                    let body =
                        Body::Plan(Arc::new(Plan { id: 77, pieces: Vec::new(), measures: false, program }));
                    let epoch = paddle_cluster::message::Epoch { election: 1, round: 0 };
                    let before = threads.processes();
                    for &process in &before {
                        let message = Message { epoch, from, body: body.clone() };
                        threads.send(To::Process(process), Frame::Machine(message));
                    }
                    let replaced = (0..500).any(|_| {
                        thread::sleep(Duration::from_millis(10));
                        let now = threads.processes();
                        now.len() == before.len() && now != before
                    });
                    assert!(replaced, "no other thread has followed");
                }
            }
            parameters.get::<f32>("fc.w").unwrap()
        });
        assert_eq!(trainings[0], trainings[1]);
    }
}
