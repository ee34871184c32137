//! A job from outside of its cluster, by scripted exchanges: its image, its objects, its end, and what it has made.
#![cfg(target_os = "linux")]

#[path = "kubernetes/script.rs"]
mod script;

use std::path::{Path, PathBuf};
use std::process::Command;

use paddle_engines::image::{Image, ImageError, Pushed};
use paddle_engines::kubernetes::{Applied, Cluster, Job, KubernetesError, Outcome, Secret};
use paddle_engines::launch::{Launch, LaunchError, Launched};
use paddle_engines::store::{Checkpoints, StoreError};
use serde_json::{Value, json};

use crate::script::{Exchange, exchange, play, refusal};

const GET: &str = "GET /apis/batch/v1/namespaces/research/jobs/mnist";
const PODS: &str = "GET /api/v1/namespaces/research/pods?&labelSelector=app.kubernetes.io%2Finstance%3Dmnist";

/// The smallest program, and whether it is static.
fn compile(folder: &Path, is_static: bool) -> PathBuf {
    let source = folder.join("job.rs");
    std::fs::write(&source, "fn main() {}").unwrap();
    let path = folder.join(if is_static { "static" } else { "dynamic" });
    let feature = if is_static { "+crt-static" } else { "-crt-static" };
    let mut rustc = Command::new("rustc");
    rustc
        .args(["-C", &format!("target-feature={feature}"), "-C", "strip=symbols", "-o"])
        .arg(&path)
        .arg(&source);
    assert!(rustc.status().unwrap().success());
    path
}

fn job() -> Job {
    let mut job = Job::new("mnist", "registry.example/mnist", 2, 3).unwrap();
    job.store = Some("memory:///jobs".into());
    job
}

fn launch(program: &Path) -> Launch<'_> {
    Launch { program, files: &[], job: job(), secret: Secret::default().file("secret", b"hunter2") }
}

/// A registry that takes everything.
async fn push(image: &Image, name: &str) -> Result<Pushed, ImageError> {
    Ok(Pushed { reference: format!("{name}@{}", image.digest()), there: 0 })
}

async fn start(cluster: &Cluster, program: &Path) -> Result<Launched, LaunchError> {
    launch(program).start(cluster, "registry.example/mnist", push).await
}

/// The job as the server has it.
fn there(image: &str, conditions: Value) -> Value {
    let yaml = job().of_image(image).manifests(&Secret::default()).unwrap().yaml().unwrap();
    let mut job: Value = serde_saphyr::from_str(yaml.rsplit("---\n").next().unwrap()).unwrap();
    job["metadata"]["uid"] = json!("u1");
    job["metadata"]["resourceVersion"] = json!("7");
    job["status"] = json!({"conditions": conditions});
    job
}

fn makes(image: &str) -> Vec<Exchange> {
    let object = |kind: &str| json!({"kind": kind, "metadata": {"name": "mnist"}});
    let binding = json!({"kind": "RoleBinding", "metadata": {"name": "mnist"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "mnist"}});
    let mut script = vec![
        exchange(GET, 404, refusal(404, "NotFound")),
        exchange(
            "PATCH /api/v1/namespaces/research/secrets/mnist?&fieldManager=paddle&fieldValidation=Strict",
            200,
            object("Secret"),
        ),
        exchange(
            "PATCH /api/v1/namespaces/research/serviceaccounts/mnist?&fieldManager=paddle&fieldValidation=Strict",
            200,
            object("ServiceAccount"),
        ),
        exchange(
            "PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/research/roles/mnist?&fieldManager=paddle&fieldValidation=Strict",
            200,
            object("Role"),
        ),
        exchange(
            "PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/research/rolebindings/mnist?&fieldManager=paddle&fieldValidation=Strict",
            200,
            binding,
        ),
        exchange(
            "PATCH /api/v1/namespaces/research/services/mnist?&fieldManager=paddle&fieldValidation=Strict",
            200,
            object("Service"),
        ),
        exchange(
            "PATCH /apis/batch/v1/namespaces/research/jobs/mnist?&fieldManager=paddle&fieldValidation=Strict",
            201,
            there(image, json!([])),
        ),
        exchange(GET, 200, there(image, json!([]))),
    ];
    // The secret is in its object, and in no other.
    script[1].body = Some(|body| assert_eq!(body["data"]["secret"], "aHVudGVyMg=="));
    script[6].body = Some(|body| {
        let text = body.to_string();
        assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "{text}");
        let container = &body["spec"]["template"]["spec"]["containers"][0];
        let image = container["image"].as_str().unwrap();
        assert!(image.starts_with("registry.example/mnist@sha256:"), "{image}");
        let run = container["env"].as_array().unwrap().iter().find(|env| env["name"] == "PADDLE_RUN");
        let field = &run.unwrap()["valueFrom"]["fieldRef"]["fieldPath"];
        assert_eq!(field, "metadata.labels['batch.kubernetes.io/controller-uid']");
    });
    script
}

fn image_of(program: &Path) -> String {
    let image = Image::of(&paddle_engines::image::Program::open(program).unwrap(), &[]).unwrap();
    format!("registry.example/mnist@{}", image.digest())
}

#[tokio::test(start_paused = true)]
async fn from_the_program_to_what_the_job_has_made() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), true);
    let image = image_of(&program);
    let complete = json!([{"type": "Complete", "status": "True"}]);
    let mut script = makes(&image);
    script.push(exchange(GET, 200, there(&image, complete)));
    script.push(exchange(
        PODS,
        200,
        json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []}),
    ));
    let (cluster, server) = play(script);
    let launched = start(&cluster, &program).await.unwrap();
    let expected = Launched { job: "mnist".into(), id: "u1".into(), image, applied: Applied::Made };
    assert_eq!(launched, expected);
    assert_eq!(cluster.follow("mnist", |_| {}).await, Ok(Outcome::Succeeded));

    // What an earlier run of the job has made is not taken for what this one makes.
    let store = Checkpoints::in_memory();
    store.below("mnist").below("u0").put_result("parameters", "old".into()).await.unwrap();
    let missing = launched.place(&store).result("parameters").await;
    assert!(matches!(missing, Err(StoreError::Missing { .. })), "{missing:?}");
    store.below("mnist").below("u1").put_result("parameters", "new".into()).await.unwrap();
    assert_eq!(launched.place(&store).result("parameters").await.unwrap(), "new");
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test]
async fn a_job_that_runs_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), true);
    let image = image_of(&program);
    let (cluster, server) = play(vec![
        exchange(GET, 200, there(&image, json!([]))),
        exchange(GET, 200, there(&image, json!([]))),
        exchange(GET, 200, there("registry.example/mnist@sha256:other", json!([]))),
    ]);
    assert_eq!(start(&cluster, &program).await.unwrap().applied, Applied::There);
    let fields = vec!["spec.template.spec.containers[0].image".to_string()];
    let differs = KubernetesError::Differs { job: "mnist".into(), fields };
    assert_eq!(start(&cluster, &program).await, Err(differs.into()));
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test]
async fn nothing_is_asked_of_kubernetes_before_there_is_an_image() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, server) = play(Vec::new());
    let error = start(&cluster, &compile(folder.path(), false)).await.unwrap_err();
    assert!(matches!(&error, LaunchError::Image(ImageError::NotStatic { .. })), "{error}");
    assert!(error.to_string().contains("-musl"), "{error}");
    let error = start(&cluster, &folder.path().join("none")).await.unwrap_err();
    assert!(matches!(error, LaunchError::Image(ImageError::Read { .. })), "{error}");

    let program = compile(folder.path(), true);
    let denied = || ImageError::Denied { registry: "registry.example".into(), repository: "mnist".into() };
    let deny = async |_: &Image, _: &str| Err(denied());
    assert_eq!(launch(&program).start(&cluster, "registry.example/mnist", deny).await, Err(denied().into()));
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test]
async fn who_may_not_start_jobs_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), true);
    let (cluster, server) = play(vec![exchange(GET, 403, refusal(403, "Forbidden"))]);
    let error = start(&cluster, &program).await.unwrap_err();
    assert!(matches!(error, LaunchError::Kubernetes(KubernetesError::Forbidden { .. })), "{error}");
    drop(cluster);
    server.await.unwrap();
}
