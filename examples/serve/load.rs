//! A load on services of this process: bounded in requests and in time, over the loopback.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use fastrand::Rng;
use paddle::data::Categories;
use paddle::infer;
use paddle::service::Service;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::model::Catalogue;
use super::{Serving, Trained};

/// How often both services are measured, by turns.
const ROUNDS: usize = 5;

#[derive(Parser)]
pub(crate) struct Settings {
    #[command(flatten)]
    serving: Serving,
    /// How many clients ask at the same time.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=256))]
    clients: u64,
    /// How many requests there are in each of five rounds, to each service.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    requests: u64,
    /// After how many seconds a round ends anyway.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// How many rows a request has.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    rows_each: u64,
}

/// Measures a service that computes batches, and one that computes a request at a time.
pub(crate) fn compare(
    runtime: &Runtime,
    trained: &Arc<Trained>,
    settings: &Settings,
) -> Result<(), Box<dyn Error>> {
    for rows in [1, 16, 256] {
        let micros = 1e6 * run_of(trained, rows)?.as_secs_f64();
        println!("a run of {rows} rows takes {micros:.1} µs, {:.2} µs a row", micros / rows as f64);
    }
    let with = &settings.serving;
    let without = Serving { batch: 1, wait_us: 0 };
    let (mut batches, mut alone) = (Measured::default(), Measured::default());
    // By turns, as other programs of this machine do not always leave it alone.
    for _ in 0..ROUNDS {
        batches.add(measure(runtime, trained, with, settings)?);
        alone.add(measure(runtime, trained, &without, settings)?);
    }
    println!("batches:             {batches}");
    println!("a request at a time: {alone}");
    println!(
        "serve: rows_per_s={:.0} one_at_a_time={:.0}",
        batches.rows_per_second(),
        alone.rows_per_second()
    );
    Ok(())
}

/// How long a run of the program takes that computes so many rows: the least of many.
fn run_of(trained: &Trained, rows: usize) -> Result<Duration, paddle::Error> {
    let Trained { net, parameters, catalogue } = trained;
    let name = |names: &Categories, at: usize| {
        names.name((1 + at % (names.len() - 1)) as i64).unwrap_or_default().to_string()
    };
    let row = |at| catalogue.row(&name(&catalogue.users, at), &name(&catalogue.items, at), [].into_iter());
    let rows: Vec<_> = (0..rows).map(row).collect();
    let once = || {
        let began = Instant::now();
        infer(net, parameters, &rows).map(|_| began.elapsed())
    };
    (0..500).try_fold(Duration::MAX, |least, _| Ok(least.min(once()?)))
}

/// What clients saw.
#[derive(Default)]
struct Measured {
    /// Of requests that were answered, in order.
    latencies: Vec<Duration>,
    /// How many requests were refused.
    refused: usize,
    rows: u64,
    took: Duration,
}

impl Measured {
    fn add(&mut self, other: Measured) {
        self.latencies.extend(other.latencies);
        self.latencies.sort_unstable();
        self.refused += other.refused;
        self.rows += other.rows;
        self.took += other.took;
    }

    fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.took.as_secs_f64()
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = |part: f64| {
            let at = (part * self.latencies.len() as f64) as usize;
            self.latencies.get(at.min(self.latencies.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(part).map(|latency| 1e3 * latency.as_secs_f64());
        let rows = self.rows_per_second();
        write!(
            f,
            "{p50:.2} ms (50 %), {p95:.2} ms (95 %), {p99:.2} ms (99 %), {rows:.0} rows/s, {} refused",
            self.refused
        )
    }
}

/// Starts a service on a free port of this machine, and has clients ask it.
fn measure(
    runtime: &Runtime,
    trained: &Arc<Trained>,
    serving: &Serving,
    settings: &Settings,
) -> Result<Measured, Box<dyn Error>> {
    let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let service = runtime.block_on(Service::bind(Arc::clone(trained), serving.settings(), address))?;
    let address = service.address();
    let (end, ended) = oneshot::channel::<()>();
    let service = runtime.spawn(service.run(async { drop(ended.await) }));
    let (begin, asked) = (Instant::now(), AtomicU64::new(0));
    let until = begin + Duration::from_secs(settings.seconds);
    let seen: Vec<_> = thread::scope(|scope| {
        let client = |number| {
            let asked = &asked;
            scope.spawn(move || ask(address, &trained.catalogue, number, settings, asked, until))
        };
        let clients: Vec<_> = (0..settings.clients).map(client).collect();
        clients.into_iter().map(|client| client.join().expect("a client does not panic")).collect()
    });
    let took = begin.elapsed();
    drop(end);
    runtime.block_on(service)?;
    let mut measured = Measured { latencies: Vec::new(), refused: 0, rows: 0, took };
    for of_client in seen {
        let (latencies, refused) = of_client?;
        measured.latencies.extend(latencies);
        measured.refused += refused;
    }
    measured.rows = settings.rows_each * measured.latencies.len() as u64;
    Ok(measured)
}

/// One client: a request behind the other, until as many have been asked by all, or for as long as it may.
fn ask(
    address: SocketAddr,
    catalogue: &Catalogue,
    number: u64,
    settings: &Settings,
    asked: &AtomicU64,
    until: Instant,
) -> io::Result<(Vec<Duration>, usize)> {
    let (users, items): (Vec<_>, Vec<_>) =
        (catalogue.users.names().collect(), catalogue.items.names().collect());
    let (mut rng, mut client) = (Rng::with_seed(number), Client::connect(address)?);
    let (mut latencies, mut refused) = (Vec::new(), 0);
    while asked.fetch_add(1, Ordering::Relaxed) < settings.requests && Instant::now() < until {
        let rows = (0..settings.rows_each).map(
            |_| json!({ "user": users[rng.usize(..users.len())], "item": items[rng.usize(..items.len())] }),
        );
        let body = json!({ "rows": rows.collect::<Vec<_>>() }).to_string();
        let began = Instant::now();
        match client.ask("POST", "/rate", body.as_bytes())? {
            (200, _) => latencies.push(began.elapsed()),
            _ => refused += 1,
        }
    }
    Ok((latencies, refused))
}

/// A connection to a service on this machine.
pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Client(BufReader::new(stream)))
    }

    /// The status and the body of the answer.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<(u16, String)> {
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
        self.send(&[head.as_bytes(), body].concat())?;
        self.answer()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    pub(crate) fn answer(&mut self) -> io::Result<(u16, String)> {
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "this is no answer of HTTP/1.1");
        let (mut line, mut length) = (String::new(), 0);
        self.0.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(|_| broken())?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        String::from_utf8(body).map(|body| (status, body)).map_err(|_| broken())
    }
}
