//! Ranks that are processes of this machine: the first one starts the others.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use paddle_engines::collective::CollectiveError;

use crate::cluster::ClusterError;
use crate::cluster::processes::{FOLDER, Folder, MASTER, RANK, ROLE, SECRET, TRAINERS, end_with_parent};

/// The role of such a process.
pub(in crate::cluster) const RANK_ROLE: &str = "rank";
/// So many lines of what a rank has said in the end are shown.
const LINES: usize = 40;

/// The time that ranks have to end behind the last step.
const LEAVE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// Whether this process has started ranks.
static HAS_STARTED: AtomicBool = AtomicBool::new(false);

/// The ranks that were started.
pub(super) struct Children {
    children: Mutex<Vec<Child>>,
    secret: String,
    folder: Folder,
}

impl Children {
    /// Starts all ranks but the first one, which this process is.
    pub(super) fn start(size: u32, first: &str) -> Result<Self, ClusterError> {
        let failed = |error: io::Error| ClusterError::Start { message: error.to_string() };
        if HAS_STARTED.swap(true, Ordering::AcqRel) {
            let message =
                "this program has started ranks before; it has one cluster by all-reduce".to_string();
            return Err(ClusterError::Start { message });
        }
        let folder = Folder::create().map_err(failed)?;
        let secret = folder.secret().map_err(failed)?;
        let program = env::current_exe().map_err(failed)?;
        let mut started = Children { children: Mutex::default(), secret, folder };
        let children = started.children.get_mut().unwrap_or_else(PoisonError::into_inner);
        for rank in 1..size {
            let said = File::create(said_by(started.folder.path(), rank)).map_err(failed)?;
            let mut command = Command::new(&program);
            command
                .args(env::args_os().skip(1))
                .env(ROLE, RANK_ROLE)
                .env(RANK, rank.to_string())
                .env(TRAINERS, size.to_string())
                .env(MASTER, first)
                .env(FOLDER, started.folder.path())
                // The process ends when this pipe does: with this process, however it ends.
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(said);
            // Ctrl-C is for the first rank, which tells the others.
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            if env::var_os("PADDLE_THREADS").is_none() {
                command.env("PADDLE_THREADS", "1");
            }
            children.push(command.spawn().map_err(failed)?);
        }
        Ok(started)
    }

    pub(super) fn secret(&self) -> &str {
        &self.secret
    }

    /// Errors if a rank has ended before all have met.
    pub(super) fn check(&self) -> Result<(), ClusterError> {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        for (rank, child) in (1..).zip(children.iter_mut()) {
            if let Ok(Some(status)) = child.try_wait() {
                let why =
                    format!("it has ended with {status} before its first step{}", self.last_words(rank));
                return Err(CollectiveError::Gone { rank, why }.into());
            }
        }
        Ok(())
    }

    /// Adds to an error what the rank that it is about has said in the end. It may be about to say it.
    pub(super) fn explain(&self, error: ClusterError) -> ClusterError {
        let ClusterError::Group(CollectiveError::Gone { rank, why }) = error else { return error };
        let until = Instant::now() + LEAVE;
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        let child = (rank as usize).checked_sub(1).and_then(|child| children.get_mut(child));
        let status = child.and_then(|child| end_of(child, until));
        let status = status.map(|status| format!(", with {status}")).unwrap_or_default();
        CollectiveError::Gone { rank, why: format!("{why}{status}{}", self.last_words(rank)) }.into()
    }

    /// Waits a moment for the ranks to end, and says on the standard error stream which of them have failed behind their last step.
    pub(super) fn see_off(&self) {
        let until = Instant::now() + LEAVE;
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        for (rank, child) in (1..).zip(children.iter_mut()) {
            let status = end_of(child, until);
            if let Some(status) = status.filter(|status| !status.success()) {
                let said = self.last_words(rank);
                eprintln!("cluster: rank {rank} has failed behind its last step, with {status}{said}");
            }
        }
    }

    /// The last lines that a rank has written to its standard error stream.
    fn last_words(&self, rank: u32) -> String {
        let said = fs::read(said_by(self.folder.path(), rank)).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<_> = said.lines().collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        last.iter().map(|line| format!("\n  {line}")).collect()
    }
}

/// How a process has ended, if it ends in time.
fn end_of(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until => thread::sleep(PAUSE),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
}

impl Drop for Children {
    /// They have what they were started for, or will not get it any more.
    fn drop(&mut self) {
        for child in self.children.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The file with what a rank writes to its standard error stream.
fn said_by(folder: &Path, rank: u32) -> PathBuf {
    folder.join(format!("rank-{rank}.txt"))
}

/// What the environment says to a rank that another one has started.
pub(super) struct Own {
    pub(super) rank: u32,
    pub(super) size: u32,
    /// Where the first rank listens.
    pub(super) first: String,
    pub(super) secret: String,
}

impl Own {
    /// What it says to this process, if the process is one.
    pub(super) fn of_this_process() -> Option<Own> {
        if env::var(ROLE).ok()? != RANK_ROLE {
            return None;
        }
        let count = |name: &str| env::var(name).ok()?.parse().ok();
        let folder = PathBuf::from(env::var_os(FOLDER)?);
        let own = Own {
            rank: count(RANK)?,
            size: count(TRAINERS)?,
            first: env::var(MASTER).ok()?,
            secret: fs::read_to_string(folder.join(SECRET)).ok()?,
        };
        end_with_parent();
        Some(own)
    }
}
