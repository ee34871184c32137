//! The parent of a process of a job, which starts it again when it fails.
//!
//! Kubernetes replaces a pod after 10 s at best; a process in it can be back in 0.1 s. So the first process of a pod is this one, and
//! Kubernetes is left to replace what this cannot help: nodes, and programs that fail again and again.
//!
//! ```no_run
//! use paddle_engines::supervisor::Supervisor;
//!
//! if let Some(code) = Supervisor::default().run_this_program()? {
//!     std::process::exit(code); // This was the parent.
//! }
//! // This is the supervised process.
//! # Ok::<(), paddle_engines::supervisor::SupervisorError>(())
//! ```

use std::collections::VecDeque;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// With this exit code a program says that another attempt would end the same way.
pub const USER_ERROR: i32 = 42;
/// Which life of the process this is, from 1. It is set in the supervised process only.
pub const LIFE: &str = "PADDLE_LIFE";

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often a process is started again.
#[derive(Clone, Debug)]
pub struct Supervisor {
    /// How many failures within `window` are followed by another attempt.
    pub restarts: usize,
    /// Failures that are longer ago do not count.
    pub window: Duration,
}

impl Default for Supervisor {
    /// 10 in 5 minutes.
    fn default() -> Supervisor {
        Supervisor { restarts: 10, window: Duration::from_secs(300) }
    }
}

/// Why a process could not be supervised.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The program cannot be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// Which one.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system refuses what supervision needs.
    #[error("processes cannot be supervised: {0}")]
    System(#[from] std::io::Error),
}

/// The process that signals are passed on to, while there is one.
type Target = Arc<Mutex<Option<Pid>>>;

impl Supervisor {
    /// Runs this program again with its arguments, and gives its exit code at its end; `None` in the process that is supervised.
    ///
    /// # Errors
    /// If the program cannot be started or supervised.
    pub fn run_this_program(&self) -> Result<Option<i32>, SupervisorError> {
        if std::env::var_os(LIFE).is_some() {
            return Ok(None);
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1));
        self.run(&mut command).map(Some)
    }

    /// Runs a command until it succeeds, says [`USER_ERROR`], is told to end by SIGTERM or SIGINT, or fails too often. Both signals are
    /// passed on to it, and the exit code is that of its last life: 128 and the number of the signal that killed it, if one did.
    ///
    /// # Errors
    /// If it cannot be started or supervised.
    pub fn run(&self, command: &mut Command) -> Result<i32, SupervisorError> {
        let target = Target::default();
        let (signals, ends) = pass_on(&target)?;
        let result = self.attempt(command, &target, &ends);
        signals.close();
        result
    }

    fn attempt(
        &self,
        command: &mut Command,
        target: &Target,
        ends: &Receiver<()>,
    ) -> Result<i32, SupervisorError> {
        // A terminal sends Ctrl-C to a whole group; the process gets it from here, once.
        command.process_group(0);
        let mut failures = VecDeque::new();
        let mut life = 0_u64;
        loop {
            life += 1;
            let status = live(command.env(LIFE, life.to_string()), target)?;
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            if code == 0 || code == USER_ERROR {
                return Ok(code);
            }
            let now = Instant::now();
            failures.push_back(now);
            failures.retain(|&failure| now.duration_since(failure) <= self.window);
            if failures.len() > self.restarts {
                eprintln!(
                    "{} failures in {:?}, the last with exit code {code}: giving up",
                    failures.len(),
                    self.window
                );
                return Ok(code);
            }
            let pause = pause(failures.len());
            match ends.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => {}
                // Told to end, before its failure or during the pause.
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(code),
            }
            eprintln!("exit code {code}: started again after {pause:?}");
        }
    }
}

/// Twice as long with each failure.
fn pause(failures: usize) -> Duration {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(10);
    (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE)
}

/// Passes signals on to the process that is the target then, and tells that there was one.
fn pass_on(target: &Target) -> Result<(signal_hook::iterator::Handle, Receiver<()>), SupervisorError> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let handle = signals.handle();
    let (sender, ends) = mpsc::channel();
    let target = target.clone();
    std::thread::spawn(move || {
        for signal in &mut signals {
            // The receiver may have ended already.
            let _ = sender.send(());
            let target = target.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(process) = *target {
                let signal = if signal == SIGINT { Signal::INT } else { Signal::TERM };
                let _ = kill_process(process, signal);
            }
        }
    });
    Ok((handle, ends))
}

/// One life of the process.
fn live(command: &mut Command, target: &Target) -> Result<ExitStatus, SupervisorError> {
    let lock = || target.lock().unwrap_or_else(PoisonError::into_inner);
    // A signal that comes while it is started waits, and is passed on then.
    let mut starting = lock();
    let mut child: Child = command.spawn().map_err(|source| {
        let program = command.get_program().to_string_lossy().into_owned();
        SupervisorError::Start { program, source }
    })?;
    let process = Pid::from_child(&child);
    *starting = Some(process);
    drop(starting);
    // Until it is waited for, its number belongs to it. Then signals must not go there any more.
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(process), how), Err(rustix::io::Errno::INTR)) {}
    *lock() = None;
    Ok(child.wait()?)
}
