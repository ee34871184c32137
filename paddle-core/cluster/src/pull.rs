//! Values of all servers at one version: what a trainer computes with, and what the user's loop fetches.

use crate::machine::Effect;
use crate::message::{Message, Process, Server, To, Wanted};
use crate::retry::Outbox;
use crate::timing::{Micros, Timing};

/// Values that are on their way. A server that is not yet at the version answers when it is, and one that does not
/// answer in time is asked again.
#[derive(Clone, Debug)]
pub(crate) struct Pull<P> {
    wanted: Wanted,
    processes: Vec<Process>,
    values: Vec<Option<P>>,
    /// The newest version among the answers.
    version: u64,
    missing: usize,
    outbox: Outbox<u32, P>,
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
        Self {
            wanted,
            processes: servers.iter().map(|server| server.process).collect(),
            values: vec![None; servers.len()],
            version: 0,
            missing: servers.len(),
            outbox,
        }
    }

    /// Takes an answer of a server's process. It is true when this was the last.
    pub(crate) fn answered(
        &mut self,
        from: Process,
        rank: u32,
        wanted: Wanted,
        version: u64,
        values: P,
    ) -> bool {
        let place = rank as usize;
        if wanted != self.wanted
            || self.processes.get(place) != Some(&from)
            || !self.outbox.acknowledge(&rank)
        {
            return false;
        }
        self.values[place] = Some(values);
        self.version = self.version.max(version);
        self.missing -= 1;
        self.missing == 0
    }

    /// The values by the rank of the server, and their version.
    pub(crate) fn into_values(self) -> (Vec<P>, u64) {
        (self.values.into_iter().flatten().collect(), self.version)
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
