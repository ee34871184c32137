//! How a job goes, over HTTP: `/` for people, `/metrics` for Prometheus.

use std::convert::Infallible;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use paddle_cluster::message::Role;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

use super::record::{SharedStatus, Status, lock};
use super::{ClusterError, name_of};

/// Answers at an address until it is dropped.
pub(super) struct Server {
    _end: oneshot::Sender<Infallible>,
}

/// The connections at a time. Further ones wait.
const CONNECTIONS: usize = 16;
/// The time that a connection may take.
const WITHIN: Duration = Duration::from_secs(10);
/// The time that the head of a request may take.
const HEAD_WITHIN: Duration = Duration::from_secs(2);
/// The bytes of the head of a request.
const HEAD: usize = 16 << 10;

impl Server {
    /// Returns the address with the port that was chosen, too.
    pub(super) fn open(
        address: SocketAddr,
        status: SharedStatus,
    ) -> Result<(Self, SocketAddr), ClusterError> {
        let failed =
            |error: std::io::Error| ClusterError::Start { message: format!("metrics at {address}: {error}") };
        let listener = std::net::TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (end, ended) = oneshot::channel();
        let run = move || {
            runtime.block_on(async move {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                tokio::select! {
                    () = accept(listener, status) => {}
                    _ = ended => {}
                }
            });
        };
        thread::Builder::new().name("metrics".to_string()).spawn(run).map_err(failed)?;
        Ok((Server { _end: end }, bound))
    }
}

async fn accept(listener: TcpListener, status: SharedStatus) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(place) = Arc::clone(&connections).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // There are no files left, for example. It may get better.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let status = Arc::clone(&status);
        tokio::spawn(async move {
            let service =
                service_fn(|request| std::future::ready(Ok::<_, Infallible>(answer(&request, &status))));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new())
                .header_read_timeout(HEAD_WITHIN)
                .max_buf_size(HEAD)
                .keep_alive(false);
            // Whoever asks nonsense, or nothing, is told so by the protocol, or nothing.
            let _ = tokio::time::timeout(WITHIN, http.serve_connection(TokioIo::new(stream), service)).await;
            drop(place);
        });
    }
}

/// The media type of Prometheus' text.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

fn answer(request: &Request<Incoming>, status: &SharedStatus) -> Response<Full<Bytes>> {
    let (code, kind, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => (StatusCode::OK, TEXT, page(&lock(status))),
        (&Method::GET, "/metrics") => (StatusCode::OK, METRICS, metrics(&lock(status))),
        (&Method::GET, _) => (StatusCode::NOT_FOUND, TEXT, "there are `/` and `/metrics`\n".to_string()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, TEXT, "this page is only read\n".to_string()),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}

const ROLES: [Role; 3] = [Role::Master, Role::Server, Role::Trainer];

/// The text of Prometheus' format.
fn metrics(status: &Status) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
        let _ = writeln!(text, "# HELP paddle_{name} {help}\n# TYPE paddle_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "paddle_{name}{labels} {value}");
        }
    };
    let one = |value: f64| [(String::new(), value)];
    metric("steps_total", "counter", "Steps that were committed.", &one(status.steps as f64));
    metric("samples_total", "counter", "Samples of these steps.", &one(status.rows as f64));
    metric("samples_per_second", "gauge", "Samples in a second, over the newest steps.", &one(status.rate()));
    let (_, pass, batch) = status.at.unwrap_or_default();
    metric("pass", "gauge", "The pass of the newest step.", &one(pass as f64));
    metric("batch", "gauge", "The batch of the newest step.", &one(batch as f64));
    metric("election", "gauge", "How many masters the job has had.", &one(f64::from(status.election)));
    let count = |role| match role {
        Role::Master => 1,
        role => status.members.iter().filter(|(of, ..)| *of == role).count(),
    };
    let members = ROLES.map(|role| (format!("{{role=\"{}\"}}", name_of(role)), count(role) as f64));
    metric("members", "gauge", "Processes that are in the job.", &members);
    let bytes: Vec<_> = ROLES
        .into_iter()
        .flat_map(|role| {
            let traffic = status.traffic_of(role);
            [("sent", traffic.sent_bytes), ("received", traffic.received_bytes)].map(|(direction, bytes)| {
                (format!("{{role=\"{}\",direction=\"{direction}\"}}", name_of(role)), bytes as f64)
            })
        })
        .collect();
    metric("bytes_total", "counter", "Bytes of frames, without what gRPC and TCP add.", &bytes);
    let waited = one(status.traffic_of(Role::Trainer).waited_micros as f64 / 1e6);
    metric("waited_seconds_total", "counter", "Time in which trainers waited for values.", &waited);
    let deaths: Vec<_> = status
        .deaths
        .iter()
        .map(|(&role, &deaths)| (format!("{{role=\"{}\"}}", name_of(role)), deaths as f64))
        .collect();
    metric("deaths_total", "counter", "Workers that were lost or replaced.", &deaths);
    let recoveries = one(status.recoveries as f64);
    metric("recoveries_total", "counter", "How often the servers went back to a checkpoint.", &recoveries);
    metric("checkpoints_total", "counter", "Checkpoints that were written.", &one(status.checkpoints as f64));
    let failed = one(status.checkpoints_failed as f64);
    metric("checkpoints_failed_total", "counter", "Checkpoints that could not be written.", &failed);
    text
}

/// The page for people.
fn page(status: &Status) -> String {
    let mut text = String::new();
    let time = status.begun.elapsed().as_secs_f64();
    let _ = writeln!(text, "running for {time:.0} s, {} steps, {} samples", status.steps, status.rows);
    if let Some((_, pass, batch)) = status.at {
        let _ = writeln!(text, "pass {pass}, batch {batch}, {:.0} samples a second", status.rate());
    }
    let _ = writeln!(
        text,
        "{} checkpoints, {} recoveries\n\nnodes ({} servers and {} trainers are wanted):",
        status.checkpoints, status.recoveries, status.servers, status.trainers
    );
    for (role, rank, process) in &status.members {
        let _ = writeln!(text, "  {:8}{rank:4}  process {process:016x}", name_of(*role));
    }
    text.push_str("\nbytes sent and received:\n");
    for role in ROLES {
        let traffic = status.traffic_of(role);
        let _ = writeln!(text, "  {:8}{:14}{:14}", name_of(role), traffic.sent_bytes, traffic.received_bytes);
    }
    text.push_str("\nevents, the newest first:\n");
    for (at, what) in status.events.iter().rev() {
        let _ = writeln!(text, "  {:8.1} s ago  {what}", at.elapsed().as_secs_f64());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::Mutex;
    use std::time::Instant;

    use super::*;

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The other side may answer, and close the connection, before all is sent.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn it_answers_and_nonsense_does_not_stop_it() {
        let status = Arc::new(Mutex::new(Status::new(2, 3)));
        let (server, address) = Server::open(SocketAddr::from(([127, 0, 0, 1], 0)), status).unwrap();
        let get = |path: &str| ask(address, format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let metrics = get("/metrics");
        assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
        assert!(metrics.contains("text/plain; version=0.0.4"), "{metrics}");
        for line in metrics.split_once("\r\n\r\n").unwrap().1.lines() {
            // A comment, or a name with labels and a number.
            let value = line.rsplit_once(' ').map(|(_, value)| value.parse::<f64>());
            assert!(line.starts_with("# ") || matches!(value, Some(Ok(_))), "{line}");
        }
        assert!(
            metrics.contains("\npaddle_bytes_total{role=\"server\",direction=\"sent\"} 0\n"),
            "{metrics}"
        );
        assert!(get("/").contains("2 servers and 3 trainers"));
        assert!(get("/etc/passwd").starts_with("HTTP/1.1 404"));
        assert!(ask(address, b"DELETE /metrics HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(ask(address, b"\x16\x03\x01 no http at all\r\n\r\n").starts_with("HTTP/1.1 400"));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
        assert!(!ask(address, long.as_bytes()).contains(" 200 "));
        // Those who say nothing, or half of something, are not waited for, even if they take all places.
        let begun = Instant::now();
        let idle: Vec<_> = (0..CONNECTIONS + 4).map(|_| TcpStream::connect(address).unwrap()).collect();
        assert!(get("/metrics").contains("paddle_steps_total 0"));
        assert!(begun.elapsed() < WITHIN * 2);
        drop(idle);
        drop(server);
    }
}
