//! The pods of a job, which differ by their index only.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Capabilities, Container, EmptyDirVolumeSource, EnvVar, EnvVarSource, LocalObjectReference,
    ObjectFieldSelector, PodSecurityContext, PodSpec, PodTemplateSpec, ResourceRequirements, SeccompProfile,
    SecretVolumeSource, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::manifests::labels;
use super::{Job, NAME, Secret};

/// Who the processes run as; images of this library have this user.
const USER: i64 = 65532;
const SECRET: &str = "secret";
const SCRATCH: &str = "scratch";

/// A pod, whose master listens at a host, and whose index counts from an offset, if it has one.
pub(super) fn template(job: &Job, master: &str, offset: Option<usize>) -> PodTemplateSpec {
    let spec = PodSpec {
        // The master tells of the job by it, and nothing else is allowed to.
        service_account_name: Some(job.name.clone()),
        automount_service_account_token: Some(true),
        // The variables of other services are none of a program's business.
        enable_service_links: Some(false),
        restart_policy: Some("Never".into()),
        // Stable host names.
        subdomain: Some(job.name.clone()),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            // Files of the secret are the root's; this lets the user read them.
            fs_group: Some(USER),
            seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".into(), ..Default::default() }),
            ..Default::default()
        }),
        node_selector: (!job.nodes.is_empty()).then(|| job.nodes.clone()),
        image_pull_secrets: job
            .pull_secret
            .as_ref()
            .map(|name| vec![LocalObjectReference { name: name.clone() }]),
        containers: vec![container(job, master, offset)],
        volumes: Some(volumes(job)),
        ..Default::default()
    };
    PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels(job)), ..Default::default() }),
        spec: Some(spec),
    }
}

fn container(job: &Job, master: &str, offset: Option<usize>) -> Container {
    let mount = |name: &str, path: &str, read_only: Option<bool>| VolumeMount {
        name: name.into(),
        mount_path: path.into(),
        read_only,
        ..Default::default()
    };
    Container {
        name: NAME.into(),
        image: Some(job.image.clone()),
        args: (!job.arguments.is_empty()).then(|| job.arguments.clone()),
        env: Some([variables(job, master, offset), variables_of_pod(job, offset)].concat()),
        resources: resources(job),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), ..Default::default() }),
            ..Default::default()
        }),
        // The last lines of a program that fails say why.
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        volume_mounts: Some(vec![mount(SCRATCH, "/tmp", None), mount(SECRET, Secret::FOLDER, Some(true))]),
        ..Default::default()
    }
}

/// What [`crate::rank`] reads, and what the job has beside it.
pub(super) fn variables(job: &Job, master: &str, offset: Option<usize>) -> Vec<EnvVar> {
    let mut variables = BTreeMap::from([
        ("PADDLE_JOB".to_string(), job.name.clone()),
        ("PADDLE_MASTER".to_string(), format!("{master}:{}", job.port)),
        ("PADDLE_SERVERS".to_string(), job.servers.to_string()),
        ("PADDLE_SIZE".to_string(), job.size().to_string()),
    ]);
    variables.extend(offset.map(|offset| ("PADDLE_RANK_OFFSET".to_string(), offset.to_string())));
    variables.extend(job.store.clone().map(|store| ("PADDLE_STORE".to_string(), store)));
    variables.extend(job.variables.clone());
    variables
        .into_iter()
        .map(|(name, value)| EnvVar { name, value: Some(value), ..Default::default() })
        .collect()
}

/// What is known when a pod is made. In a set of jobs, each has an id of its own, so the processes would disagree about the run.
fn variables_of_pod(job: &Job, offset: Option<usize>) -> Vec<EnvVar> {
    let mut fields = vec![("PADDLE_ADDRESS", "status.podIP")];
    if job.store.is_some() && offset.is_none() {
        fields.push(("PADDLE_RUN", "metadata.labels['batch.kubernetes.io/controller-uid']"));
    }
    let variable = |(name, path): (&str, &str)| {
        let field = ObjectFieldSelector { field_path: path.into(), ..Default::default() };
        let source = EnvVarSource { field_ref: Some(field), ..Default::default() };
        EnvVar { name: name.into(), value_from: Some(source), ..Default::default() }
    };
    fields.into_iter().map(variable).collect()
}

/// Limits, which are the requests at the same time: a process that is promised less than it uses is the first to be killed.
pub(super) fn resources(job: &Job) -> Option<ResourceRequirements> {
    let gpus = (job.resources.gpus > 0).then(|| job.resources.gpus.to_string());
    let limits: BTreeMap<String, Quantity> =
        [("cpu", &job.resources.cpu), ("memory", &job.resources.memory), ("nvidia.com/gpu", &gpus)]
            .into_iter()
            .filter_map(|(name, quantity)| Some((name.to_string(), Quantity(quantity.clone()?))))
            .collect();
    (!limits.is_empty()).then(|| ResourceRequirements { limits: Some(limits), ..Default::default() })
}

fn volumes(job: &Job) -> Vec<Volume> {
    let secret = SecretVolumeSource {
        secret_name: Some(job.name.clone()),
        default_mode: Some(0o400),
        ..Default::default()
    };
    vec![
        Volume {
            name: SCRATCH.into(),
            empty_dir: Some(EmptyDirVolumeSource::default()),
            ..Default::default()
        },
        Volume { name: SECRET.into(), secret: Some(secret), ..Default::default() },
    ]
}
