//! A trained recommender as a service: JSON over HTTP, the rows of all requests that come at the same time in one run of the program.
//!
//! ```text
//! cargo run --release --example recommender_system            # trains it, and saves it
//! cargo run --release --example serve -- listen
//! curl localhost:8080/rate -d '{"rows": [{"user": "1", "item": "1050", "about": ["1 semester ago", "service"]}]}'
//! cargo run --release --example serve -- load                 # batches beside one request at a time
//! ```

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use paddle::batcher::Limits;
use paddle::files::{Load, note};
use paddle::{Network, Parameters};

use self::model::{Catalogue, recommender};
use self::service::Service;

#[path = "serve/load.rs"]
mod load;
#[path = "serve/metrics.rs"]
mod metrics;
#[path = "recommender_system/model.rs"]
mod model;
#[path = "serve/service.rs"]
mod service;

/// Answers what users will say of items.
#[derive(Parser)]
struct Settings {
    /// The file that `recommender_system` has saved.
    #[arg(long, default_value = "target/recommender_system/tastes.safetensors")]
    model: PathBuf,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What to do; `load` without one.
#[derive(Subcommand)]
enum Command {
    /// Answers until Ctrl-C.
    Listen {
        /// Where to listen: by default only this machine reaches it.
        #[arg(long, default_value_t = Ipv4Addr::LOCALHOST.into())]
        address: IpAddr,
        /// The port; 0 is any that is free.
        #[arg(long, default_value_t = 8080)]
        port: u16,
        #[command(flatten)]
        serving: Serving,
    },
    /// Starts two services on this machine, one with batches and one that computes a request at a time, and measures both.
    Load(load::Settings),
}

/// The limits of a service.
#[derive(Args, Clone)]
struct Serving {
    /// The most rows that are computed together.
    #[arg(long, default_value_t = 256)]
    batch: usize,
    /// For how many microseconds a row waits for others; with 0, what came during a run is computed together in the next one.
    #[arg(long, default_value_t = 0)]
    wait_us: u64,
    /// The most rows that wait; more are refused with 429.
    #[arg(long, default_value_t = 4_096)]
    queue: usize,
    /// The most rows of a request; more are refused with 413.
    #[arg(long, default_value_t = 256)]
    rows: usize,
    /// The most bytes of a request; more are refused with 413.
    #[arg(long, default_value_t = 64 << 10)]
    bytes: usize,
    /// How many milliseconds a client may take for its request, and the service for the answer.
    #[arg(long, default_value_t = 2_000)]
    timeout_ms: u64,
    /// The most connections; others wait to be accepted.
    #[arg(long, default_value_t = 1_024)]
    connections: usize,
}

impl Serving {
    fn limits(&self) -> Limits {
        Limits { batch: self.batch, wait: Duration::from_micros(self.wait_us), queue: self.queue }
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// A trained model, and what has to be known to ask it.
struct Trained {
    net: Network<recommender::rating::Spec>,
    parameters: Parameters,
    catalogue: Catalogue,
}

impl Trained {
    // ANCHOR: trained
    fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let catalogue: Catalogue = note(path, "catalogue")?;
        let net = catalogue.network()?;
        let mut parameters = Parameters::create(&net)?;
        parameters.load(path, Load::Strict)?;
        Ok(Trained { net, parameters, catalogue })
    }
    // ANCHOR_END: trained
}

fn main() -> Result<(), Box<dyn Error>> {
    let Settings { model, command } = Settings::parse();
    let trained = Arc::new(Trained::read(&model)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match command.unwrap_or_else(|| Command::Load(load::Settings::parse_from(["load"]))) {
        Command::Load(settings) => load::compare(&runtime, &trained, &settings),
        Command::Listen { address, port, serving } => runtime.block_on(async {
            let service = Service::bind(trained, serving, SocketAddr::new(address, port)).await?;
            println!("listening on http://{}; Ctrl-C ends", service.address());
            service.run(async { drop(tokio::signal::ctrl_c().await) }).await;
            println!("all requests have been answered");
            Ok(())
        }),
    }
}

#[cfg(test)]
#[path = "tests/serve.rs"]
mod tests;
