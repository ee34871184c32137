//! A training on Kubernetes, from this machine: the job is started or found, followed, and its parameters are fetched.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use paddle_engines::image::{self, File, Registry, push_by_docker};
use paddle_engines::kubernetes::{Applied, Cluster as Api, Outcome, PodState};
use paddle_engines::launch::{Launch, Launched};
use paddle_engines::store::{Checkpoints, StoreError};

use super::terminal::{Answer, Screen};
use super::{Action, ClusterError, KubernetesJob, block_on, show};
use crate::cluster::store::RESULT;

/// What there is at the end.
pub(in super::super) enum Made {
    /// The parameters behind the last step, as a file.
    Parameters(Bytes),
    /// The job runs on.
    Running,
    /// Nothing was asked for but what has been printed, or the job was ended.
    Nothing,
}

/// The time between two looks for Ctrl-C.
const LOOKS: Duration = Duration::from_millis(100);
/// The time between two attempts to read a log.
const PAUSE: Duration = Duration::from_secs(2);
/// The time that the end of the master's log has to arrive.
const LAST_LINES: Duration = Duration::from_secs(5);

impl KubernetesJob {
    /// Does what is to be done with the job.
    pub(in super::super) fn act(&self, servers: u32) -> Result<Made, ClusterError> {
        match self.action {
            Action::Train => return self.train(servers),
            Action::DryRun => {
                if self.image.is_none() || self.store.is_none() {
                    eprintln!("cluster: before it can be started, the job needs `image` and `store`");
                }
                print!("{}", self.manifests(servers)?);
            }
            Action::Status => print!("{}", show(&self.name, &self.status()?)),
            Action::Logs => self.logs(0, |line| println!("{line}"))?,
            Action::Scale(trainers) => self.scale(trainers)?,
            Action::Stop => self.stop()?,
        }
        Ok(Made::Nothing)
    }

    fn train(&self, servers: u32) -> Result<Made, ClusterError> {
        let unset = |setting, advice| ClusterError::Unset { setting, advice };
        let image = "name where it is pushed to: `KubernetesJob::image(\"registry.example/name\")`";
        let image = self.image.as_deref().ok_or(unset("the image", image))?;
        let store =
            "say where checkpoints and parameters are kept: `KubernetesJob::store(\"s3://bucket/prefix\")`";
        let address = self.store.as_deref().ok_or(unset("the store", store))?;
        let failed = |error: StoreError| ClusterError::Store { message: error.to_string() };
        let options = std::env::vars().chain(self.store_options.clone());
        let store = Checkpoints::at(address, options).map_err(failed)?;
        let who = self.who()?;
        let program = match &self.program {
            Some(program) => program.clone(),
            None => own_program()?,
        };
        let secret = self.secret().file("secret", random()?.as_bytes()).certificates()?;
        let files: Vec<File> = File::certificates().into_iter().collect();
        block_on(|| async {
            let api = Api::connect(&who, self.namespace.as_deref()).await?;
            let launch = Launch { program: &program, files: &files, job: self.job(image, servers)?, secret };
            let launched =
                launch.start(&api, image, async |image, name| self.push(image, name).await).await?;
            let what = match launched.applied {
                Applied::Made => "was made",
                Applied::There => "is there already, and is followed",
            };
            eprintln!("cluster: the job {} {what}; its image is {}", launched.job, launched.image);
            follow(&api, &launched, &store).await
        })
    }

    async fn push(&self, image: &image::Image, name: &str) -> Result<image::Pushed, image::ImageError> {
        if self.by_docker {
            return push_by_docker(image, name);
        }
        Registry::new(self.registry_credentials(name)?).push(image, name).await
    }
}

fn own_program() -> Result<PathBuf, ClusterError> {
    std::env::current_exe().map_err(|error| ClusterError::Start { message: error.to_string() })
}

/// What nobody can guess.
fn random() -> Result<String, ClusterError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| ClusterError::Start { message: error.to_string() })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Follows a job to its end, and fetches its parameters.
async fn follow(api: &Api, launched: &Launched, store: &Checkpoints) -> Result<Made, ClusterError> {
    let screen = Screen::new(&launched.job)?;
    let mut told = Told::default();
    let mut pods = Vec::new();
    let outcome = {
        let progress = api.follow(&launched.job, |progress| {
            screen.show(progress);
            pods.clone_from(&progress.pods);
        });
        let answer = async {
            loop {
                tokio::time::sleep(LOOKS).await;
                match screen.asked()? {
                    None | Some(Answer::Follow) => {}
                    Some(answer) => return Ok::<_, ClusterError>(answer),
                }
            }
        };
        tokio::select! {
            outcome = progress => outcome?,
            answer = answer => {
                if answer? == Answer::Leave {
                    eprintln!("cluster: the job {} runs on; the same call follows it again", launched.job);
                    return Ok(Made::Running);
                }
                api.stop(&launched.job).await?;
                return Ok(Made::Nothing);
            }
            never = told.keep_reading(api, &launched.job, &screen) => match never {},
        }
    };
    // A log that does not come is no reason to do without the parameters.
    let _ = tokio::time::timeout(LAST_LINES, told.read(api, &launched.job, &screen)).await;
    match outcome {
        Outcome::Succeeded => {
            let parameters = launched.place(store).result(RESULT).await;
            let parameters =
                parameters.map_err(|error| ClusterError::Store { message: error.to_string() })?;
            Ok(Made::Parameters(parameters))
        }
        Outcome::Failed { reason, message } => {
            let ends = pods.iter().filter(|pod| pod.phase == "Failed");
            let ends = ends
                .filter_map(|PodState { name, reason, .. }| Some(format!("; {name}: {}", reason.as_ref()?)));
            let reason = format!("{reason}: {message}{}", ends.collect::<String>());
            Err(ClusterError::JobFailed { job: launched.job.clone(), reason })
        }
    }
}

/// How much of the master's log was told.
#[derive(Default)]
struct Told {
    pod: String,
    lines: usize,
}

impl Told {
    async fn keep_reading(&mut self, api: &Api, job: &str, screen: &Screen) -> Infallible {
        loop {
            self.read(api, job, screen).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Tells what is new in the master's log, until it breaks off.
    async fn read(&mut self, api: &Api, job: &str, screen: &Screen) {
        let Ok(progress) = api.progress(job).await else { return };
        let begun = progress.pods.iter().rfind(|pod| pod.rank == Some(0) && pod.phase != "Pending");
        let Some(PodState { name, .. }) = begun else { return };
        if self.pod != *name {
            *self = Told { pod: name.clone(), lines: 0 };
        }
        let (mut at, known) = (0, self.lines);
        // It is read again from its begin; whatever went wrong, the job is followed all the same.
        let _ = api
            .log(job, 0, |line| {
                at += 1;
                if at > known {
                    screen.tell(line);
                    self.lines = at;
                }
            })
            .await;
    }
}
