//! What each launcher puts into the environment of the processes that it starts.

use super::nodes::first_host;
use super::{DEFAULT_PORT, Launcher, Place, RankError};

/// An environment whose empty variables count as not set, as a manifest or a script may leave them.
pub(super) struct Lookup<'a>(pub(super) &'a dyn Fn(&str) -> Option<String>);

impl Lookup<'_> {
    fn text(&self, variable: &str) -> Option<String> {
        (self.0)(variable).filter(|value| !value.is_empty())
    }

    fn number(&self, variable: &'static str) -> Result<Option<Number>, RankError> {
        let Some(found) = self.text(variable) else { return Ok(None) };
        match found.parse() {
            Ok(value) => Ok(Some(Number { variable, value })),
            Err(_) => Err(RankError::Malformed { variable, found, expected: "a whole number" }),
        }
    }

    /// A rank and a size, of which neither makes sense without the other.
    fn pair(
        &self,
        rank: &'static str,
        size: &'static str,
        help: &'static str,
    ) -> Result<Option<(Number, Number)>, RankError> {
        match (self.number(rank)?, self.number(size)?) {
            (Some(rank), Some(size)) => Ok(Some((rank, size))),
            (Some(_), None) => Err(RankError::Missing { variable: size, beside: rank, help }),
            (None, Some(_)) => Err(RankError::Missing { variable: rank, beside: size, help }),
            (None, None) => Ok(None),
        }
    }

    fn port(&self, variable: &'static str) -> Result<Option<u16>, RankError> {
        let Some(found) = self.text(variable) else { return Ok(None) };
        match found.parse() {
            Ok(port) if port > 0 => Ok(Some(port)),
            _ => Err(RankError::Malformed { variable, found, expected: "a port, 1 to 65535" }),
        }
    }

    /// The address that the person who started the job has given.
    fn given_master(&self, variable: &'static str) -> Result<Option<String>, RankError> {
        let Some(host) = self.text(variable) else { return Ok(None) };
        let port = self.port("MASTER_PORT")?.or(self.port("PADDLE_PORT")?).unwrap_or(DEFAULT_PORT);
        Ok(Some(address(&host, port)))
    }

    fn master_at(&self, host: &str) -> Result<String, RankError> {
        Ok(address(host, self.port("PADDLE_PORT")?.unwrap_or(DEFAULT_PORT)))
    }
}

/// `host:port`; an address of IPv6 has colons of its own and gets brackets.
fn address(host: &str, port: u16) -> String {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

pub(super) struct Number {
    variable: &'static str,
    value: usize,
}

/// What a launcher says, each number with the variable that said it.
pub(super) struct Found {
    launcher: Launcher,
    rank: Number,
    size: Number,
    /// How many the manifest was made for.
    servers: Option<Number>,
    master: String,
}

impl Found {
    pub(super) fn place(self, servers: usize) -> Result<Place, RankError> {
        let Found { size, servers: told, .. } = &self;
        let contradiction = |number: &Number, expected| RankError::Contradiction {
            variable: number.variable,
            found: number.value.to_string(),
            expected,
        };
        if let Some(told) = told.as_ref().filter(|told| told.value != servers) {
            return Err(contradiction(
                told,
                format!("{servers}, as in the program: was its image built anew?"),
            ));
        }
        if size.value < servers + 2 {
            let expected =
                format!("{} or more: a master, {servers} servers, and at least one trainer", servers + 2);
            return Err(contradiction(size, expected));
        }
        Ok(Place { servers, ..self.in_group()? })
    }

    /// The place in a group without a master and servers.
    pub(super) fn in_group(self) -> Result<Place, RankError> {
        let Found { launcher, rank, size, master, .. } = self;
        if rank.value >= size.value {
            return Err(RankError::Contradiction {
                variable: rank.variable,
                found: rank.value.to_string(),
                expected: format!("less than {}, which is {}", size.variable, size.value),
            });
        }
        Ok(Place { launcher, rank: rank.value, size: size.value, servers: 0, master })
    }
}

/// What the innermost launcher says.
pub(super) fn find(lookup: &Lookup<'_>) -> Result<Option<Found>, RankError> {
    for of in [torchrun, openmpi, pmi, slurm, kubernetes] {
        if let Some(found) = of(lookup)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

pub(super) fn torchrun(lookup: &Lookup<'_>) -> Result<Option<Found>, RankError> {
    let help = "set both, or unset both to start a job from here";
    let Some((rank, size)) = lookup.pair("RANK", "WORLD_SIZE", help)? else { return Ok(None) };
    let host = lookup.text("MASTER_ADDR").ok_or(RankError::Missing {
        variable: "MASTER_ADDR",
        beside: "RANK",
        help: "set it to the host of rank 0",
    })?;
    // With this variable torchrun's agent itself listens at MASTER_PORT.
    let is_taken = lookup.text("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
    let port = if is_taken { None } else { lookup.port("MASTER_PORT")? };
    let master = match port {
        Some(port) => address(&host, port),
        None => lookup.master_at(&host)?,
    };
    Ok(Some(Found { launcher: Launcher::Torchrun, rank, size, servers: None, master }))
}

pub(super) fn openmpi(lookup: &Lookup<'_>) -> Result<Option<Found>, RankError> {
    let help = "`mpirun` sets both; unset both to start a job from here";
    let pair = lookup.pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", help)?;
    let Some((rank, size)) = pair else { return Ok(None) };
    let here = lookup.number("OMPI_COMM_WORLD_LOCAL_SIZE")?;
    let master = mpi_master(lookup, "OMPI_COMM_WORLD_RANK", &size, here)?;
    Ok(Some(Found { launcher: Launcher::OpenMpi, rank, size, servers: None, master }))
}

pub(super) fn pmi(lookup: &Lookup<'_>) -> Result<Option<Found>, RankError> {
    let help = "`mpiexec` sets both; unset both to start a job from here";
    let Some((rank, size)) = lookup.pair("PMI_RANK", "PMI_SIZE", help)? else { return Ok(None) };
    let here = lookup.number("MPI_LOCALNRANKS")?;
    let master = mpi_master(lookup, "PMI_RANK", &size, here)?;
    Ok(Some(Found { launcher: Launcher::Pmi, rank, size, servers: None, master }))
}

/// MPI does not say where rank 0 is before its library is initialised. What is known: it is here if all ranks are here, and on the first
/// node of a job of Slurm.
fn mpi_master(
    lookup: &Lookup<'_>,
    beside: &'static str,
    size: &Number,
    here: Option<Number>,
) -> Result<String, RankError> {
    if let Some(given) = lookup.given_master("MASTER_ADDR")? {
        return Ok(given);
    }
    if here.is_some_and(|here| here.value == size.value) {
        return lookup.master_at("127.0.0.1");
    }
    if lookup.text("SLURM_JOB_NODELIST").is_some() {
        return slurm_master(lookup, "SLURM_JOB_NODELIST");
    }
    let help = "MPI does not say where rank 0 runs; pass it: `mpirun -x MASTER_ADDR=<host of rank 0>`";
    Err(RankError::Missing { variable: "MASTER_ADDR", beside, help })
}

pub(super) fn slurm(lookup: &Lookup<'_>) -> Result<Option<Found>, RankError> {
    let Some(rank) = lookup.number("SLURM_PROCID")? else { return Ok(None) };
    let tasks = lookup.number("SLURM_NTASKS")?;
    // A batch script has a rank too, but only `srun` makes steps, of which each task is a process.
    if lookup.text("SLURM_STEP_NODELIST").is_none() {
        return match tasks {
            Some(tasks) if tasks.value > 1 => Err(RankError::Missing {
                variable: "SLURM_STEP_NODELIST",
                beside: "SLURM_PROCID",
                help: "the batch script runs the program itself; let `srun` run it, once per task",
            }),
            _ => Ok(None),
        };
    }
    let size = lookup.number("SLURM_STEP_NUM_TASKS")?.or(tasks).ok_or(RankError::Missing {
        variable: "SLURM_NTASKS",
        beside: "SLURM_PROCID",
        help: "give `srun` the number of tasks: `-n`",
    })?;
    let master = match lookup.given_master("MASTER_ADDR")? {
        Some(given) => given,
        None => slurm_master(lookup, "SLURM_STEP_NODELIST")?,
    };
    Ok(Some(Found { launcher: Launcher::Slurm, rank, size, servers: None, master }))
}

fn slurm_master(lookup: &Lookup<'_>, variable: &'static str) -> Result<String, RankError> {
    let found = lookup.text(variable).unwrap_or_default();
    match first_host(&found) {
        Some(host) => lookup.master_at(&host),
        None => Err(RankError::Malformed { variable, found, expected: "hosts, as `gpu[01-03,07],login`" }),
    }
}

pub(super) fn kubernetes(lookup: &Lookup<'_>) -> Result<Option<Found>, RankError> {
    // A pod without an index is no process of an Indexed Job; a job may be started from it.
    if lookup.text("KUBERNETES_SERVICE_HOST").is_none() {
        return Ok(None);
    }
    let Some(mut rank) = lookup.number("JOB_COMPLETION_INDEX")? else { return Ok(None) };
    let missing = |variable| RankError::Missing {
        variable,
        beside: "JOB_COMPLETION_INDEX",
        help: "the manifests of this library set it; a manifest of your own has to, too",
    };
    let size = lookup.number("PADDLE_SIZE")?.ok_or_else(|| missing("PADDLE_SIZE"))?;
    let master = lookup.text("PADDLE_MASTER").ok_or_else(|| missing("PADDLE_MASTER"))?;
    if master.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
        return Err(RankError::Malformed {
            variable: "PADDLE_MASTER",
            found: master,
            expected: "`host:port`",
        });
    }
    let servers = lookup.number("PADDLE_SERVERS")?;
    // Where roles are jobs of their own, as in a JobSet, each counts from 0.
    if let Some(offset) = lookup.number("PADDLE_RANK_OFFSET")? {
        rank.value = rank.value.saturating_add(offset.value);
    }
    Ok(Some(Found { launcher: Launcher::Kubernetes, rank, size, servers, master }))
}
