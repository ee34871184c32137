//! The objects of a job.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::batch::v1::{
    Job as IndexedJob, JobSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyRule, SuccessPolicy, SuccessPolicyRule,
};
use k8s_openapi::api::core::v1::{Secret as SecretObject, Service, ServiceAccount, ServicePort, ServiceSpec};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use super::{Job, KubernetesError, LABEL, NAME, Secret, container};

/// With this exit code a program says that another attempt would end the same way.
const USER_ERROR: i32 = 42;

/// The objects of a job, each with the job's name.
#[derive(Clone)]
pub struct Manifests {
    pub(super) secret: SecretObject,
    pub(super) account: ServiceAccount,
    pub(super) role: Role,
    pub(super) binding: RoleBinding,
    pub(super) service: Service,
    pub(super) job: IndexedJob,
}

impl std::fmt::Debug for Manifests {
    // Not the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manifests").field("job", &self.job).finish_non_exhaustive()
    }
}

impl Manifests {
    /// What is applied, as YAML in the order in which it is applied. The contents of the secret are left out: this is for showing.
    ///
    /// # Errors
    /// If a manifest cannot be written.
    pub fn yaml(&self) -> Result<String, KubernetesError> {
        Ok(self.yaml_of_access()? + "---\n" + &text(&self.service)? + "---\n" + &text(&self.job)?)
    }

    /// All but the job and its service.
    pub(super) fn yaml_of_access(&self) -> Result<String, KubernetesError> {
        let mut secret = self.secret.clone();
        // The names remain, each with nothing.
        secret.data.iter_mut().flatten().for_each(|(_, content)| content.0.clear());
        let texts = [text(&secret)?, text(&self.account)?, text(&self.role)?, text(&self.binding)?];
        Ok(texts.join("---\n"))
    }
}

pub(super) fn text(manifest: &impl Serialize) -> Result<String, KubernetesError> {
    let yaml = serde_saphyr::to_string(manifest);
    yaml.map_err(|error| KubernetesError::Yaml { reason: error.to_string() })
}

pub(super) fn labels(job: &Job) -> BTreeMap<String, String> {
    BTreeMap::from([
        (LABEL.to_string(), job.name.clone()),
        ("app.kubernetes.io/managed-by".to_string(), NAME.to_string()),
    ])
}

pub(super) fn metadata(job: &Job) -> ObjectMeta {
    ObjectMeta {
        name: Some(job.name.clone()),
        namespace: job.namespace.clone(),
        labels: Some(labels(job)),
        ..Default::default()
    }
}

pub(super) fn of(job: &Job, secret: &Secret) -> Manifests {
    let data = secret.files.iter().map(|(name, content)| (name.clone(), ByteString(content.clone())));
    Manifests {
        secret: SecretObject {
            metadata: metadata(job),
            data: Some(data.collect()),
            type_: Some("Opaque".into()),
            ..Default::default()
        },
        account: ServiceAccount { metadata: metadata(job), ..Default::default() },
        role: Role { metadata: metadata(job), rules: Some(rules(job)) },
        binding: RoleBinding {
            metadata: metadata(job),
            role_ref: RoleRef {
                api_group: "rbac.authorization.k8s.io".into(),
                kind: "Role".into(),
                name: job.name.clone(),
            },
            subjects: Some(vec![Subject {
                kind: "ServiceAccount".into(),
                name: job.name.clone(),
                namespace: job.namespace.clone(),
                ..Default::default()
            }]),
        },
        service: service(job),
        job: IndexedJob { metadata: metadata(job), spec: Some(spec(job)), ..Default::default() },
    }
}

/// What processes may know of the cluster: the pods, for diagnostics, and their own job.
fn rules(job: &Job) -> Vec<PolicyRule> {
    let strings = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    vec![
        PolicyRule {
            api_groups: Some(strings(&[""])),
            resources: Some(strings(&["pods"])),
            verbs: strings(&["get", "list"]),
            ..Default::default()
        },
        PolicyRule {
            api_groups: Some(strings(&["batch"])),
            resources: Some(strings(&["jobs"])),
            resource_names: Some(vec![job.name.clone()]),
            verbs: strings(&["get"]),
            ..Default::default()
        },
    ]
}

/// It gives each pod its name, `<job>-<index>.<job>`.
fn service(job: &Job) -> Service {
    let port = ServicePort { name: Some("master".into()), port: job.port.into(), ..Default::default() };
    let spec = ServiceSpec {
        cluster_ip: Some("None".into()),
        selector: Some(BTreeMap::from([(LABEL.to_string(), job.name.clone())])),
        // Processes look for each other before they are ready.
        publish_not_ready_addresses: Some(true),
        ports: Some(vec![port]),
        ..Default::default()
    };
    Service { metadata: metadata(job), spec: Some(spec), ..Default::default() }
}

fn spec(job: &Job) -> JobSpec {
    let size = i32::try_from(job.size()).unwrap_or(i32::MAX);
    JobSpec {
        completion_mode: Some("Indexed".into()),
        parallelism: Some(size),
        completions: Some(size),
        template: container::template(job, &format!("{0}-0.{0}", job.name), None),
        success_policy: Some(SuccessPolicy {
            // The master ends when all is done. Kubernetes stops the others then.
            rules: vec![SuccessPolicyRule { succeeded_indexes: Some("0".into()), ..Default::default() }],
        }),
        ..policies(job)
    }
}

/// What becomes of pods that fail.
pub(super) fn policies(job: &Job) -> JobSpec {
    let on_user_error = PodFailurePolicyRule {
        action: "FailJob".into(),
        on_exit_codes: Some(PodFailurePolicyOnExitCodesRequirement {
            container_name: Some(NAME.into()),
            operator: "In".into(),
            values: vec![USER_ERROR],
        }),
        ..Default::default()
    };
    // A node that is drained is not the job's fault.
    let on_disruption = PodFailurePolicyRule {
        action: "Ignore".into(),
        on_pod_conditions: Some(vec![PodFailurePolicyOnPodConditionsPattern {
            type_: "DisruptionTarget".into(),
            status: "True".into(),
        }]),
        ..Default::default()
    };
    JobSpec {
        backoff_limit_per_index: Some(job.retries.into()),
        // Two pods never have one rank.
        pod_replacement_policy: Some("Failed".into()),
        pod_failure_policy: Some(PodFailurePolicy { rules: vec![on_user_error, on_disruption] }),
        ..Default::default()
    }
}
