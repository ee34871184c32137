//! A key that is held, seen from its holder.

use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::CoordinationError;

/// What is known about a lease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// Nobody else can hold the key before this time.
    Until(Instant),
    /// It has ended.
    Ended,
}

/// A key that this process holds. Dropping it ends it, soon; [`Lease::release`] waits for that.
#[derive(Debug)]
pub struct Lease {
    key: String,
    number: u64,
    state: watch::Receiver<State>,
    /// It is dropped with the lease, which is what the keeper waits for.
    _held: oneshot::Sender<()>,
}

/// The other end of a lease, for what keeps it.
pub(super) struct Keeper {
    pub(super) state: watch::Sender<State>,
    pub(super) released: oneshot::Receiver<()>,
}

impl Lease {
    pub(super) fn new(key: &str, number: u64, state: State) -> (Lease, Keeper) {
        let (sender, receiver) = watch::channel(state);
        let (held, released) = oneshot::channel();
        let lease = Lease { key: key.into(), number, state: receiver, _held: held };
        (lease, Keeper { state: sender, released })
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The epoch or incarnation: larger than that of each holder before.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the key certainly is this process's, now. Ask before each effect that another holder must not see: it asks no service and
    /// takes no time. The answer turns a fifth of the lease before the service would give the key to another, and a process that was
    /// frozen learns of it at once.
    ///
    /// # Errors
    /// [`CoordinationError::Suspended`] or [`CoordinationError::Lost`].
    pub fn check(&self) -> Result<(), CoordinationError> {
        let (key, number) = (self.key.clone(), self.number);
        match *self.state.borrow() {
            State::Until(end) if Instant::now() < end => Ok(()),
            State::Until(_) => Err(CoordinationError::Suspended { key, number }),
            State::Ended => Err(CoordinationError::Lost { key, number }),
        }
    }

    /// Waits until the lease has ended for good.
    pub async fn lost(&self) {
        // A keeper that is gone keeps nothing.
        let _ = self.state.clone().wait_for(|state| *state == State::Ended).await;
    }

    /// Ends the lease, so that another process need not wait for its time to run out.
    pub async fn release(self) {
        let Lease { mut state, _held, .. } = self;
        drop(_held);
        let _ = state.wait_for(|state| *state == State::Ended).await;
    }
}
