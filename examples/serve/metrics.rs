//! What the service counts, as Prometheus reads it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of latencies, in seconds.
const LATENCIES: [f64; 10] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0];

/// The upper bounds of batches, in rows.
const BATCHES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The answers that are told apart.
const STATUSES: [u16; 10] = [200, 400, 404, 405, 408, 413, 429, 500, 503, 504];

/// Counts since the service was started.
pub(crate) struct Metrics {
    requests: [AtomicU64; STATUSES.len()],
    latency: Histogram,
    batch: Histogram,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Metrics {
            requests: Default::default(),
            latency: Histogram::new(LATENCIES),
            batch: Histogram::new(BATCHES),
        }
    }

    /// Counts a request that was answered.
    pub(crate) fn answered(&self, status: u16, took: Duration) {
        if let Some(at) = STATUSES.iter().position(|known| *known == status) {
            self.requests[at].fetch_add(1, Ordering::Relaxed);
        }
        self.latency.add(took.as_secs_f64());
    }

    /// Counts a run of the program.
    pub(crate) fn computed(&self, rows: usize) {
        self.batch.add(rows as f64);
    }

    /// The text for `/metrics`.
    pub(crate) fn text(&self, waiting: usize) -> String {
        let mut text = String::new();
        head(&mut text, "requests_total", "counter", "Requests that were answered.");
        for (status, count) in STATUSES.iter().zip(&self.requests) {
            let count = count.load(Ordering::Relaxed);
            line(&mut text, &format!("requests_total{{status=\"{status}\"}}"), count);
        }
        self.latency.write(&mut text, "request_seconds", "Seconds from a request to its answer.");
        self.batch.write(&mut text, "batch_rows", "Rows of a run of the program.");
        head(&mut text, "waiting_rows", "gauge", "Rows that wait to be computed.");
        line(&mut text, "waiting_rows", waiting);
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP recommender_{name} {help}\n# TYPE recommender_{name} {kind}");
}

fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "recommender_{name} {value}");
}

struct Histogram {
    bounds: [f64; 10],
    /// Of values up to each bound but above the one before, and of those above all.
    counts: [AtomicU64; 11],
    /// The sum of all values, in millionths.
    sum: AtomicU64,
}

impl Histogram {
    fn new(bounds: [f64; 10]) -> Self {
        Histogram { bounds, counts: Default::default(), sum: AtomicU64::new(0) }
    }

    fn add(&self, value: f64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add((value * 1e6) as u64, Ordering::Relaxed);
    }

    fn write(&self, text: &mut String, name: &str, help: &str) {
        head(text, name, "histogram", help);
        let mut below = 0;
        for (count, bound) in
            self.counts.iter().zip(self.bounds.iter().map(f64::to_string).chain(["+Inf".into()]))
        {
            below += count.load(Ordering::Relaxed);
            line(text, &format!("{name}_bucket{{le=\"{bound}\"}}"), below);
        }
        line(text, &format!("{name}_sum"), self.sum.load(Ordering::Relaxed) as f64 / 1e6);
        line(text, &format!("{name}_count"), below);
    }
}
