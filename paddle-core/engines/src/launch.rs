//! A job from outside of its cluster: from the program to what the job has made.
//!
//! ```no_run
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::path::Path;
//! use paddle_engines::image::{self, Registry};
//! use paddle_engines::kubernetes::{Cluster, Credentials, Job, Secret};
//! use paddle_engines::launch::Launch;
//! use paddle_engines::store::Checkpoints;
//!
//! let mut job = Job::new("mnist", "registry.example/mnist", 2, 4)?;
//! job.store = Some("s3://bucket/jobs".into());
//! let launch = Launch { program: Path::new("target/x86_64-unknown-linux-musl/release/mnist"), files: &[], job, secret: Secret::default() };
//! let cluster = Cluster::connect(&Credentials::Default, None).await?;
//! let registry = Registry::new(image::Credentials::Anonymous);
//! let launched = launch.start(&cluster, "registry.example/mnist", async |image, name| registry.push(image, name).await).await?;
//! cluster.follow("mnist", |progress| println!("{progress:?}")).await?;
//! let made = launched.place(&Checkpoints::at("s3://bucket/jobs", std::env::vars())?).result("parameters").await?;
//! # let _ = made;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

use std::path::Path;

use thiserror::Error;

use crate::image::{File, Image, ImageError, Program, Pushed};
use crate::kubernetes::{Applied, Cluster, Job, KubernetesError, Secret};
use crate::store::Checkpoints;

/// What a job is made of.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The program of every process, which has to be static.
    pub program: &'a Path,
    /// Files beside it.
    pub files: &'a [File],
    /// The job. Its image is replaced by the one that is pushed.
    pub job: Job,
    /// What only its processes know.
    pub secret: Secret,
}

/// A job that was launched, or was there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Its name.
    pub job: String,
    /// What tells it from other jobs of its name.
    pub id: String,
    /// The image by its digest.
    pub image: String,
    /// Whether it was there already.
    pub applied: Applied,
}

/// Why a job could not be launched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LaunchError {
    /// The image could not be built or pushed. Nothing was started.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Kubernetes refused.
    #[error(transparent)]
    Kubernetes(#[from] KubernetesError),
}

impl Launch<'_> {
    /// Builds the image, has it pushed under a name, and makes the job, if it is not there. It can be repeated: the same program with the
    /// same settings is the same job.
    ///
    /// # Errors
    /// [`ImageError::NotStatic`] if the program needs libraries; [`KubernetesError::Differs`] if another job has this name; and what
    /// the registry or the API server refuses.
    pub async fn start(
        self,
        cluster: &Cluster,
        name: &str,
        push: impl AsyncFnOnce(&Image, &str) -> Result<Pushed, ImageError>,
    ) -> Result<Launched, LaunchError> {
        let Launch { program, files, job, secret } = self;
        let image = Image::of(&Program::open(program)?, files)?;
        // What Kubernetes would refuse is found before anything is pushed.
        job.manifests(&secret)?;
        let Pushed { reference: image, .. } = push(&image, name).await?;
        let job = job.of_image(&image);
        let applied = cluster.apply(&job.manifests(&secret)?).await?;
        let id = cluster.id(job.name()).await?;
        Ok(Launched { job: job.name().into(), id, image, applied })
    }
}

impl Launched {
    /// The place of this run in a store of several jobs: where its processes are told to write.
    #[must_use]
    pub fn place(&self, store: &Checkpoints) -> Checkpoints {
        store.below(&self.job).below(&self.id)
    }
}
