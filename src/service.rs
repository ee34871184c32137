//! A model as a service: JSON over HTTP, the rows of all requests that come at the same time in one run of the program.
//!
//! [`Answers`] says what a request is and what is answered. [`Service`] has the rest: connections, limits, a
//! [`Batcher`](crate::batcher::Batcher), `/health`, and `/metrics` as Prometheus reads them. The feature `service` enables it:
//!
//! ```toml
//! paddle-rs = { version = "0.1", features = ["service"] }
//! ```
//!
//! ```
//! use std::error::Error;
//! use std::io::{Read, Write};
//! use std::net::{Ipv4Addr, SocketAddr, TcpStream};
//! use std::sync::Arc;
//!
//! use paddle::service::{Answers, Refusal, Service, Settings};
//! use paddle::{Network, Parameters, Spec, infer, network};
//!
//! struct Line<S: Spec>(Network<S>, Parameters);
//!
//! impl<S: Spec<Row = [f32; 2]> + Send + Sync> Answers for Line<S> {
//!     type Row = [f32; 2];
//!     type Result = f32;
//!
//!     fn rows(&self, body: &[u8]) -> Result<Vec<[f32; 2]>, Refusal> {
//!         serde_json::from_slice(body).map_err(|error| Refusal::bad(error.to_string()))
//!     }
//!
//!     fn compute(&self, rows: Vec<[f32; 2]>) -> Result<Vec<f32>, Box<dyn Error + Send + Sync>> {
//!         Ok(infer(&self.0, &self.1, rows)?.at::<f32>(0)?.iter().copied().collect())
//!     }
//!
//!     fn answer(&self, prices: Vec<f32>) -> Result<String, Refusal> {
//!         Ok(format!("{prices:?}"))
//!     }
//! }
//!
//! let net = network!(|x: Tensor<f32, _, 2>| fc(x, 1, init = constant(2.0)));
//! let parameters = Parameters::create(&net)?;
//! let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! // Only this machine reaches it; port 0 is any that is free.
//! let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
//! let settings = Settings { path: "/price", ..Settings::new("line") };
//! let service = runtime.block_on(Service::bind(Arc::new(Line(net, parameters)), settings, address))?;
//! let address = service.address();
//! runtime.spawn(service.run(std::future::pending()));
//!
//! let mut client = TcpStream::connect(address)?;
//! let head = "POST /price HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\nconnection: close\r\n\r\n";
//! client.write_all(format!("{head}[[1,2.25]]").as_bytes())?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n[6.5]"), "{answer}");
//! # Ok::<(), Box<dyn Error>>(())
//! ```

mod metrics;
mod server;

use std::error::Error;
use std::time::Duration;

pub use self::server::Service;
use crate::batcher::Limits;

/// What a service computes, and how it is asked and answers.
pub trait Answers: Send + Sync + 'static {
    /// A row of a request that is ready to be computed.
    type Row: Send + 'static;
    /// What is computed of a row.
    type Result: Send + 'static;

    /// The rows of a request, from its body.
    ///
    /// # Errors
    /// The request is wrong, with the place in it.
    fn rows(&self, body: &[u8]) -> Result<Vec<Self::Row>, Refusal>;

    /// Computes the rows of several requests at once: a result for each, in their order. All of these requests fail if it does.
    ///
    /// # Errors
    /// The rows cannot be computed.
    fn compute(&self, rows: Vec<Self::Row>) -> Result<Vec<Self::Result>, Box<dyn Error + Send + Sync>>;

    /// The answer to a request, in JSON, from the results of its rows.
    ///
    /// # Errors
    /// A result is none that can be answered.
    fn answer(&self, results: Vec<Self::Result>) -> Result<String, Refusal>;

    /// What a `GET` of this path answers, in JSON; `None` for nothing. The service itself has `/health` and `/metrics`.
    fn page(&self, path: &str) -> Option<String> {
        let _ = path;
        None
    }
}

/// Why a request is not answered: the status, and the text `error` of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of HTTP.
    pub status: u16,
    /// What is wrong, and where.
    pub error: String,
}

impl Refusal {
    /// The request is wrong: 400.
    pub fn bad(error: impl Into<String>) -> Self {
        Refusal { status: 400, error: error.into() }
    }

    /// The request is right, but its rows cannot be computed: 422.
    pub fn impossible(error: impl Into<String>) -> Self {
        Refusal { status: 422, error: error.into() }
    }
}

/// The limits of a service. What is beyond them is refused, so that clients cannot take all memory or time.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The path of requests; `/run` otherwise.
    pub path: &'static str,
    /// What the names of metrics begin with.
    pub name: &'static str,
    /// Which rows are computed together, and how many may wait: more are refused with 429.
    pub limits: Limits,
    /// The most rows of a request: more are refused with 413. 256 otherwise.
    pub rows: usize,
    /// The most bytes of a request: more are refused with 413. 64 KiB otherwise.
    pub bytes: usize,
    /// How long a client may take for its request, or it gets 408; and the service for its answer, or that is 504. Two seconds
    /// otherwise.
    pub timeout: Duration,
    /// The most connections; others wait to be accepted. 1,024 otherwise.
    pub connections: usize,
}

impl Settings {
    /// The usual limits, for a service whose metrics have this name.
    pub fn new(name: &'static str) -> Self {
        Settings {
            path: "/run",
            name,
            limits: Limits::default(),
            rows: 256,
            bytes: 64 << 10,
            timeout: Duration::from_secs(2),
            connections: 1_024,
        }
    }
}
