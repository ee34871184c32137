//! Values of all servers at one version: what a trainer computes with, and what the user's loop fetches.

use crate::machine::Effect;
use crate::message::{Message, Process, Sender, Server, To, Wanted};
use crate::planted::{Bug, planted};
use crate::retry::Outbox;
use crate::timing::{Micros, Timing};
use std::collections::BTreeMap;

/// The parts of a server's values are no more than these, whatever it says.
const MOST_PARTS: u32 = 1 << 20;

/// Values that are on their way. A server that is not yet at the version answers when it is, and one of which not all
/// parts come in time is asked again.
#[derive(Clone, Debug)]
pub(crate) struct Pull<P> {
    wanted: Wanted,
    servers: Vec<Parts<P>>,
    /// The newest version among the answers.
    version: u64,
    outbox: Outbox<u32, P>,
}

/// What has come of a server.
#[derive(Clone, Debug)]
struct Parts<P> {
    process: Process,
    /// How many there are. None before the first one has come.
    count: Option<u32>,
    came: BTreeMap<u32, P>,
}

/// A part that has come for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Whether all parts of its server are there.
    pub(crate) is_last: bool,
    /// Whether those of all servers are.
    pub(crate) is_all: bool,
}

impl<P: Clone> Pull<P> {
    /// Asks all servers. `message` is the question.
    pub(crate) fn new(
        now: Micros,
        timing: Timing,
        wanted: Wanted,
        servers: &[Server<P>],
        message: &Message<P>,
        effects: &mut Vec<Effect<P>>,
    ) -> Self {
        let mut outbox = Outbox::new(timing, message.from.process ^ wanted.version.unwrap_or(0));
        for (rank, server) in (0..).zip(servers) {
            outbox.post(now, rank, To::Process(server.process), message.clone(), effects);
        }
        let parts =
            |server: &Server<P>| Parts { process: server.process, count: None, came: BTreeMap::new() };
        Self { wanted, servers: servers.iter().map(parts).collect(), version: 0, outbox }
    }

    /// Takes a part of an answer, if it is one that is missing.
    pub(crate) fn answered(
        &mut self,
        now: Micros,
        from: Sender,
        wanted: Wanted,
        version: u64,
        [part, of]: [u32; 2],
        values: P,
    ) -> Option<Arrival> {
        let Sender { process, rank, .. } = from;
        let server = self.servers.get_mut(rank as usize).filter(|server| server.process == process)?;
        let fits = part < of && of <= MOST_PARTS && server.count.is_none_or(|count| count == of);
        if wanted != self.wanted || !fits || server.came.contains_key(&part) && !planted(Bug::PartTwice) {
            return None;
        }
        let place = if planted(Bug::PartTwice) { server.came.len() as u32 } else { part };
        server.count = Some(of);
        server.came.insert(place, values);
        self.version = self.version.max(version);
        let is_last = server.came.len() >= of as usize;
        // Whoever has sent a part sends the others, too, unless they are lost.
        match is_last {
            true => drop(self.outbox.acknowledge(&rank)),
            false => self.outbox.defer(now, rank),
        }
        Some(Arrival { is_last, is_all: !self.outbox.any(|_| true) })
    }

    /// The version of the values.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The values by the rank of the server.
    pub(crate) fn into_values(self) -> Vec<P> {
        self.servers.into_iter().flat_map(|server| server.came.into_values()).collect()
    }

    pub(crate) fn tick(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        self.outbox.tick(now, effects);
    }

    /// Asks nothing before this time.
    pub(crate) fn postpone(&mut self, until: Micros) {
        self.outbox.postpone(until);
    }

    pub(crate) fn deadline(&self) -> Option<Micros> {
        self.outbox.deadline()
    }
}
