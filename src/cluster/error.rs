//! What can go wrong on a cluster.

use std::fmt;

use paddle_engines::collective::CollectiveError;
#[cfg(feature = "kubernetes")]
use paddle_engines::image::ImageError;
#[cfg(feature = "kubernetes")]
use paddle_engines::kubernetes::KubernetesError;
#[cfg(feature = "kubernetes")]
use paddle_engines::launch::LaunchError;

/// Why a cluster did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterError {
    /// The job has ended.
    Ended {
        /// Why.
        why: String,
    },
    /// A step failed on a trainer, as it would on any other.
    Step {
        /// The error of the trainer.
        message: String,
    },
    /// What another process has sent makes no sense.
    Message {
        /// What it was to be.
        what: &'static str,
    },
    /// A checkpoint could not be written or read.
    Store {
        /// The error of the store.
        message: String,
    },
    /// The store has the checkpoint of another job, which has not ended.
    OtherJob {
        /// The digest of its programs and settings.
        found: String,
        /// That of this job.
        expected: String,
    },
    /// The environment contradicts itself about the rank of this process.
    Rank {
        /// The variable, what it holds, and what is expected.
        message: String,
    },
    /// A word of a command line means no cluster.
    Word {
        /// The word.
        found: String,
    },
    /// Another process cannot be reached.
    Connection {
        /// Where it should listen.
        address: String,
        /// Why it cannot be reached.
        message: String,
    },
    /// Another process does not want this one, now or later.
    Refused {
        /// Where it listens.
        address: String,
        /// What it said.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The service that knows the master does not do what it is asked for.
    Coordination {
        /// Why not.
        message: String,
    },
    /// The certificates of this process cannot be used.
    Certificates {
        /// The folder that has them.
        folder: String,
        /// Why not.
        message: String,
    },
    /// The environment gives this process a role that makes no sense.
    Environment {
        /// The variable.
        variable: &'static str,
        /// What it holds.
        found: String,
    },
    /// A thread or a process could not be started.
    Start {
        /// The error of the system.
        message: String,
    },
    /// Ranks that train as equals cannot go on together.
    Group(CollectiveError),
    /// The values of parameters are in several ranks.
    InStages,
    /// Ranks that train as equals do not do the same.
    Apart {
        /// The rank that differs from this one.
        rank: u32,
        /// In what.
        what: String,
    },
    /// An updater's states are on the cluster, and were not fetched since the last step.
    Behind,
    /// Parameters, or an updater's states, were changed while they are on the cluster.
    Changed {
        /// What was changed.
        what: &'static str,
    },
    /// A network has an operator of the user's own whose kernel a process cannot tell.
    Operator {
        /// Its name.
        name: String,
        /// Whether the process knows an operator of this name, but another one, or several.
        is_known: bool,
    },
    /// A network is trained with settings that need all servers at one version, on a cluster whose steps are asynchronous.
    Asynchronous,
    /// A setting is missing without which no job can be started on Kubernetes.
    #[cfg(feature = "kubernetes")]
    Unset {
        /// The setting.
        setting: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A job could not be started on Kubernetes, or not be followed.
    #[cfg(feature = "kubernetes")]
    Launch(Box<LaunchError>),
    /// A job on Kubernetes has failed.
    #[cfg(feature = "kubernetes")]
    JobFailed {
        /// Its name.
        job: String,
        /// Why, in the words of Kubernetes and of the processes that failed.
        reason: String,
    },
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClusterError::Ended { why } => write!(f, "the job on the cluster has ended: {why}"),
            ClusterError::Step { message } => f.write_str(message),
            ClusterError::Message { what } => {
                write!(f, "another process of the cluster sent {what} that makes no sense")
            }
            ClusterError::Store { message } => write!(f, "a checkpoint of the cluster: {message}"),
            ClusterError::OtherJob { found, expected } => write!(
                f,
                "the store has the checkpoint of another job, which has not ended: the digest of its programs and settings is \
                 {found}, that of this job {expected}; let `PADDLE_STORE` name another place, or delete what is there"
            ),
            ClusterError::Rank { message } => f.write_str(message),
            ClusterError::Word { found } => {
                write!(f, "`{found}` is no cluster; `local:4` is one of four trainers on this machine, `all-reduce:4` one of four equals")
            }
            ClusterError::Connection { address, message } => {
                write!(f, "the process at {address} cannot be reached: {message}")
            }
            ClusterError::Refused { address, why, advice } => {
                write!(f, "the process at {address} and this one do not talk: {why}: {advice}")
            }
            ClusterError::Coordination { message } => f.write_str(message),
            ClusterError::Certificates { folder, message } => write!(
                f,
                "the certificates in `{folder}`: {message}; it needs `ca.pem`, `cert.pem` and `key.pem`, and `PADDLE_TLS` names it"
            ),
            ClusterError::Environment { variable, found } => {
                write!(
                    f,
                    "the environment variable `{variable}` gives this process no role: it holds {found}"
                )
            }
            ClusterError::Start { message } => {
                write!(f, "a process of the cluster cannot be started: {message}")
            }
            ClusterError::Group(error) => error.fmt(f),
            ClusterError::InStages => f.write_str(
                "the parameters are in the ranks of their devices; they are here at the end of `train` and of each pass",
            ),
            ClusterError::Apart { rank, what } => {
                write!(
                    f,
                    "rank {rank} has {what} than this rank; every rank runs the same program on the same data with the same seeds"
                )
            }
            ClusterError::Behind => f.write_str(
                "the updater's states are on the cluster; they are here at the end of `train`, not behind steps alone",
            ),
            ClusterError::Changed { what } => {
                write!(
                    f,
                    "{what} were changed while they are on the cluster; train on another cluster from there"
                )
            }
            ClusterError::Operator { name, is_known: false } => write!(
                f,
                "`{name}` is an operator of your own that a trainer does not know; call `cluster::with_operators_of(&net)` before \
                 `Cluster::local` and `Cluster::ranks`"
            ),
            ClusterError::Operator { name, is_known: true } => write!(
                f,
                "there are several operators `{name}` in this program, and a trainer cannot tell which is meant; give one of them \
                 another name, `#[operator(name = \"..\")]`"
            ),
            ClusterError::Asynchronous => f.write_str(
                "clipping by a norm needs the gradients of one step on all servers, and in asynchronous training each server updates \
                 when it has its own; clip by `Clip::Value`, have one server, place parameters whole for `Clip::Norm`, or train \
                 synchronously",
            ),
            #[cfg(feature = "kubernetes")]
            ClusterError::Unset { setting, advice } => write!(f, "{setting} is not given: {advice}"),
            #[cfg(feature = "kubernetes")]
            ClusterError::Launch(error) => match advice(error) {
                Some(advice) => write!(f, "{error}; {advice}"),
                None => error.fmt(f),
            },
            #[cfg(feature = "kubernetes")]
            ClusterError::JobFailed { job, reason } => write!(f, "the job `{job}` has failed: {reason}"),
        }
    }
}

impl std::error::Error for ClusterError {}

impl From<CollectiveError> for ClusterError {
    fn from(error: CollectiveError) -> Self {
        ClusterError::Group(error)
    }
}

/// What to do about an error that does not say it itself.
#[cfg(feature = "kubernetes")]
fn advice(error: &LaunchError) -> Option<&'static str> {
    Some(match error {
        LaunchError::Kubernetes(KubernetesError::Forbidden { .. }) => {
            "who starts jobs has to be allowed to create, get, list, watch, patch and delete jobs, secrets, services, serviceaccounts, \
             roles and rolebindings of the namespace, and to get and list pods and their logs"
        }
        LaunchError::Kubernetes(
            KubernetesError::Credentials { .. } | KubernetesError::Unauthenticated { .. },
        ) => {
            "give a kubeconfig, or a PEM file with the certificate and the key of a user: `.credentials(path)`"
        }
        LaunchError::Kubernetes(KubernetesError::Unreachable { .. }) => {
            "is the address that of the API server, and can it be reached from here?"
        }
        LaunchError::Image(ImageError::NotStatic { .. }) => {
            "or name one that is there: `KubernetesJob::program(path)`"
        }
        LaunchError::Image(ImageError::NotAProgram { .. }) => {
            "build one by `cargo build --release --target x86_64-unknown-linux-musl`, and name it: `KubernetesJob::program(path)`"
        }
        LaunchError::Image(ImageError::Denied { .. }) => {
            "`docker login` writes them where they are looked for; or push by Docker: `KubernetesJob::by_docker()`"
        }
        _ => return None,
    })
}

#[cfg(feature = "kubernetes")]
impl From<LaunchError> for ClusterError {
    fn from(error: LaunchError) -> Self {
        ClusterError::Launch(Box::new(error))
    }
}

#[cfg(feature = "kubernetes")]
impl From<KubernetesError> for ClusterError {
    fn from(error: KubernetesError) -> Self {
        LaunchError::from(error).into()
    }
}

#[cfg(feature = "kubernetes")]
impl From<ImageError> for ClusterError {
    fn from(error: ImageError) -> Self {
        LaunchError::from(error).into()
    }
}
