//! Manifests. After an intended change, `UPDATE_GOLDEN=1` writes them anew; read the difference.

use std::collections::BTreeMap;
use std::path::Path;

use paddle_engines::kubernetes::{Job, KubernetesError, Resources, Secret};
use paddle_engines::rank::{Place, Role};

pub(crate) fn job() -> Job {
    Job::new("mnist", "registry.example/mnist@sha256:0123", 2, 3).unwrap()
}

pub(crate) fn secret() -> Secret {
    let secret = Secret::default().file("secret", b"hunter2").file("store", b"AWS_REGION=here\n");
    secret.certificates().unwrap()
}

fn everything() -> Job {
    let one = |name: &str, value: &str| BTreeMap::from([(name.to_string(), value.to_string())]);
    let mut job = job();
    job.namespace = Some("research".into());
    job.port = 9000;
    job.resources = Resources { cpu: Some("500m".into()), memory: Some("2Gi".into()), gpus: 1 };
    job.arguments = vec!["--passes".into(), "3".into()];
    // Words that YAML takes for something else have to be quoted.
    job.variables = one("PLAIN", "no");
    job.nodes = one("accelerator", "h100");
    job.retries = 2;
    job.pull_secret = Some("registry".into());
    job
}

fn golden(name: &str, text: &str) {
    assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "the secret is shown");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} has changed to:\n{text}");
}

#[test]
fn an_indexed_job() {
    golden("default.yaml", &job().manifests(&secret()).unwrap().yaml().unwrap());
}

#[test]
fn an_indexed_job_with_everything() {
    golden("everything.yaml", &everything().manifests(&secret()).unwrap().yaml().unwrap());
}

#[test]
fn a_job_set() {
    golden("job_set.yaml", &everything().job_set(&secret()).unwrap());
}

#[test]
fn a_train_job() {
    golden("train_job.yaml", &everything().train_job("paddle", &secret()).unwrap());
}

/// The environment of a manifest's pod, read as its process does.
#[test]
fn a_pod_finds_its_rank() {
    let yaml = job().manifests(&secret()).unwrap().yaml().unwrap();
    let variable = |name: &str| {
        let behind = yaml.split(&format!("name: {name}\n")).nth(1)?;
        let line = behind.lines().next()?.trim().strip_prefix("value: ")?;
        Some(line.trim_matches(['"', '\'']).to_string())
    };
    let place = Place::find(2, |name| match name {
        "JOB_COMPLETION_INDEX" => Some("3".into()),
        "KUBERNETES_SERVICE_HOST" => Some("10.96.0.1".into()),
        name => variable(name),
    });
    let place = place.unwrap().unwrap();
    assert_eq!(
        (place.role(), place.size, place.master.as_str()),
        (Role::Trainer(0), 6, "mnist-0.mnist:7164")
    );
}

#[test]
fn names_are_checked() {
    let long = "a".repeat(58);
    for name in ["", "Mnist", "-a", "a-", "1a", "a.b", "a_b", "ä", &long] {
        let error = Job::new(name, "image", 1, 1).unwrap_err();
        assert!(matches!(error, KubernetesError::Malformed { .. }), "{name}");
    }
    for name in ["a", "mnist-2", &long[1..]] {
        Job::new(name, "image", 1, 1).unwrap();
    }
    assert!(Job::new("a", "image", 1, 0).is_err());
    assert!(Job::new("a", "", 1, 1).is_err());
    assert!(Job::new("a", "image", usize::MAX, 1).is_err());
    let mut reserved = job();
    reserved.variables.insert("PADDLE_SIZE".into(), "1".into());
    assert!(reserved.manifests(&secret()).is_err());
    assert!(job().manifests(&Secret::default().file("../x", b"")).is_err());
    assert!(!format!("{:?} {:?}", secret(), job().manifests(&secret())).contains("hunter2"));
}
