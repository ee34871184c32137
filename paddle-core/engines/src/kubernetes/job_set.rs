//! A JobSet, of which no crate has the types: <https://jobset.sigs.k8s.io>.

use k8s_openapi::api::batch::v1::{JobSpec, JobTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use super::manifests::{metadata, policies};
use super::{Job, container};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobSet {
    api_version: &'static str,
    kind: &'static str,
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    network: Network,
    success_policy: SuccessPolicy,
    failure_policy: FailurePolicy,
    replicated_jobs: Vec<ReplicatedJob>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Network {
    #[serde(rename = "enableDNSHostnames")]
    enable_dns_hostnames: bool,
    publish_not_ready_addresses: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SuccessPolicy {
    operator: &'static str,
    target_replicated_jobs: [&'static str; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailurePolicy {
    max_restarts: u32,
}

#[derive(Serialize)]
struct ReplicatedJob {
    name: &'static str,
    replicas: u32,
    template: JobTemplateSpec,
}

/// A replicated job per role. The set ends with the master, and fails with whichever job fails: by default a JobSet would begin anew
/// with all of its pods, though one rank alone had to be replaced.
pub(super) fn of(job: &Job) -> JobSet {
    let roles = [("master", 0, 1), ("servers", 1, job.servers), ("trainers", 1 + job.servers, job.trainers)];
    let replicated = roles.into_iter().filter(|(_, _, count)| *count > 0).map(|(name, offset, count)| {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        // Pods are called `<set>-<replicated job>-<its replica>-<index>`.
        let master = format!("{0}-master-0-0.{0}", job.name);
        let spec = JobSpec {
            completion_mode: Some("Indexed".into()),
            parallelism: Some(count),
            completions: Some(count),
            template: container::template(job, &master, Some(offset)),
            ..policies(job)
        };
        ReplicatedJob { name, replicas: 1, template: JobTemplateSpec { metadata: None, spec: Some(spec) } }
    });
    JobSet {
        api_version: "jobset.x-k8s.io/v1alpha2",
        kind: "JobSet",
        metadata: metadata(job),
        spec: Spec {
            network: Network { enable_dns_hostnames: true, publish_not_ready_addresses: true },
            success_policy: SuccessPolicy { operator: "All", target_replicated_jobs: ["master"] },
            failure_policy: FailurePolicy { max_restarts: 0 },
            replicated_jobs: replicated.collect(),
        },
    }
}
