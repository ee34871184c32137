//! Another number of trainers, by scripted exchanges.

use paddle_engines::kubernetes::{Applied, Job, KubernetesError};
use serde_json::{Value, json};

use crate::manifests::{job, secret};
use crate::script::{Exchange, exchange, play, refusal};

const GET: &str = "GET /apis/batch/v1/namespaces/research/jobs/mnist";
const DELETE: &str = "DELETE /apis/batch/v1/namespaces/research/jobs/mnist?";
const PATCH: &str =
    "PATCH /apis/batch/v1/namespaces/research/jobs/mnist?&fieldManager=paddle&fieldValidation=Strict";

fn of(trainers: usize) -> Job {
    let mut job = Job::new("mnist", "registry.example/mnist@sha256:0f", 2, trainers).unwrap();
    job.store = Some("s3://bucket/jobs".into());
    job.namespace = Some("research".into());
    job
}

/// A job as the server has it: with its own labels and selector.
fn there(job: &Job, uid: &str) -> Value {
    let yaml = job.manifests(&secret()).unwrap().yaml().unwrap();
    let mut job: Value = serde_saphyr::from_str(yaml.rsplit("---\n").next().unwrap()).unwrap();
    job["metadata"]["uid"] = json!(uid);
    job["metadata"]["resourceVersion"] = json!("7");
    job["spec"]["selector"] = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    for label in ["batch.kubernetes.io/controller-uid", "controller-uid"] {
        job["spec"]["template"]["metadata"]["labels"][label] = json!(uid);
    }
    job
}

/// That job on its way out.
fn ending() -> Value {
    let mut job = there(&of(3), "u1");
    job["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    job
}

fn variable<'a>(job: &'a Value, name: &str) -> &'a Value {
    let variables = job["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    variables.iter().find(|variable| variable["name"] == name).unwrap()
}

fn gone() -> Vec<Exchange> {
    let mut delete = exchange(DELETE, 200, json!({"kind": "Status", "status": "Success"}));
    delete.body = Some(|body| assert_eq!(body["propagationPolicy"], "Foreground"));
    vec![
        exchange(GET, 200, there(&of(3), "u1")),
        delete,
        exchange(GET, 200, ending()),
        // An API server that is away has not said that the job is gone.
        exchange(GET, 503, refusal(503, "ServiceUnavailable")),
        exchange(GET, 404, refusal(404, "NotFound")),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_job_goes_on_with_other_trainers_as_the_same_run() {
    // As the server has it then.
    let mut scaled = there(&of(8), "u2");
    let variables = scaled["spec"]["template"]["spec"]["containers"][0]["env"].as_array_mut().unwrap();
    let run = variables.iter_mut().find(|variable| variable["name"] == "PADDLE_RUN").unwrap();
    *run = json!({"name": "PADDLE_RUN", "value": "u1"});
    let mut script = gone();
    script.push(exchange(PATCH, 503, refusal(503, "ServiceUnavailable")));
    script.push(exchange(PATCH, 201, scaled.clone()));
    script.last_mut().unwrap().body = Some(|body| {
        assert_eq!((&body["spec"]["parallelism"], &body["spec"]["completions"]), (&json!(11), &json!(11)));
        assert_eq!(variable(body, "PADDLE_SIZE")["value"], "11");
        assert_eq!(variable(body, "PADDLE_SERVERS")["value"], "2");
        assert_eq!(*variable(body, "PADDLE_RUN"), json!({"name": "PADDLE_RUN", "value": "u1"}));
        // What belongs to the job that was is not taken over.
        let text = body.to_string();
        assert!(!text.contains("controller-uid") && body["metadata"]["resourceVersion"].is_null(), "{text}");
        assert!(text.contains("registry.example/mnist@sha256:0f"), "{text}");
    });
    // The same call with the new number follows it, in the place of the same run, and it can be scaled again.
    script.push(exchange(GET, 200, scaled.clone()));
    script.push(exchange(GET, 200, scaled.clone()));
    script.push(exchange(GET, 200, scaled));
    let (cluster, server) = play(script);
    cluster.scale("mnist", 8).await.unwrap();
    assert_eq!(cluster.apply(&of(8).manifests(&secret()).unwrap()).await, Ok(Applied::There));
    assert_eq!(cluster.id("mnist").await.unwrap(), "u1");
    // As many as there are.
    cluster.scale("mnist", 8).await.unwrap();
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_scaled_is_left_as_it_is() {
    let mut ended = there(&of(3), "u1");
    ended["status"] = json!({"conditions": [{"type": "Complete", "status": "True"}]});
    let mut without = job();
    without.namespace = Some("research".into());
    let (cluster, server) = play(vec![
        exchange(GET, 404, refusal(404, "NotFound")),
        exchange(GET, 200, ended),
        exchange(GET, 200, ending()),
        exchange(GET, 200, there(&of(3), "u1")),
        exchange(GET, 200, there(&without, "u1")),
        exchange(GET, 200, json!({"metadata": {"name": "mnist"}, "spec": {"template": {}}})),
    ]);
    let name = || "mnist".to_string();
    let missing = KubernetesError::Missing { object: "Job mnist".into() };
    assert_eq!(cluster.scale("mnist", 4).await, Err(missing));
    assert_eq!(cluster.scale("mnist", 4).await, Err(KubernetesError::Ended { job: name() }));
    assert_eq!(cluster.scale("mnist", 4).await, Err(KubernetesError::Ending { job: name() }));
    for (trainers, field) in [(0, "the number of trainers"), (4, "the store of the job"), (4, "the job")] {
        let error = cluster.scale("mnist", trainers).await.unwrap_err();
        assert!(
            matches!(error, KubernetesError::Malformed { field: found, .. } if found == field),
            "{error}"
        );
    }
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_job_that_cannot_be_made_again_is_said_to_be_in_its_store() {
    let mut script = gone();
    script.push(exchange(PATCH, 403, refusal(403, "Forbidden")));
    let (cluster, server) = play(script);
    let error = cluster.scale("mnist", 8).await.unwrap_err();
    assert!(matches!(&error, KubernetesError::NotMadeAgain { run, .. } if run == "u1"), "{error}");
    assert!(error.to_string().contains("`mnist/u1`"), "{error}");
    drop(cluster);
    server.await.unwrap();
}
