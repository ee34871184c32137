//! A trained recommender as a service: JSON over HTTP, the rows of all requests that come at the same time in one run of the program.
//!
//! ```text
//! cargo run --release --example recommender_system                  # trains it, and saves it
//! cargo run --release --features service --example serve -- listen
//! curl localhost:8080/rate -d '{"rows": [{"user": "1", "item": "1050", "about": ["1 semester ago", "service"]}]}'
//! cargo run --release --features service --example serve -- load    # batches beside one request at a time
//! ```

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use paddle::batcher::Limits;
use paddle::files::{Load, note};
use paddle::service::{self, Service};
use paddle::{Network, Parameters};

use self::model::{Catalogue, recommender};

#[path = "serve/answers.rs"]
mod answers;
#[path = "serve/load.rs"]
mod load;
#[path = "recommender_system/model.rs"]
mod model;

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

/// What is computed together.
#[derive(Args, Clone)]
struct Serving {
    /// The most rows that are computed together.
    #[arg(long, default_value_t = 256)]
    batch: usize,
    /// For how many microseconds a row waits for others; with 0, what came during a run is computed together in the next one.
    #[arg(long, default_value_t = 0)]
    wait_us: u64,
}

impl Serving {
    fn settings(&self) -> service::Settings {
        let wait = Duration::from_micros(self.wait_us);
        let limits = Limits { batch: self.batch, wait, ..Limits::default() };
        service::Settings { path: "/rate", limits, ..service::Settings::new("recommender") }
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
    let trained = Trained::read(&model).unwrap_or_else(|error| {
        eprintln!(
            "{error}\n`cargo run --release --example recommender_system` trains the model and saves it there"
        );
        std::process::exit(1)
    });
    let trained = Arc::new(trained);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match command.unwrap_or_else(|| Command::Load(load::Settings::parse_from(["load"]))) {
        Command::Load(settings) => load::compare(&runtime, &trained, &settings),
        Command::Listen { address, port, serving } => runtime.block_on(async {
            let service = Service::bind(trained, serving.settings(), SocketAddr::new(address, port)).await?;
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
