//! Following, by scripted exchanges: watches that expire, outages, and ends of each kind.

use paddle_engines::kubernetes::{KubernetesError, Outcome};
use serde_json::{Value, json};

use crate::script::{Exchange, exchange, play, refusal};

const GET: &str = "GET /apis/batch/v1/namespaces/research/jobs/mnist";
const PODS: &str = "GET /api/v1/namespaces/research/pods?&labelSelector=app.kubernetes.io%2Finstance%3Dmnist";
const WATCH: &str = "GET /apis/batch/v1/namespaces/research/jobs?&watch=true&timeoutSeconds=60&fieldSelector=metadata.name%3Dmnist&allowWatchBookmarks=true&resourceVersion=7";

fn job(conditions: Value) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "mnist", "resourceVersion": "7"},
           "status": {"conditions": conditions}})
}

fn pods(phases: &[(&str, &str)]) -> Exchange {
    let items: Vec<Value> = phases
        .iter()
        .enumerate()
        .map(|(k, (rank, phase))| {
            json!({"metadata": {"name": format!("mnist-{rank}-{k}"),
                                "creationTimestamp": format!("2026-01-01T00:00:{k:02}Z"),
                                "annotations": {"batch.kubernetes.io/job-completion-index": rank}},
                   "status": {"phase": phase}})
        })
        .collect();
    exchange(PODS, 200, json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))
}

#[tokio::test(start_paused = true)]
async fn a_job_is_followed_through_expired_watches_and_outages() {
    let modified = json!({"type": "MODIFIED", "object": job(json!([]))});
    let expired = json!({"type": "ERROR", "object": refusal(410, "Expired")});
    let script = vec![
        exchange(GET, 200, job(json!([]))),
        pods(&[("1", "Pending"), ("0", "Pending")]),
        exchange(WATCH, 200, modified),
        // Failed, and replaced.
        exchange(GET, 200, job(json!([]))),
        pods(&[("1", "Failed"), ("0", "Running"), ("1", "Running")]),
        exchange(WATCH, 200, expired),
        exchange(GET, 503, refusal(503, "ServiceUnavailable")),
        exchange(GET, 429, refusal(429, "TooManyRequests")),
        // Nothing new: it is not told again.
        exchange(GET, 200, job(json!([]))),
        pods(&[("1", "Failed"), ("0", "Running"), ("1", "Running")]),
        exchange(WATCH, 410, refusal(410, "Gone")),
        exchange(
            GET,
            200,
            job(
                json!([{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]),
            ),
        ),
        pods(&[("0", "Succeeded")]),
    ];
    let (cluster, server) = play(script);
    let mut seen = Vec::new();
    let outcome = cluster
        .follow("mnist", |progress| {
            let pods = progress.pods.iter().map(|pod| format!("{} {}", pod.rank.unwrap(), pod.phase));
            seen.push(pods.collect::<Vec<_>>().join(", "));
        })
        .await;
    assert_eq!(outcome, Ok(Outcome::Succeeded));
    assert_eq!(seen, ["0 Pending, 1 Pending", "0 Running, 1 Failed, 1 Running", "0 Succeeded"]);
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test]
async fn a_failure_says_why() {
    let failed = json!([{"type": "Failed", "status": "True", "reason": "PodFailurePolicy", "message": "exit code 42"}]);
    let mut pod = pods(&[("3", "Failed")]);
    let mut list: Value = serde_json::from_str(&pod.answer).unwrap();
    list["items"][0]["status"]["containerStatuses"] = json!([{"name": "paddle", "image": "i", "imageID": "i", "ready": false,
        "restartCount": 0, "state": {"terminated": {"exitCode": 42, "message": "the cost is not finite\n"}}}]);
    pod.answer = list.to_string();
    let (cluster, server) = play(vec![exchange(GET, 200, job(failed)), pod]);
    let mut reasons = Vec::new();
    let outcome =
        cluster.follow("mnist", |progress| reasons.extend(progress.pods[0].reason.clone())).await.unwrap();
    let expected = Outcome::Failed { reason: "PodFailurePolicy".into(), message: "exit code 42".into() };
    assert_eq!((outcome, reasons), (expected, vec!["exit code 42: the cost is not finite".to_string()]));
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test]
async fn what_does_not_pass_ends_it() {
    let (cluster, server) = play(vec![
        exchange(GET, 404, refusal(404, "NotFound")),
        exchange(GET, 403, refusal(403, "Forbidden")),
    ]);
    let error = cluster.follow("mnist", |_| {}).await.unwrap_err();
    assert_eq!(error, KubernetesError::Missing { object: "Job mnist".into() });
    let error = cluster.follow("mnist", |_| {}).await.unwrap_err();
    assert!(matches!(error, KubernetesError::Forbidden { .. }), "{error}");
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test]
async fn the_log_is_that_of_the_newest_pod() {
    let log = Exchange {
        request: "GET /api/v1/namespaces/research/pods/mnist-0-1/log?&follow=true",
        body: None,
        status: 200,
        answer: "pass 1\npass 2\n".into(),
    };
    let script =
        vec![pods(&[("0", "Failed"), ("0", "Running"), ("1", "Pending")]), log, pods(&[("0", "Pending")])];
    let (cluster, server) = play(script);
    let mut lines = Vec::new();
    cluster.log("mnist", 0, |line| lines.push(line.to_string())).await.unwrap();
    assert_eq!(lines, ["pass 1", "pass 2"]);
    assert!(matches!(cluster.log("mnist", 0, |_| {}).await, Err(KubernetesError::Missing { .. })));
    drop(cluster);
    server.await.unwrap();
}
