//! Applying and stopping, by scripted exchanges.

use paddle_engines::kubernetes::{Applied, KubernetesError, Manifests, Secret};
use serde_json::{Value, json};

use crate::manifests::{job, secret};
use crate::script::{Exchange, exchange, play, refusal};

const GET: &str = "GET /apis/batch/v1/namespaces/research/jobs/mnist";

fn manifests() -> Manifests {
    let mut job = job();
    job.namespace = Some("research".into());
    job.manifests(&secret()).unwrap()
}

/// The job as the server has it: with its defaults.
fn there() -> Value {
    let yaml = manifests().yaml().unwrap();
    let text = yaml.rsplit("---\n").next().unwrap();
    let mut job: Value = serde_saphyr::from_str(text).unwrap();
    job["metadata"]["uid"] = json!("u1");
    job["metadata"]["resourceVersion"] = json!("7");
    job["spec"]["suspend"] = json!(false);
    job["spec"]["template"]["spec"]["dnsPolicy"] = json!("ClusterFirst");
    job["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!("IfNotPresent");
    job
}

fn patches() -> Vec<Exchange> {
    let object = |kind: &str| json!({"kind": kind, "metadata": {"name": "mnist"}});
    let binding = json!({"kind": "RoleBinding", "metadata": {"name": "mnist"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "mnist"}});
    let mut patches = vec![
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
            there(),
        ),
    ];
    patches[0].body = Some(|body| {
        assert_eq!(body["data"]["secret"], "aHVudGVyMg==");
        // `-----BEGIN `.
        let is_pem = |name| body["data"][name].as_str().unwrap().starts_with("LS0tLS1CRUdJTi");
        assert!(Secret::CERTIFICATES.into_iter().all(is_pem));
    });
    patches[5].body = Some(|body| {
        assert_eq!(body["apiVersion"], "batch/v1");
        assert_eq!(body["spec"]["successPolicy"]["rules"], json!([{"succeededIndexes": "0"}]));
    });
    patches
}

#[tokio::test]
async fn a_job_is_made_with_what_it_needs() {
    let mut script = vec![exchange(GET, 404, refusal(404, "NotFound"))];
    script.extend(patches());
    let (cluster, server) = play(script);
    assert_eq!(cluster.apply(&manifests()).await, Ok(Applied::Made));
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test]
async fn the_same_job_again_changes_nothing() {
    let (cluster, server) = play(vec![exchange(GET, 200, there())]);
    assert_eq!(cluster.apply(&manifests()).await, Ok(Applied::There));
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test]
async fn another_job_of_the_name_is_told_by_its_fields() {
    let mut other = there();
    other["spec"]["completions"] = json!(9);
    other["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    let mut ending = there();
    ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let (cluster, server) = play(vec![exchange(GET, 200, other), exchange(GET, 200, ending)]);
    let fields = ["spec.completions", "spec.template.spec.containers[0].image"].map(String::from).to_vec();
    let differs = KubernetesError::Differs { job: "mnist".into(), fields };
    assert_eq!(cluster.apply(&manifests()).await, Err(differs));
    assert_eq!(cluster.apply(&manifests()).await, Err(KubernetesError::Ending { job: "mnist".into() }));
    drop(cluster);
    server.await.unwrap();
}

#[tokio::test]
async fn each_refusal_is_a_typed_error() {
    let object = || "Job mnist".to_string();
    let reason = |reason: &str| format!("it says {reason}");
    let busy = |status, text| KubernetesError::Busy { object: object(), status, reason: reason(text) };
    let cases = [
        (401, "Unauthorized", KubernetesError::Unauthenticated { object: object() }),
        (403, "Forbidden", KubernetesError::Forbidden { object: object(), reason: reason("Forbidden") }),
        (409, "Conflict", KubernetesError::Conflict { object: object(), reason: reason("Conflict") }),
        (410, "Gone", KubernetesError::Refused { object: object(), status: 410, reason: reason("Gone") }),
        (
            422,
            "Invalid",
            KubernetesError::Refused { object: object(), status: 422, reason: reason("Invalid") },
        ),
        (429, "TooManyRequests", busy(429, "TooManyRequests")),
        (500, "InternalError", busy(500, "InternalError")),
        (503, "ServiceUnavailable", busy(503, "ServiceUnavailable")),
    ];
    for (status, text, expected) in cases {
        // At the first request, and at the last.
        let (cluster, server) = play(vec![exchange(GET, status, refusal(status, text))]);
        assert_eq!(cluster.apply(&manifests()).await, Err(expected.clone()));
        drop(cluster);
        server.await.unwrap();

        let mut script = vec![exchange(GET, 404, refusal(404, "NotFound"))];
        script.extend(patches());
        script[6].status = status;
        script[6].answer = refusal(status, text).to_string();
        let (cluster, server) = play(script);
        assert_eq!(cluster.apply(&manifests()).await, Err(expected));
        drop(cluster);
        server.await.unwrap();
    }
}

#[tokio::test]
async fn stopping_deletes_all_of_it() {
    let gone = |request| exchange(request, 404, refusal(404, "NotFound"));
    let success = json!({"kind": "Status", "status": "Success"});
    let script = || {
        let mut first =
            exchange("DELETE /apis/batch/v1/namespaces/research/jobs/mnist?", 200, success.clone());
        first.body = Some(|body| assert_eq!(body["propagationPolicy"], "Foreground"));
        vec![
            first,
            exchange("DELETE /api/v1/namespaces/research/services/mnist?", 200, success.clone()),
            gone("DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/research/rolebindings/mnist?"),
            gone("DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/research/roles/mnist?"),
            gone("DELETE /api/v1/namespaces/research/serviceaccounts/mnist?"),
            gone("DELETE /api/v1/namespaces/research/secrets/mnist?"),
        ]
    };
    let (cluster, server) = play(script());
    cluster.stop("mnist").await.unwrap();
    drop(cluster);
    server.await.unwrap();

    let mut forbidden = script();
    forbidden.truncate(1);
    forbidden[0].status = 403;
    forbidden[0].answer = refusal(403, "Forbidden").to_string();
    let (cluster, server) = play(forbidden);
    assert!(matches!(cluster.stop("mnist").await, Err(KubernetesError::Forbidden { .. })));
    drop(cluster);
    server.await.unwrap();
}
