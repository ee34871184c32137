//! Ranks that are threads of one process.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use bytes::Bytes;

use super::{Collective, CollectiveError};

/// The time that a rank waits for another one.
const PATIENCE: Duration = Duration::from_secs(600);

/// A rank that is a thread of this process.
pub struct Threads {
    rank: u32,
    to: Vec<Sender<Bytes>>,
    from: Vec<Receiver<Bytes>>,
}

/// The ranks of a group of threads, each to be given to one of them.
pub fn threads(size: u32) -> Vec<Threads> {
    let mut ranks: Vec<_> =
        (0..size).map(|rank| Threads { rank, to: Vec::new(), from: Vec::new() }).collect();
    for from in 0..size as usize {
        for to in 0..size as usize {
            let (sender, receiver) = channel();
            ranks[from].to.push(sender);
            ranks[to].from.push(receiver);
        }
    }
    ranks
}

impl Collective for Threads {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.to.len() as u32
    }

    fn send(&mut self, to: u32, bytes: Bytes) -> Result<(), CollectiveError> {
        let size = self.size();
        let way = self.to.get(to as usize).ok_or(CollectiveError::NoRank { rank: to, size })?;
        way.send(bytes).map_err(|_| gone(to))
    }

    fn receive(&mut self, from: u32) -> Result<Bytes, CollectiveError> {
        let size = self.size();
        let way = self.from.get(from as usize).ok_or(CollectiveError::NoRank { rank: from, size })?;
        way.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Disconnected => gone(from),
            RecvTimeoutError::Timeout => CollectiveError::Silent { rank: from, seconds: PATIENCE.as_secs() },
        })
    }
}

fn gone(rank: u32) -> CollectiveError {
    CollectiveError::Gone { rank, why: "its thread has ended".to_string() }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn each_gets_what_each_has_sent_to_it() {
        let threads: Vec<_> = threads(4)
            .into_iter()
            .map(|mut own| {
                thread::spawn(move || {
                    for round in 0..3u8 {
                        let rank = own.rank() as u8;
                        let to = (0..4).map(|to| Bytes::from(vec![round, rank, to])).collect();
                        let from = own.all_to_all(to).unwrap();
                        let expected: Vec<_> = (0..4).map(|from| vec![round, from, rank]).collect();
                        assert_eq!(from, expected);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn ranks_that_end_are_named() {
        let mut ranks = threads(3);
        drop(ranks.remove(2));
        assert!(matches!(ranks[0].receive(2), Err(CollectiveError::Gone { rank: 2, .. })));
        assert!(matches!(ranks[0].send(2, Bytes::new()), Err(CollectiveError::Gone { rank: 2, .. })));
        assert_eq!(ranks[0].receive(3), Err(CollectiveError::NoRank { rank: 3, size: 3 }));
        let two = vec![Bytes::new(); 2];
        assert_eq!(ranks[0].all_to_all(two), Err(CollectiveError::Count { found: 2, expected: 3 }));
    }
}
