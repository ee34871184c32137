//! A TrainJob of Kubeflow, of which no crate has the types: <https://www.kubeflow.org/docs/components/trainer>.

use k8s_openapi::api::core::v1::{EnvVar, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use super::manifests::metadata;
use super::{Job, container};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TrainJob {
    api_version: &'static str,
    kind: &'static str,
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    runtime_ref: RuntimeRef,
    trainer: Trainer,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuntimeRef {
    api_group: &'static str,
    kind: &'static str,
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trainer {
    image: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    env: Vec<EnvVar>,
    num_nodes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources_per_node: Option<ResourceRequirements>,
}

/// Restarts, security and volumes are the runtime's: a TrainJob says only what to train, and on how many nodes.
pub(super) fn of(job: &Job, runtime: &str) -> TrainJob {
    // The runtime makes a JobSet, which makes these names.
    let master = format!("{0}-node-0-0.{0}", job.name);
    TrainJob {
        api_version: "trainer.kubeflow.org/v1alpha1",
        kind: "TrainJob",
        metadata: metadata(job),
        spec: Spec {
            runtime_ref: RuntimeRef {
                api_group: "trainer.kubeflow.org",
                kind: "ClusterTrainingRuntime",
                name: runtime.into(),
            },
            trainer: Trainer {
                image: job.image.clone(),
                args: job.arguments.clone(),
                env: container::variables(job, &master, None),
                num_nodes: job.size(),
                resources_per_node: container::resources(job),
            },
        },
    }
}
