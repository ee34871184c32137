//! The clock of profiles.

use std::time::Duration;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::Instant;

/// Counts the time since it was started. In WebAssembly without a system (`wasm32-unknown-unknown`) there is no time to
/// be had, and it stands still.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    begin: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Clock {
            #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
            begin: Instant::now(),
        }
    }

    /// The time since the start.
    pub fn now(&self) -> Duration {
        #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
        return self.begin.elapsed();
        #[cfg(all(target_family = "wasm", target_os = "unknown"))]
        return Duration::ZERO;
    }
}
