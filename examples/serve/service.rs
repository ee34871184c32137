//! The service: hyper's connections in front, a batcher behind.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
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
use paddle::batcher::{Batcher, BatcherError};
use paddle::infer;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::metrics::Metrics;
use super::model::{Question, Unknown};
use super::{Serving, Trained};

/// What is asked: what each of these users will say of each of these items.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    rows: Vec<AskedRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedRow {
    user: String,
    item: String,
    /// What is known of this rating; of a user who was never seen, also what is known of the user.
    #[serde(default)]
    about: Vec<String>,
}

#[derive(Serialize)]
struct Answered {
    ratings: Vec<f32>,
}

#[derive(Serialize)]
struct Refusal {
    error: String,
}

/// An answer that is none of ratings.
type Refused = (StatusCode, String);

/// A service that listens.
pub(crate) struct Service {
    listener: TcpListener,
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    trained: Arc<Trained>,
    settings: Serving,
    batcher: Batcher<Question, f32>,
    metrics: Arc<Metrics>,
}

impl Service {
    // ANCHOR: batcher
    /// Listens, and starts the thread that computes.
    pub(crate) async fn bind(
        trained: Arc<Trained>,
        settings: Serving,
        address: SocketAddr,
    ) -> Result<Self, Box<dyn Error>> {
        let metrics = Arc::new(Metrics::new());
        let (model, counts) = (Arc::clone(&trained), Arc::clone(&metrics));
        let batcher = Batcher::new(settings.limits(), move |rows: Vec<Question>| {
            counts.computed(rows.len());
            let outputs = infer(&model.net, &model.parameters, rows)?;
            Ok::<_, paddle::Error>(outputs.at::<f32>(0)?.iter().copied().collect())
        })?;
        // ANCHOR_END: batcher
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Service { listener, address, state: Arc::new(State { trained, settings, batcher, metrics }) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `end`, then those that have come.
    pub(crate) async fn run(self, end: impl Future<Output = ()>) {
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
            http.timer(TokioTimer::new()).header_read_timeout(state.settings.timeout());
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
        let _ = timeout(2 * state.settings.timeout(), graceful.shutdown()).await;
        state.batcher.close();
    }
}

impl State {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let began = Instant::now();
        let path = request.uri().path().to_string();
        let (status, kind, text) = match (request.method(), &path[..]) {
            (&Method::POST, "/rate") => match self.rate(request).await {
                Ok(ratings) => (StatusCode::OK, "application/json", json(&Answered { ratings })),
                Err((status, error)) => (status, "application/json", json(&Refusal { error })),
            },
            (&Method::GET, "/health") => (StatusCode::OK, "application/json", "{\"status\":\"ok\"}".into()),
            (&Method::GET, "/metrics") => {
                (StatusCode::OK, "text/plain; version=0.0.4", self.metrics.text(self.batcher.waiting()))
            }
            (_, "/rate" | "/health" | "/metrics") => {
                let error = format!("{path} has another method: POST /rate, GET /health, GET /metrics");
                (StatusCode::METHOD_NOT_ALLOWED, "application/json", json(&Refusal { error }))
            }
            _ => {
                let error = format!("there is no {path}, but POST /rate, GET /health, GET /metrics");
                (StatusCode::NOT_FOUND, "application/json", json(&Refusal { error }))
            }
        };
        self.metrics.answered(status.as_u16(), began.elapsed());
        let mut response = Response::builder().status(status).header(CONTENT_TYPE, kind);
        if status == StatusCode::TOO_MANY_REQUESTS {
            response = response.header(RETRY_AFTER, "1");
        }
        response.body(Full::from(text)).expect("the head is valid")
    }

    // ANCHOR: rate
    /// Answers a request: its rows wait for those of others, and are computed with them.
    async fn rate(&self, request: Request<Incoming>) -> Result<Vec<f32>, Refused> {
        let limit = self.settings.timeout();
        let body = Limited::new(request.into_body(), self.settings.bytes).collect();
        let body = timeout(limit, body).await;
        let body =
            body.map_err(|_| (StatusCode::REQUEST_TIMEOUT, "the request takes too long".to_string()))?;
        let body = body.map_err(|error| self.unread(&*error))?.to_bytes();
        let questions = self.questions(&body)?;
        let answer = self.batcher.submit(questions).map_err(refused)?;
        // An answer that comes too late is not waited for, and its rows are not computed if they wait still.
        let late = (StatusCode::GATEWAY_TIMEOUT, "there is no answer in time".to_string());
        timeout(limit, answer).await.map_err(|_| late)?.map_err(refused)
    }
    // ANCHOR_END: rate

    fn unread(&self, error: &(dyn Error + Send + Sync + 'static)) -> Refused {
        match error.is::<LengthLimitError>() {
            true => {
                let why = format!("the request has more than {} bytes", self.settings.bytes);
                (StatusCode::PAYLOAD_TOO_LARGE, why)
            }
            false => (StatusCode::BAD_REQUEST, format!("the request cannot be read: {error}")),
        }
    }

    /// The rows of a request, or what is wrong with it and where.
    fn questions(&self, body: &[u8]) -> Result<Vec<Question>, Refused> {
        let bad = |why: String| (StatusCode::BAD_REQUEST, why);
        let asked: Asked = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
        let (found, most) = (asked.rows.len(), self.settings.rows);
        if found > most {
            let why = format!("found {found} rows, expected {most} at most");
            return Err((StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        let question = |(at, AskedRow { user, item, about }): (usize, &AskedRow)| {
            self.trained.catalogue.question(user, item, about).map_err(|unknown| {
                bad(match unknown {
                    Unknown::Item => format!("rows[{at}].item: there is no `{item}`"),
                    Unknown::Word(word) => {
                        format!("rows[{at}].about[{word}]: nothing is known of `{}`", about[word])
                    }
                })
            })
        };
        asked.rows.iter().enumerate().map(question).collect()
    }
}

fn refused(error: BatcherError) -> Refused {
    let status = match &error {
        BatcherError::Full { .. } => StatusCode::TOO_MANY_REQUESTS,
        BatcherError::Closed => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, error.to_string())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and texts have a form in JSON")
}
