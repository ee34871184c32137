//! How long things may take.

/// Microseconds on a machine's own clock, which never goes back. Clocks of different machines need not agree.
pub type Micros = u64;

/// The times of a job. All machines of a job have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A worker of which the master has heard nothing for so long is dead.
    pub lease: Micros,
    /// How often a worker tells the master that it is there.
    pub heartbeat: Micros,
    /// After what time a message without an answer is sent again; it doubles with each time.
    pub retry: Micros,
    /// At most so long is waited before a message is sent again.
    pub retry_limit: Micros,
    /// A part of a step is late after this multiple of what the others took. Another trainer computes it, too.
    pub late_factor: u64,
    /// A part of a step is late after this time if it is not known what a part takes.
    pub late: Micros,
}

impl Timing {
    /// How long a worker serves without an answer of the master, from when it sent what was answered. A fifth less
    /// than the lease: so a worker whose clock is a tenth slow stops before a master whose clock is a tenth fast
    /// has another one in its place.
    pub fn serving(&self) -> Micros {
        self.lease / 5 * 4
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease: 2_000_000,
            heartbeat: 400_000,
            retry: 200_000,
            retry_limit: 2_000_000,
            late_factor: 4,
            late: 10_000_000,
        }
    }
}
