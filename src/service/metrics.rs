//! What the service counts, as Prometheus reads it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of latencies, in seconds.
const LATENCIES: [f64; 10] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0];

/// The upper bounds of batches, in rows.
const BATCHES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The answers that are told apart.
const STATUSES: [u16; 11] = [200, 400, 404, 405, 408, 413, 422, 429, 500, 503, 504];

/// Counts since the service was started.
pub(super) struct Metrics {
    /// What all names begin with.
    service: &'static str,
    requests: [AtomicU64; STATUSES.len()],
    latency: Histogram,
    batch: Histogram,
}

impl Metrics {
    pub(super) fn new(service: &'static str) -> Self {
        Metrics {
            service,
            requests: Default::default(),
            latency: Histogram::new(LATENCIES),
            batch: Histogram::new(BATCHES),
        }
    }

    /// Counts a request that was answered.
    pub(super) fn answered(&self, status: u16, took: Duration) {
        if let Some(at) = STATUSES.iter().position(|known| *known == status) {
            self.requests[at].fetch_add(1, Ordering::Relaxed);
        }
        self.latency.add(took.as_secs_f64());
    }

    /// Counts a run of the program.
    pub(super) fn computed(&self, rows: usize) {
        self.batch.add(rows as f64);
    }

    /// The text for `/metrics`.
    pub(super) fn text(&self, waiting: usize) -> String {
        let mut text = Text { service: self.service, written: String::new() };
        text.head("requests_total", "counter", "Requests that were answered.");
        for (status, count) in STATUSES.iter().zip(&self.requests) {
            text.line(&format!("requests_total{{status=\"{status}\"}}"), count.load(Ordering::Relaxed));
        }
        self.latency.write(&mut text, "request_seconds", "Seconds from a request to its answer.");
        self.batch.write(&mut text, "batch_rows", "Rows of a run of the program.");
        text.head("waiting_rows", "gauge", "Rows that wait to be computed.");
        text.line("waiting_rows", waiting);
        text.written
    }
}

/// The text of metrics whose names begin with that of the service.
struct Text {
    service: &'static str,
    written: String,
}

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let service = self.service;
        let _ = writeln!(self.written, "# HELP {service}_{name} {help}\n# TYPE {service}_{name} {kind}");
    }

    fn line(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.written, "{}_{name} {value}", self.service);
    }
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

    fn write(&self, text: &mut Text, name: &str, help: &str) {
        text.head(name, "histogram", help);
        let mut below = 0;
        for (count, bound) in
            self.counts.iter().zip(self.bounds.iter().map(f64::to_string).chain(["+Inf".into()]))
        {
            below += count.load(Ordering::Relaxed);
            text.line(&format!("{name}_bucket{{le=\"{bound}\"}}"), below);
        }
        text.line(&format!("{name}_sum"), self.sum.load(Ordering::Relaxed) as f64 / 1e6);
        text.line(&format!("{name}_count"), below);
    }
}
