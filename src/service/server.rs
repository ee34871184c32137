//! The service: hyper's connections in front, a batcher behind.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::metrics::Metrics;
use super::{Answers, Refusal, Settings};
use crate::batcher::{Batcher, BatcherError};

/// A service that listens.
///
/// [The module](crate::service) has an example.
pub struct Service<A: Answers> {
    listener: TcpListener,
    address: SocketAddr,
    state: Arc<State<A>>,
}

struct State<A: Answers> {
    answers: Arc<A>,
    settings: Settings,
    batcher: Batcher<A::Row, A::Result>,
    metrics: Arc<Metrics>,
}

impl<A: Answers> Service<A> {
    /// Listens, and starts the thread that computes.
    ///
    /// # Errors
    /// The address cannot be listened on, or the system has no thread left.
    pub async fn bind(answers: Arc<A>, settings: Settings, address: SocketAddr) -> io::Result<Self> {
        let metrics = Arc::new(Metrics::new(settings.name));
        let (model, counts) = (Arc::clone(&answers), Arc::clone(&metrics));
        let batcher = Batcher::new(settings.limits, move |rows: Vec<A::Row>| {
            counts.computed(rows.len());
            model.compute(rows)
        })?;
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Service { listener, address, state: Arc::new(State { answers, settings, batcher, metrics }) })
    }

    /// Where it listens, with the port that was free if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `end`, then those that have come.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let Service { listener, state, .. } = self;
        let (connections, graceful) =
            (Arc::new(Semaphore::new(state.settings.connections)), GracefulShutdown::new());
        let mut end = std::pin::pin!(end);
        loop {
            let next = async {
                let permit = Arc::clone(&connections).acquire_owned().await;
                (permit, listener.accept().await)
            };
            let (permit, accepted) = tokio::select! {
                next = next => next,
                () = &mut end => break,
            };
            // A connection that has gone before it was accepted is no reason to end.
            let Ok((stream, _)) = accepted else { continue };
            let of_connection = Arc::clone(&state);
            let mut http = http1::Builder::new();
            // A client that is slow with its head is cut off.
            http.timer(TokioTimer::new()).header_read_timeout(state.settings.timeout);
            let answer = service_fn(move |request| {
                let state = Arc::clone(&of_connection);
                async move { Ok::<_, Infallible>(state.respond(request).await) }
            });
            let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), answer));
            tokio::spawn(async move {
                // What fails here is the client's connection: there is nobody to tell.
                let _ = connection.await;
                drop(permit);
            });
        }
        drop(listener);
        let _ = timeout(2 * state.settings.timeout, graceful.shutdown()).await;
        state.batcher.close();
    }
}

impl<A: Answers> State<A> {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        const JSON: &str = "application/json";
        let began = Instant::now();
        let (path, of_requests) = (request.uri().path().to_string(), self.settings.path);
        let (status, kind, text) = match (request.method(), &path[..]) {
            (&Method::POST, path) if path == of_requests => match self.answer(request).await {
                Ok(answer) => (StatusCode::OK, JSON, answer),
                Err(Refusal { status, error }) => {
                    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                    (status, JSON, refusal(&error))
                }
            },
            (&Method::GET, "/health") => (StatusCode::OK, JSON, "{\"status\":\"ok\"}".into()),
            (&Method::GET, "/metrics") => {
                (StatusCode::OK, "text/plain; version=0.0.4", self.metrics.text(self.batcher.waiting()))
            }
            (method, path) => match self.answers.page(path) {
                Some(page) if method == Method::GET => (StatusCode::OK, JSON, page),
                page => {
                    let is_there =
                        page.is_some() || path == of_requests || ["/health", "/metrics"].contains(&path);
                    let known = format!("POST {of_requests}, GET /health, GET /metrics");
                    match is_there {
                        true => {
                            let error = format!("{path} has another method: {known}");
                            (StatusCode::METHOD_NOT_ALLOWED, JSON, refusal(&error))
                        }
                        false => {
                            let error = format!("there is no {path}, but {known}");
                            (StatusCode::NOT_FOUND, JSON, refusal(&error))
                        }
                    }
                }
            },
        };
        self.metrics.answered(status.as_u16(), began.elapsed());
        let mut response = Response::builder().status(status).header(CONTENT_TYPE, kind);
        if status == StatusCode::TOO_MANY_REQUESTS {
            response = response.header(RETRY_AFTER, "1");
        }
        response.body(Full::from(text)).expect("the head is valid")
    }

    /// Answers a request: its rows wait for those of others, and are computed with them.
    async fn answer(&self, request: Request<Incoming>) -> Result<String, Refusal> {
        let limit = self.settings.timeout;
        let body = Limited::new(request.into_body(), self.settings.bytes).collect();
        let body = timeout(limit, body).await;
        let body = body.map_err(|_| refused(StatusCode::REQUEST_TIMEOUT, "the request takes too long"))?;
        let body = body.map_err(|error| self.unread(&*error))?.to_bytes();
        let rows = self.answers.rows(&body)?;
        let (found, most) = (rows.len(), self.settings.rows);
        if found > most {
            let why = format!("found {found} rows, expected {most} at most");
            return Err(refused(StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        let results = self.batcher.submit(rows).map_err(not_computed)?;
        // An answer that comes too late is not waited for, and its rows are not computed if they wait still.
        let late = refused(StatusCode::GATEWAY_TIMEOUT, "there is no answer in time");
        let results = timeout(limit, results).await.map_err(|_| late)?.map_err(not_computed)?;
        self.answers.answer(results)
    }

    fn unread(&self, error: &(dyn Error + Send + Sync + 'static)) -> Refusal {
        match error.is::<LengthLimitError>() {
            true => {
                let why = format!("the request has more than {} bytes", self.settings.bytes);
                refused(StatusCode::PAYLOAD_TOO_LARGE, why)
            }
            false => Refusal::bad(format!("the request cannot be read: {error}")),
        }
    }
}

fn refused(status: StatusCode, error: impl Into<String>) -> Refusal {
    Refusal { status: status.as_u16(), error: error.into() }
}

fn not_computed(error: BatcherError) -> Refusal {
    let status = match &error {
        BatcherError::Full { .. } => StatusCode::TOO_MANY_REQUESTS,
        BatcherError::Closed => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refused(status, error.to_string())
}

/// The body of an answer that is none.
fn refusal(error: &str) -> String {
    serde_json::json!({ "error": error }).to_string()
}
