//! Collectives: what the ranks of a group, which train as equals, say to each other.
//!
//! Each rank adds up its part of every gradient itself, in an order that is fixed: a *reduce-scatter* is
//! [`Collective::all_to_all`] of the terms and then those sums, and [`Collective::all_gather`] brings the results to all. So bits do not
//! depend on who carries the bytes, which a library's own sums do not promise: those of OpenMPI change with the number of ranks.
//!
//! ```
//! use bytes::Bytes;
//! use paddle_engines::collective::{Collective, threads};
//!
//! let ranks = threads(3);
//! let said: Vec<_> = std::thread::scope(|scope| {
//!     let each = ranks.into_iter().map(|mut rank| {
//!         scope.spawn(move || {
//!             let own = Bytes::from(vec![rank.rank() as u8]);
//!             rank.all_gather(own)
//!         })
//!     });
//!     let threads: Vec<_> = each.collect();
//!     threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<_, _>>()
//! })?;
//! assert!(said.iter().all(|all| all[..] == [vec![0], vec![1], vec![2]]));
//! # Ok::<(), paddle_engines::collective::CollectiveError>(())
//! ```

#[cfg(feature = "mpi")]
mod mpi;
mod threads;

use bytes::Bytes;
use thiserror::Error;

#[cfg(feature = "mpi")]
pub use self::mpi::Mpi;
pub use self::threads::{Threads, threads};

/// A group of processes or threads, as one of them sees it. All ranks call the same methods in the same order; what a rank calls
/// returns when the others have called it, too.
pub trait Collective: Send {
    /// The number of this rank, below [`size`](Self::size).
    fn rank(&self) -> u32;

    /// The number of ranks.
    fn size(&self) -> u32;

    /// The bytes that a rank may have sent before any of them is received. More may have to wait until the other rank receives, which it does
    /// not while it waits itself.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Sends bytes to another rank. It may return before they are received.
    ///
    /// # Errors
    /// If the rank is gone, or there is none of that number.
    fn send(&mut self, to: u32, bytes: Bytes) -> Result<(), CollectiveError>;

    /// The next bytes that another rank sends to this one.
    ///
    /// # Errors
    /// If the rank is gone or sends nothing for too long, or there is none of that number.
    fn receive(&mut self, from: u32) -> Result<Bytes, CollectiveError>;

    /// Comes to the end: says it to the other ranks, which hear it instead of what they wait for, and may wait a while until they have come to
    /// theirs. `fault` says why, if it is one: which rank cannot go on, and what it said. Returns whether another rank went on instead.
    #[expect(unused_variables, reason = "a rank that only ends is named, too")]
    fn end(&mut self, fault: Option<(u32, &str)>) -> bool {
        false
    }

    /// Sends bytes to each rank, and takes those that each has sent to this one; `to` has one entry for each rank, its own included.
    ///
    /// # Errors
    /// Those of [`send`](Self::send) and [`receive`](Self::receive).
    fn all_to_all(&mut self, to: Vec<Bytes>) -> Result<Vec<Bytes>, CollectiveError> {
        if to.len() != self.size() as usize {
            return Err(CollectiveError::Count { found: to.len(), expected: self.size() });
        }
        let own = self.rank();
        let mut kept = Bytes::new();
        for (rank, bytes) in (0..).zip(to) {
            match rank == own {
                true => kept = bytes,
                false => self.send(rank, bytes)?,
            }
        }
        (0..self.size()).map(|rank| if rank == own { Ok(kept.clone()) } else { self.receive(rank) }).collect()
    }

    /// Gives bytes to all ranks, and takes those of each.
    ///
    /// # Errors
    /// Those of [`all_to_all`](Self::all_to_all).
    fn all_gather(&mut self, own: Bytes) -> Result<Vec<Bytes>, CollectiveError> {
        self.all_to_all(vec![own; self.size() as usize])
    }
}

/// Why ranks cannot go on together. No call after it succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CollectiveError {
    /// A rank has ended, or cannot be reached.
    #[error("rank {rank} is gone: {why}")]
    Gone {
        /// Which.
        rank: u32,
        /// What has happened, as far as it is known.
        why: String,
    },
    /// A rank has said nothing for too long.
    #[error("rank {rank} has sent nothing for {seconds} s; does every rank take the same steps?")]
    Silent {
        /// Which.
        rank: u32,
        /// How long it was waited for.
        seconds: u64,
    },
    /// There is no such rank.
    #[error("there is no rank {rank} among {size}")]
    NoRank {
        /// Its number.
        rank: u32,
        /// How many there are.
        size: u32,
    },
    /// Another number of messages than of ranks.
    #[error("{found} messages are for {expected} ranks; each rank gets one")]
    Count {
        /// How many messages there are.
        found: usize,
        /// How many ranks there are.
        expected: u32,
    },
}
