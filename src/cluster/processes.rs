//! The processes of a job on this machine: they are started, and started again when they die, and they end with the process
//! that started them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use paddle_cluster::machine::End;
use paddle_cluster::{Identity, Timing};

use super::ClusterError;
use super::all_reduce::RANK_ROLE;
use super::devices::{self, Devices};
use super::master::Answer;
use super::net::{Net, Peers};
use super::relay::Relay;
use super::store::Store;
use super::worker::{self, Setting};
use crate::device;

pub(super) const ROLE: &str = "PADDLE_ROLE";
pub(super) const RANK: &str = "PADDLE_RANK";
pub(super) const MASTER: &str = "PADDLE_MASTER";
pub(super) const TRAINERS: &str = "PADDLE_TRAINERS";
pub(super) const FOLDER: &str = "PADDLE_JOB_FOLDER";

/// The file with the secret in a job's folder.
pub(super) const SECRET: &str = "secret";

/// The folder of a job on this machine: its checkpoints and its secret. It is deleted at the end.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn create() -> io::Result<Self> {
        let folder =
            env::temp_dir().join(format!("paddle-job-{}-{:08x}", std::process::id(), number() as u32));
        fs::create_dir(&folder)?;
        let secret = folder.join(SECRET);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o400);
        io::Write::write_all(
            &mut options.open(secret)?,
            format!("{:016x}{:016x}", number(), number()).as_bytes(),
        )?;
        Ok(Folder(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn secret(&self) -> io::Result<String> {
        fs::read_to_string(self.0.join(SECRET))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A number that no other process draws: the keys of the standard library's hash maps are random.
pub(super) fn number() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// A process of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStatus {
    /// Whether it is a parameter server; otherwise it is a trainer.
    pub is_server: bool,
    /// Its number among those of its role.
    pub rank: u32,
    /// The number that the system has given it.
    pub process: u32,
    /// How often it was started again.
    pub restarts: u32,
}

/// The processes of a job.
pub(super) struct Processes {
    workers: Arc<Mutex<Vec<WorkerStatus>>>,
    ends: Arc<AtomicBool>,
    watcher: Option<thread::JoinHandle<()>>,
}

/// How a process is started.
#[derive(Clone)]
struct Start {
    program: PathBuf,
    arguments: Vec<OsString>,
    master: SocketAddr,
    trainers: u32,
    folder: PathBuf,
    devices: Devices,
}

impl Start {
    fn start(&self, is_server: bool, rank: u32, relay: &Relay) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env(ROLE, if is_server { "server" } else { "trainer" })
            .env(RANK, rank.to_string())
            .env(MASTER, self.master.to_string())
            .env(TRAINERS, self.trainers.to_string())
            .env(FOLDER, &self.folder)
            // The process ends when this pipe does: with the process that holds the other end, however that ends.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(device) = self.devices.name_of(rank) {
            command.env(device::VARIABLE, device);
        }
        if env::var_os("PADDLE_THREADS").is_none() {
            // There are as many processes as cores are wanted for.
            command.env("PADDLE_THREADS", "1");
        }
        let mut child = command.spawn()?;
        if let Some(said) = child.stderr.take() {
            relay.follow(said)?;
        }
        Ok(child)
    }
}

impl Processes {
    /// Starts servers and trainers: this program, with these arguments, in other roles.
    pub(super) fn start(
        servers: u32,
        trainers: u32,
        master: SocketAddr,
        folder: &Folder,
        devices: Devices,
        answers: Sender<Answer>,
    ) -> Result<Self, ClusterError> {
        let failed = |error: io::Error| ClusterError::Start { message: error.to_string() };
        let start = Start {
            program: env::current_exe().map_err(failed)?,
            arguments: env::args_os().skip(1).collect(),
            master,
            trainers,
            folder: folder.path().to_path_buf(),
            devices,
        };
        let roles = (0..servers).map(|rank| (true, rank)).chain((0..trainers).map(|rank| (false, rank)));
        let (mut children, mut status) = (Vec::new(), Vec::new());
        for (is_server, rank) in roles {
            let relay = Relay::default();
            let child = start.start(is_server, rank, &relay).map_err(failed)?;
            status.push(WorkerStatus { is_server, rank, process: child.id(), restarts: 0 });
            children.push((child, relay));
        }
        let (workers, ends) = (Arc::new(Mutex::new(status)), Arc::new(AtomicBool::new(false)));
        let (of_watcher, end) = (Arc::clone(&workers), Arc::clone(&ends));
        let watch = move || watch(&start, children, &of_watcher, &end, &answers);
        let watcher = thread::Builder::new().name("watcher".to_string()).spawn(watch).map_err(failed)?;
        Ok(Processes { workers, ends, watcher: Some(watcher) })
    }

    /// The processes as they are now.
    pub(super) fn workers(&self) -> Vec<WorkerStatus> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some(watcher) = self.watcher.take() {
            // A watcher that panicked has nothing to wait for.
            let _ = watcher.join();
        }
    }
}

/// The time between two looks at the processes.
const LOOKS: Duration = Duration::from_millis(20);
/// A process that a signal ends within this time of its start, so many times in a row, is not started again.
const AT_ONCE: Duration = Duration::from_secs(1);
const TRIES: u32 = 10;
/// Nor is one that ends with an error within this time, so many times in a row: its `main` gives the same again.
const STEADY: Duration = Duration::from_secs(60);
const ERRORS: u32 = 5;
/// The time that processes have to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// Starts processes again that have died, until the job ends.
fn watch(
    start: &Start,
    mut children: Vec<(Child, Relay)>,
    workers: &Mutex<Vec<WorkerStatus>>,
    ends: &AtomicBool,
    answers: &Sender<Answer>,
) {
    let mut lives = vec![Lives { since: Instant::now(), quickly: 0, errors: 0 }; children.len()];
    while !ends.load(Ordering::Acquire) {
        for (k, (child, relay)) in children.iter_mut().enumerate() {
            let Ok(Some(status)) = child.try_wait() else { continue };
            if status.code() == Some(OVER) {
                continue;
            }
            let mut workers = workers.lock().unwrap_or_else(PoisonError::into_inner);
            let worker = &mut workers[k];
            if let Some(often) = lives[k].ended(status) {
                let (role, rank) = (if worker.is_server { "server" } else { "trainer" }, worker.rank);
                let message = format!(
                    "{role} {rank} ended soon for {often} times, the last time with {status}; is the cluster made at the beginning \
                     of `main`?{}",
                    relay.last_words()
                );
                // The job may be over.
                let _ = answers.send(Answer::Broken { message });
                ends.store(true, Ordering::Release);
                break;
            }
            match start.start(worker.is_server, worker.rank, relay) {
                Ok(again) => {
                    (worker.process, worker.restarts) = (again.id(), worker.restarts + 1);
                    *child = again;
                }
                Err(error) => eprintln!("cluster: a process cannot be started again: {error}"),
            }
        }
        thread::sleep(LOOKS);
    }
    let mut left = GRACE;
    while !left.is_zero() && children.iter_mut().any(|(child, _)| matches!(child.try_wait(), Ok(None))) {
        thread::sleep(LOOKS);
        left = left.saturating_sub(LOOKS);
    }
    for (mut child, _) in children {
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// How the processes of a rank have ended, one behind the other.
#[derive(Clone)]
struct Lives {
    since: Instant,
    /// How many in a row were ended at once by a signal.
    quickly: u32,
    /// How many in a row have ended soon with an error.
    errors: u32,
}

impl Lives {
    /// Takes the end of a process. How many have ended so in a row, if there is to be no other one.
    fn ended(&mut self, status: ExitStatus) -> Option<u32> {
        let lasted = self.since.elapsed();
        self.since = Instant::now();
        let is_error = status.code().is_some_and(|code| code != AGAIN);
        self.quickly = if !is_error && lasted < AT_ONCE { self.quickly + 1 } else { 0 };
        self.errors = match is_error {
            true if lasted < STEADY => self.errors + 1,
            _ if lasted < STEADY => self.errors,
            _ => 0,
        };
        let most = self.quickly.max(self.errors);
        (self.quickly >= TRIES || self.errors >= ERRORS).then_some(most)
    }
}

/// Runs the role that the environment gives this process, if it gives one, and then ends the process.
pub(super) fn take_role() {
    if let Ok(role) = env::var(ROLE)
        && role != RANK_ROLE
    {
        let ended = run_role(&role);
        let code = code(&format!("{role} {}", env::var(RANK).unwrap_or_default()), &ended);
        std::process::exit(if code == 0 { OVER } else { code });
    }
}

/// With this exit code a process of a job on this machine says that the job is over, or that it was told to leave. One that ends well
/// otherwise has come to the end of `main` without taking its role.
const OVER: i32 = 76;

/// With this exit code a process wants to be started again, though it has no error: the job has gone on without it.
const AGAIN: i32 = 75;

/// The exit code of a process whose role has ended so. An error is said with the name of the role and its rank.
pub(super) fn code(name: &str, ended: &Result<Option<End>, ClusterError>) -> i32 {
    match ended {
        Ok(Some(End::Finished | End::Left)) => 0,
        Ok(Some(_)) => AGAIN,
        Ok(None) => 1,
        Err(error) => {
            eprintln!("cluster: {name} cannot go on: {error}");
            1
        }
    }
}

fn run_role(role: &str) -> Result<Option<End>, ClusterError> {
    let variable = |name: &'static str| {
        env::var(name).map_err(|_| ClusterError::Environment { variable: name, found: "nothing".to_string() })
    };
    let count = |name: &'static str| -> Result<u32, ClusterError> {
        let found = variable(name)?;
        found.parse().map_err(|_| ClusterError::Environment { variable: name, found })
    };
    let is_server = match role {
        "server" => true,
        "trainer" => false,
        other => return Err(ClusterError::Environment { variable: ROLE, found: other.to_string() }),
    };
    let (rank, trainers, master) = (count(RANK)?, count(TRAINERS)?, variable(MASTER)?);
    let folder = PathBuf::from(variable(FOLDER)?);
    let failed = |error: io::Error| ClusterError::Start { message: error.to_string() };
    let secret = fs::read_to_string(folder.join(SECRET)).map_err(failed)?;
    end_with_parent();
    let ends = mpsc::channel();
    let peers = Peers { master: Some(master), secret: secret.into(), tls: None };
    let (link, address) = Net::open(SocketAddr::from(([127, 0, 0, 1], 0)), peers, ends.0.clone())?;
    let identity = Identity { rank, process: number(), address: address.to_string().into() };
    let backend = devices::of_process()?;
    let store = Store::in_folder(&folder).map_err(failed)?;
    let timing = Timing::default();
    Ok(worker::run(Setting { is_server, identity, trainers, timing, link, store, backend }, ends))
}

/// Ends this process when the one that started it has ended.
pub(super) fn end_with_parent() {
    let wait = || {
        let mut stdin = io::stdin();
        // Nothing is ever written.
        while matches!(stdin.read(&mut [0; 64]), Ok(1..)) {}
        std::process::exit(1);
    };
    // Without the thread the process goes on, and its machine finds that no master answers.
    let _ = thread::Builder::new().name("parent".to_string()).spawn(wait);
}
