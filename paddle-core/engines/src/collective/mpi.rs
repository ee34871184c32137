//! Ranks that MPI has started, and that talk over it. MPI carries the bytes; what is added up, and in which order, it does not decide.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use mpi::collective::SystemOperation;
use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

use super::{Collective, CollectiveError};

/// The bytes that messages which wait for their receivers may take; memory is taken as they come. A message for which there is no room
/// waits itself, so ranks must not send each other more than this before any of them receives.
const BUFFER: usize = 1 << 30;
/// The bytes that a rank sends in one round of an exchange, at most: MPI counts them in 31 bits.
const ROUND: usize = 1 << 30;

/// A rank that MPI has started.
///
/// A thread of its own calls MPI, since MPI wants all calls from one thread. If a rank dies, MPI ends all of them.
pub struct Mpi {
    rank: u32,
    size: u32,
    calls: Option<Sender<Call>>,
    replies: Receiver<Vec<Bytes>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread is to do. All but `Send` have a reply.
enum Call {
    Send(u32, Bytes),
    Receive(u32),
    Exchange(Vec<Bytes>),
}

impl Mpi {
    /// Starts MPI in this process. `None` if it was started before, or the thread cannot be.
    ///
    /// A process that no `mpirun` has started is the only rank.
    pub fn start() -> Option<Mpi> {
        let (calls, to_do) = channel();
        let (done, replies) = channel();
        let (says, said) = channel();
        let run = move || {
            let Some(mut universe) = mpi::initialize() else { return };
            universe.set_buffer_size(BUFFER);
            let world = universe.world();
            // Whoever started the thread waits for it.
            let _ = says.send((world.rank() as u32, world.size() as u32));
            serve(&mut universe, &world, &to_do, &done);
        };
        let thread = thread::Builder::new().name("mpi".to_string()).spawn(run).ok()?;
        let (rank, size) = said.recv().ok()?;
        Some(Mpi { rank, size, calls: Some(calls), replies, thread: Some(thread) })
    }

    fn call(&self, call: Call) -> Result<(), CollectiveError> {
        let sent = self.calls.as_ref().map(|calls| calls.send(call).is_ok());
        if sent == Some(true) { Ok(()) } else { Err(self.ended()) }
    }

    fn reply(&self) -> Result<Vec<Bytes>, CollectiveError> {
        self.replies.recv().map_err(|_| self.ended())
    }

    fn ended(&self) -> CollectiveError {
        CollectiveError::Gone { rank: self.rank, why: "MPI has ended".to_string() }
    }

    fn check(&self, rank: u32) -> Result<(), CollectiveError> {
        if rank < self.size { Ok(()) } else { Err(CollectiveError::NoRank { rank, size: self.size }) }
    }
}

impl Drop for Mpi {
    /// Waits for the other ranks: MPI ends in all of them together.
    fn drop(&mut self) {
        self.calls = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing to wait for.
            let _ = thread.join();
        }
    }
}

impl Collective for Mpi {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn room(&self) -> usize {
        BUFFER
    }

    fn send(&mut self, to: u32, bytes: Bytes) -> Result<(), CollectiveError> {
        self.check(to)?;
        self.call(Call::Send(to, bytes))
    }

    fn receive(&mut self, from: u32) -> Result<Bytes, CollectiveError> {
        self.check(from)?;
        self.call(Call::Receive(from))?;
        Ok(self.reply()?.pop().unwrap_or_default())
    }

    fn all_to_all(&mut self, to: Vec<Bytes>) -> Result<Vec<Bytes>, CollectiveError> {
        if to.len() != self.size as usize {
            return Err(CollectiveError::Count { found: to.len(), expected: self.size });
        }
        self.call(Call::Exchange(to))?;
        self.reply()
    }
}

/// Calls MPI until there is nothing to do any more.
fn serve(
    universe: &mut Universe,
    world: &SimpleCommunicator,
    calls: &Receiver<Call>,
    done: &Sender<Vec<Bytes>>,
) {
    // The bytes that were sent since the buffer was last known to be empty.
    let mut buffered = 0;
    while let Ok(call) = calls.recv() {
        let reply = match call {
            Call::Send(to, bytes) => {
                let process = world.process_at_rank(to as i32);
                for part in parts(&bytes) {
                    let room = part.len() + 1024;
                    if room > BUFFER {
                        process.send(part);
                        continue;
                    }
                    if buffered + room > BUFFER {
                        // It waits until what is in the buffer was received.
                        universe.set_buffer_size(BUFFER);
                        buffered = 0;
                    }
                    process.buffered_send(part);
                    buffered += room;
                }
                continue;
            }
            Call::Receive(from) => vec![receive(world, from)],
            Call::Exchange(to) => exchange(world, &to),
        };
        if done.send(reply).is_err() {
            return;
        }
    }
}

/// A message in parts, each of as many bytes as MPI can count. The last one is not full.
fn parts(bytes: &Bytes) -> impl Iterator<Item = &[u8]> {
    bytes.chunks(ROUND).chain(bytes.len().is_multiple_of(ROUND).then_some(&[][..]))
}

/// The next message of a rank. A part that is full is followed by another one.
fn receive(world: &SimpleCommunicator, from: u32) -> Bytes {
    let process = world.process_at_rank(from as i32);
    let mut whole = Vec::new();
    loop {
        let (part, _) = process.receive_vec::<u8>();
        whole.extend_from_slice(&part);
        if part.len() < ROUND {
            return whole.into();
        }
    }
}

/// Sends to all, and receives from all, in as many rounds as the longest message needs.
fn exchange(world: &SimpleCommunicator, to: &[Bytes]) -> Vec<Bytes> {
    let lengths: Vec<u64> = to.iter().map(|bytes| bytes.len() as u64).collect();
    let mut coming = vec![0_u64; to.len()];
    world.all_to_all_into(&lengths[..], &mut coming[..]);
    let step = (ROUND / to.len()) as u64;
    let mut longest = 0_u64;
    let own = lengths.iter().copied().max().unwrap_or(0);
    world.all_reduce_into(&own, &mut longest, SystemOperation::max());
    let mut from: Vec<Vec<u8>> = vec![Vec::new(); to.len()];
    for begin in (0..longest.max(1)).step_by(step as usize) {
        let part_of = |length: u64| length.saturating_sub(begin).min(step) as usize;
        let (mut sent, mut counts, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (bytes, &length) in to.iter().zip(&lengths) {
            let count = part_of(length);
            places.push(sent.len() as i32);
            counts.push(count as i32);
            sent.extend_from_slice(&bytes[length.min(begin) as usize..][..count]);
        }
        let received: Vec<i32> = coming.iter().map(|&length| part_of(length) as i32).collect();
        let starts: Vec<i32> = received
            .iter()
            .scan(0, |at, count| {
                let start = *at;
                *at += count;
                Some(start)
            })
            .collect();
        // Buffers of no bytes have one address, and MPI wants two.
        sent.push(0);
        let mut room = vec![0_u8; received.iter().sum::<i32>() as usize + 1];
        {
            let sent = Partition::new(&sent[..], &counts[..], &places[..]);
            let mut into = PartitionMut::new(&mut room[..], &received[..], &starts[..]);
            world.all_to_all_varcount_into(&sent, &mut into);
        }
        for ((of, &start), &count) in from.iter_mut().zip(&starts).zip(&received) {
            of.extend_from_slice(&room[start as usize..][..count as usize]);
        }
    }
    from.into_iter().map(Bytes::from).collect()
}
