//! Jobs on Kubernetes: what describes one, and how it is applied, followed and stopped.
//!
//! ```
//! use paddle_engines::kubernetes::{Job, Secret};
//!
//! let job = Job::new("mnist", "registry.example/mnist@sha256:0f…", 2, 4)?;
//! let yaml = job.manifests(&Secret::default())?.yaml()?;
//! assert!(yaml.contains("completionMode: Indexed"));
//! # Ok::<(), paddle_engines::kubernetes::KubernetesError>(())
//! ```

mod certificates;
mod client;
mod container;
mod credentials;
mod difference;
mod error;
mod follow;
mod job;
mod job_set;
mod manifests;
mod scale;
mod train_job;

pub use client::{Applied, Cluster};
pub use credentials::Credentials;
pub use error::KubernetesError;
pub use follow::{Outcome, PodState, Progress};
pub use job::{Job, Resources, Secret};
pub use manifests::Manifests;

/// The container of each pod, and the label of everything that belongs to a job.
const NAME: &str = "paddle";
const LABEL: &str = "app.kubernetes.io/instance";
