//! The role of a process, from its environment: what Kubernetes, Slurm, mpirun or torchrun say about its rank.
//!
//! ```
//! use paddle_engines::rank::{Place, Role};
//!
//! let variables = [("RANK", "3"), ("WORLD_SIZE", "8"), ("MASTER_ADDR", "10.0.0.7"), ("MASTER_PORT", "29500")];
//! let lookup = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
//!
//! let place = Place::find(2, lookup)?.expect("RANK says that this is a process of a job");
//! assert_eq!(place.role(), Role::Trainer(0));
//! assert_eq!(place.master, "10.0.0.7:29500");
//! assert_eq!(Place::find(2, |_| None)?, None, "nothing says so: this is the launcher");
//! # Ok::<(), paddle_engines::rank::RankError>(())
//! ```

mod launchers;
mod nodes;

use thiserror::Error;

/// The port of the master where nothing says another.
pub const DEFAULT_PORT: u16 = 7164;

/// What started the processes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// torchrun, or whoever else sets `RANK` and `WORLD_SIZE`.
    Torchrun,
    /// OpenMPI's `mpirun`.
    OpenMpi,
    /// `mpiexec` of MPICH and its relatives, which speak PMI.
    Pmi,
    /// Slurm's `srun`.
    Slurm,
    /// An Indexed Job of Kubernetes.
    Kubernetes,
}

/// What a process does. The number counts those of the same role from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Hands out data and commits checkpoints: rank 0.
    Master,
    /// A parameter server: ranks 1 to `servers`.
    Server(usize),
    /// Computes gradients: the ranks behind the servers'.
    Trainer(usize),
}

/// Where a process stands in its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What started it.
    pub launcher: Launcher,
    /// Its number, below `size`.
    pub rank: usize,
    /// How many processes the job has: a master, the servers, and at least one trainer.
    pub size: usize,
    /// How many of them are parameter servers.
    pub servers: usize,
    /// Where the master listens: `host:port`.
    pub master: String,
}

/// Why the environment does not say a rank. Each names the variable.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RankError {
    /// A variable is missing beside others that need it.
    #[error("{variable} is not set, but {beside} is: {help}")]
    Missing {
        /// What is missing.
        variable: &'static str,
        /// What is there.
        beside: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// A value cannot be read.
    #[error("{variable} is `{found}`; expected {expected}")]
    Malformed {
        /// Which variable.
        variable: &'static str,
        /// Its value.
        found: String,
        /// What it should look like.
        expected: &'static str,
    },
    /// A value can be read, but does not fit the others, or the program.
    #[error("{variable} is `{found}`, which does not fit: expected {expected}")]
    Contradiction {
        /// Which variable.
        variable: &'static str,
        /// Its value.
        found: String,
        /// What would fit.
        expected: String,
    },
}

impl Place {
    /// The place of this process, if its environment says that it belongs to a job of `servers` parameter servers.
    ///
    /// # Errors
    /// As of [`Place::find`].
    pub fn of_this_process(servers: usize) -> Result<Option<Place>, RankError> {
        Place::find(servers, |variable| std::env::var(variable).ok())
    }

    /// The place that an environment tells, and `None` if it tells of no job: then the process is the launcher.
    ///
    /// Launchers can be nested: torchrun or mpirun in a job of Slurm, or in a pod. Then the innermost has started the process, so it is
    /// asked first.
    ///
    /// # Errors
    /// If variables are missing, malformed, or contradict each other or `servers`.
    pub fn find(servers: usize, lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Place>, RankError> {
        match launchers::find(&launchers::Lookup(&lookup))? {
            Some(found) => found.place(servers).map(Some),
            None => Ok(None),
        }
    }

    /// The place of this process in a group whose ranks are equals: without a master and servers.
    ///
    /// # Errors
    /// If variables are missing, malformed, or contradict each other.
    pub fn of_group() -> Result<Option<Place>, RankError> {
        let lookup = |variable: &str| std::env::var(variable).ok();
        match launchers::find(&launchers::Lookup(&lookup))? {
            Some(found) => found.in_group().map(Some),
            None => Ok(None),
        }
    }

    /// What the process does.
    pub fn role(&self) -> Role {
        match self.rank {
            0 => Role::Master,
            rank if rank <= self.servers => Role::Server(rank - 1),
            rank => Role::Trainer(rank - 1 - self.servers),
        }
    }

    /// How many trainers the job has.
    pub fn trainers(&self) -> usize {
        self.size - 1 - self.servers
    }
}
