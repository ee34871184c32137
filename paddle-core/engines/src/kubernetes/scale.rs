//! Another number of trainers for a job that runs.
//!
//! Kubernetes does not change what pods are told, and pods are told how many there are. So the job is deleted and made again with the same
//! name, the same secret and the same run: its master goes on from the newest checkpoint of the store, whose bits do not depend on the number
//! of trainers.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job as IndexedJob;
use k8s_openapi::api::core::v1::EnvVar;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DeleteParams;

use super::client::object;
use super::follow::outcome;
use super::{Cluster, KubernetesError};

/// The variable with what tells a run of a job from others in the store.
pub(super) const RUN: &str = "PADDLE_RUN";
const SIZE: &str = "PADDLE_SIZE";
const SERVERS: &str = "PADDLE_SERVERS";

/// The time between two looks at a job that is being deleted, or two attempts to make it again.
const PAUSE: Duration = Duration::from_secs(1);
/// So many looks and attempts: pods have half a minute to end, and nodes may be away for longer.
const PATIENCE: u32 = 300;

impl Cluster {
    /// Has a job that runs go on with so many trainers, from its newest checkpoint. It is over when the job is made again.
    ///
    /// Whoever follows the job is told that it is not there, and follows it again by the same call with the new number.
    ///
    /// # Errors
    /// [`KubernetesError::Malformed`] if there is to be no trainer, or if the job has no store, and so no checkpoint to go on from;
    /// [`KubernetesError::Ended`] if it has ended, [`KubernetesError::Missing`] if it is not there, and whatever the API server refuses. Only
    /// behind [`KubernetesError::NotMadeAgain`] the job is not there any more.
    pub async fn scale(&self, job: &str, trainers: usize) -> Result<(), KubernetesError> {
        let missing = || KubernetesError::Missing { object: object::<IndexedJob>(job) };
        let there = self.find(job).await?.ok_or_else(missing)?;
        if there.metadata.deletion_timestamp.is_some() {
            return Err(KubernetesError::Ending { job: job.into() });
        }
        if outcome(&there).is_some() {
            return Err(KubernetesError::Ended { job: job.into() });
        }
        let Some((scaled, run)) = scaled(&there, trainers)? else { return Ok(()) };
        // The job stays, marked, until its pods are gone.
        self.delete::<IndexedJob>(job, &DeleteParams::foreground()).await?;
        let mut looks = 0;
        while !matches!(self.find(job).await, Ok(None)) {
            looks += 1;
            if looks > PATIENCE {
                return Err(KubernetesError::Ending { job: job.into() });
            }
            tokio::time::sleep(PAUSE).await;
        }
        let mut attempts = 0;
        loop {
            match self.patch(job, &scaled).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_passing() && attempts < PATIENCE => attempts += 1,
                Err(error) => {
                    let reason = error.to_string();
                    return Err(KubernetesError::NotMadeAgain { job: job.into(), run, reason });
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// What tells the run of a job from others.
pub(super) fn run_of(job: &IndexedJob) -> Option<String> {
    named_run(job).map(str::to_string).or_else(|| job.metadata.uid.clone())
}

/// The run that a job names, because it is not the first of that run.
pub(super) fn named_run(job: &IndexedJob) -> Option<&str> {
    variables(job).find(|variable| variable.name == RUN)?.value.as_deref()
}

fn variables(job: &IndexedJob) -> impl Iterator<Item = &EnvVar> {
    let pod = job.spec.iter().filter_map(|spec| spec.template.spec.as_ref());
    pod.flat_map(|pod| &pod.containers).filter_map(|container| container.env.as_ref()).flatten()
}

/// The job with so many trainers, and its run; none if it has as many.
fn scaled(there: &IndexedJob, trainers: usize) -> Result<Option<(IndexedJob, String)>, KubernetesError> {
    let malformed = |field, found: String, expected: &str| KubernetesError::Malformed {
        field,
        found,
        expected: expected.into(),
    };
    let number =
        |name: &str| variables(there).find(|variable| variable.name == name)?.value.as_ref()?.parse().ok();
    let name = there.metadata.name.clone().unwrap_or_default();
    let not_ours = || malformed("the job", name.clone(), "one that this library has made");
    let servers: usize = number(SERVERS).ok_or_else(not_ours)?;
    let before: usize = number(SIZE).ok_or_else(not_ours)?;
    let size = servers.saturating_add(trainers).saturating_add(1);
    if trainers == 0 || size > 100_000 {
        return Err(malformed(
            "the number of trainers",
            trainers.to_string(),
            "1 or more, and less than 100 000 processes",
        ));
    }
    if !variables(there).any(|variable| variable.name == RUN) {
        return Err(malformed("the store of the job", "none".into(), "one, from which it goes on"));
    }
    let run = run_of(there).ok_or_else(not_ours)?;
    if size == before {
        return Ok(None);
    }
    let mut spec = there.spec.clone().ok_or_else(not_ours)?;
    let count = i32::try_from(size).unwrap_or(i32::MAX);
    (spec.parallelism, spec.completions) = (Some(count), Some(count));
    // The server makes them anew.
    spec.selector = None;
    let is_own = |label: &String| {
        !label.starts_with("batch.kubernetes.io/") && !matches!(&label[..], "controller-uid" | "job-name")
    };
    if let Some(labels) = spec.template.metadata.as_mut().and_then(|metadata| metadata.labels.as_mut()) {
        labels.retain(|label, _| is_own(label));
    }
    let pod = spec.template.spec.iter_mut();
    for variable in
        pod.flat_map(|pod| &mut pod.containers).filter_map(|container| container.env.as_mut()).flatten()
    {
        match &variable.name[..] {
            SIZE => variable.value = Some(size.to_string()),
            // Another job has another id, but it is the same run.
            RUN => (variable.value, variable.value_from) = (Some(run.clone()), None),
            _ => {}
        }
    }
    let labels = there.metadata.labels.clone().map(|mut labels| {
        labels.retain(|label, _| is_own(label));
        labels
    });
    let metadata = ObjectMeta {
        name: Some(name),
        namespace: there.metadata.namespace.clone(),
        labels,
        ..Default::default()
    };
    Ok(Some((IndexedJob { metadata, spec: Some(spec), ..Default::default() }, run)))
}
