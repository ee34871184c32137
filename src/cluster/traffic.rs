//! How much goes over the links of a process, and how long its work waits for what comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The frames that were sent and received, and their bytes, without what gRPC and TCP add; and the time in which a trainer has waited for
/// values instead of computing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Traffic {
    pub(super) sent_bytes: u64,
    pub(super) sent_frames: u64,
    pub(super) received_bytes: u64,
    pub(super) received_frames: u64,
    pub(super) waited_micros: u64,
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.sent_bytes += other.sent_bytes;
        self.sent_frames += other.sent_frames;
        self.received_bytes += other.received_bytes;
        self.received_frames += other.received_frames;
        self.waited_micros += other.waited_micros;
    }
}

/// Counts while threads send and receive.
#[derive(Default)]
pub(super) struct Counters {
    sent: [AtomicU64; 2],
    received: [AtomicU64; 2],
}

fn count([bytes, frames]: &[AtomicU64; 2], length: usize) {
    bytes.fetch_add(length as u64, Ordering::Relaxed);
    frames.fetch_add(1, Ordering::Relaxed);
}

impl Counters {
    pub(super) fn sent(&self, length: usize) {
        count(&self.sent, length);
    }

    pub(super) fn received(&self, length: usize) {
        count(&self.received, length);
    }

    pub(super) fn read(&self) -> Traffic {
        let [sent, received] =
            [&self.sent, &self.received].map(|of| of.each_ref().map(|n| n.load(Ordering::Relaxed)));
        let ([sent_bytes, sent_frames], [received_bytes, received_frames]) = (sent, received);
        Traffic { sent_bytes, sent_frames, received_bytes, received_frames, waited_micros: 0 }
    }
}

/// The time in which the work of a process waits.
#[derive(Clone, Default)]
pub(super) struct Waits(Arc<AtomicU64>);

impl Waits {
    /// Does something that waits.
    pub(super) fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let came = wait();
        self.0.fetch_add(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
        came
    }

    /// All of it so far.
    pub(super) fn micros(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
