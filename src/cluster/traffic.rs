//! How much goes over the links of a process.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// The frames that were sent and received, and their bytes, without what gRPC and TCP add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Traffic {
    pub(super) sent_bytes: u64,
    pub(super) sent_frames: u64,
    pub(super) received_bytes: u64,
    pub(super) received_frames: u64,
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.sent_bytes += other.sent_bytes;
        self.sent_frames += other.sent_frames;
        self.received_bytes += other.received_bytes;
        self.received_frames += other.received_frames;
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
        Traffic { sent_bytes, sent_frames, received_bytes, received_frames }
    }
}
