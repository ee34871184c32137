//! An API server that follows a script: it checks each request, and answers as it is told.

use http::{Request, Response};
use kube::client::Body;
use paddle_engines::kubernetes::Cluster;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A request that is expected, and its answer.
pub(crate) struct Exchange {
    pub(crate) request: &'static str,
    pub(crate) body: Option<fn(&Value)>,
    pub(crate) status: u16,
    pub(crate) answer: String,
}

pub(crate) fn exchange(request: &'static str, status: u16, answer: Value) -> Exchange {
    Exchange { request, body: None, status, answer: answer.to_string() }
}

/// The answer of an API server that refuses.
pub(crate) fn refusal(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": format!("it says {reason}"),
           "reason": reason, "code": code})
}

/// The cluster, and what tells at its end that all of the script has happened, and nothing else.
pub(crate) fn play(script: Vec<Exchange>) -> (Cluster, JoinHandle<()>) {
    let (service, mut handle) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
    let cluster = Cluster::on(kube::Client::new(service, "default"), "research");
    let server = tokio::spawn(async move {
        for expected in script {
            let Some((request, answer)) = handle.next_request().await else {
                panic!("no request, but expected {}", expected.request)
            };
            let found = format!("{} {}", request.method(), request.uri());
            let bytes = request.into_body().collect_bytes().await.unwrap();
            assert_eq!(found, expected.request);
            if let Some(check) = expected.body {
                check(&serde_json::from_slice(&bytes).unwrap());
            }
            let response = Response::builder().status(expected.status);
            answer.send_response(response.body(Body::from(expected.answer.into_bytes())).unwrap());
        }
        assert!(handle.next_request().await.is_none(), "a request behind the end of the script");
    });
    (cluster, server)
}
