//! Following a job.

use std::time::Duration;

use futures_util::{AsyncBufReadExt, StreamExt, TryStreamExt};
use k8s_openapi::api::batch::v1::Job as IndexedJob;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams, WatchEvent, WatchParams};

use super::client::object;
use super::{Cluster, KubernetesError, LABEL};

const PAUSE: Duration = Duration::from_secs(1);
/// An API server that is away for longer is reported. The job runs on without it.
const PATIENCE: u32 = 60;

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whether it has ended, and how.
    pub outcome: Option<Outcome>,
    /// Its pods, those of a rank behind one another.
    pub pods: Vec<PodState>,
}

/// How a job has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The master has ended well.
    Succeeded,
    /// It has failed.
    Failed {
        /// Why, in a word of Kubernetes, such as `PodFailurePolicy`.
        reason: String,
        /// Why, in a sentence.
        message: String,
    },
}

/// Where a pod stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodState {
    /// The rank of its process.
    pub rank: Option<usize>,
    /// Its name.
    pub name: String,
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: String,
    /// Why it waits, such as `ImagePullBackOff`, or what it said at its end.
    pub reason: Option<String>,
}

impl Cluster {
    /// Where a job stands now.
    ///
    /// # Errors
    /// [`KubernetesError::Missing`] if it is not there, and whatever the API server refuses.
    pub async fn progress(&self, job: &str) -> Result<Progress, KubernetesError> {
        Ok(self.look(job).await?.0)
    }

    /// Tells of each change until the job has ended. Outages of the API server are waited for, up to a minute each.
    ///
    /// # Errors
    /// [`KubernetesError::Missing`] if the job was deleted, and whatever the API server refuses.
    pub async fn follow(
        &self,
        job: &str,
        mut on_change: impl FnMut(&Progress),
    ) -> Result<Outcome, KubernetesError> {
        let (mut failures, mut last) = (0, None);
        loop {
            let (progress, version) = match self.look(job).await {
                Ok(found) => found,
                Err(error) if error.is_passing() && failures < PATIENCE => {
                    failures += 1;
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            failures = 0;
            if last.as_ref() != Some(&progress) {
                on_change(&progress);
            }
            if let Some(outcome) = progress.outcome {
                return Ok(outcome);
            }
            last = Some(progress);
            // Whatever ends it, one looks again: also when what has happened since is not kept any more.
            self.wait(job, &version).await;
        }
    }

    /// Tells the lines of the log of a rank, from its begin to the end of its pod.
    ///
    /// # Errors
    /// [`KubernetesError::Missing`] if no pod of the rank has begun, and whatever the API server refuses.
    pub async fn log(
        &self,
        job: &str,
        rank: usize,
        mut on_line: impl FnMut(&str),
    ) -> Result<(), KubernetesError> {
        let pods = self.pods(job).await?;
        let begun = pods.iter().rfind(|pod| pod.rank == Some(rank) && pod.phase != "Pending");
        let name = match begun {
            Some(pod) => &pod.name,
            None => {
                return Err(KubernetesError::Missing { object: format!("a pod of rank {rank} of {job}") });
            }
        };
        let failed = |error: &kube::Error| KubernetesError::of(object::<Pod>(name), error);
        let how = LogParams { follow: true, ..LogParams::default() };
        let log = self.api::<Pod>().log_stream(name, &how).await.map_err(|error| failed(&error))?;
        let mut lines = log.lines();
        while let Some(line) =
            lines.try_next().await.map_err(|error| failed(&kube::Error::ReadEvents(error)))?
        {
            on_line(&line);
        }
        Ok(())
    }

    async fn look(&self, job: &str) -> Result<(Progress, String), KubernetesError> {
        let missing = || KubernetesError::Missing { object: object::<IndexedJob>(job) };
        let found = self.find(job).await?.ok_or_else(missing)?;
        let version = found.metadata.resource_version.clone().unwrap_or_default();
        Ok((Progress { outcome: outcome(&found), pods: self.pods(job).await? }, version))
    }

    /// Waits until something has changed, may have changed, or some time has passed.
    async fn wait(&self, job: &str, version: &str) {
        let name = format!("metadata.name={job}");
        let how = WatchParams::default().fields(&name).timeout(60);
        if let Ok(changes) = self.api::<IndexedJob>().watch(&how, version).await {
            let mut changes = std::pin::pin!(changes);
            while let Some(change) = changes.next().await {
                if !matches!(change, Ok(WatchEvent::Bookmark(_))) {
                    break;
                }
            }
        }
        // Changes come in bursts, and an error must not be asked for again at once.
        tokio::time::sleep(PAUSE).await;
    }

    async fn pods(&self, job: &str) -> Result<Vec<PodState>, KubernetesError> {
        let how = ListParams::default().labels(&format!("{LABEL}={job}"));
        let found = self.api::<Pod>().list(&how).await;
        let found = found.map_err(|error| KubernetesError::of(format!("the pods of {job}"), &error))?;
        let mut pods = found.items;
        pods.sort_by_key(|pod| pod.metadata.creation_timestamp.clone());
        let mut pods: Vec<PodState> = pods.iter().map(state).collect();
        // Stable: the newest of a rank remains the last.
        pods.sort_by_key(|pod| pod.rank);
        Ok(pods)
    }
}

/// How a job has ended, if it has.
pub(super) fn outcome(job: &IndexedJob) -> Option<Outcome> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().filter(|condition| condition.status == "True").find_map(|condition| {
        match condition.type_.as_str() {
            "Complete" => Some(Outcome::Succeeded),
            "Failed" => Some(Outcome::Failed {
                reason: condition.reason.clone().unwrap_or_default(),
                message: condition.message.clone().unwrap_or_default(),
            }),
            _ => None,
        }
    })
}

fn state(pod: &Pod) -> PodState {
    const INDEX: &str = "batch.kubernetes.io/job-completion-index";
    let annotations = pod.metadata.annotations.as_ref();
    let container = pod
        .status
        .as_ref()
        .and_then(|status| status.container_statuses.as_ref())
        .and_then(|containers| containers.first())
        .and_then(|container| container.state.as_ref());
    let waiting = container.and_then(|state| state.waiting.as_ref()?.reason.clone());
    let ended = container.and_then(|state| {
        let ended = state.terminated.as_ref()?;
        let text = ended.message.as_deref().or(ended.reason.as_deref()).unwrap_or_default().trim();
        (ended.exit_code != 0).then(|| format!("exit code {}: {text}", ended.exit_code))
    });
    PodState {
        rank: annotations.and_then(|annotations| annotations.get(INDEX)?.parse().ok()),
        name: pod.metadata.name.clone().unwrap_or_default(),
        phase: pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or("Unknown".into()),
        reason: waiting.or(ended),
    }
}
