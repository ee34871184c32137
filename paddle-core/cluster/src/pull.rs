//! Values of all servers at one version: what a trainer computes with, and what the user's loop fetches.

use crate::machine::Effect;
use crate::message::{Message, Process, Sender, Server, To, Wanted};
use crate::planted::{Bug, planted};
use crate::retry::Questions;
use crate::timing::{Micros, Timing};
use std::collections::BTreeSet;
use std::num::NonZeroU32;

/// The parts of a server's values are no more than these, whatever it says.
const MOST_PARTS: u32 = 1 << 20;

/// Values that are on their way. A server that is not yet at the version answers when it is, and one of which not all
/// parts come in time is asked again.
#[derive(Clone, Debug)]
pub(crate) struct Pull<P> {
    wanted: Wanted,
    /// The question, the same for all servers.
    message: Message<P>,
    servers: Vec<Parts>,
    /// What has come behind the first 64 parts of a server, by its rank.
    others: BTreeSet<(u32, u32)>,
    /// The newest version among the answers.
    version: u64,
    /// By the rank of the server.
    questions: Questions,
}

/// What has come of a server: which parts. What is in them is for whoever asks. A trainer has many of these and needs one at a time, so
/// they are small.
#[derive(Clone, Debug)]
struct Parts {
    process: Process,
    /// How many there are. None before the first one has come.
    count: Option<NonZeroU32>,
    /// How many have come.
    came: u32,
    /// A bit for each of the first 64 that has come. Most answers have no more.
    first: u64,
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
        message: Message<P>,
        effects: &mut Vec<Effect<P>>,
    ) -> Self {
        let seed = message.from.process ^ wanted.version.unwrap_or(0);
        let parts = |server: &Server<P>| Parts { process: server.process, count: None, came: 0, first: 0 };
        effects.extend(
            servers
                .iter()
                .map(|server| Effect::Send { to: To::Process(server.process), message: message.clone() }),
        );
        Self {
            wanted,
            message,
            servers: servers.iter().map(parts).collect(),
            others: BTreeSet::new(),
            version: 0,
            questions: Questions::new(now, timing, seed, servers.len()),
        }
    }

    /// Takes a part of an answer, if it is one that is missing.
    pub(crate) fn answered(
        &mut self,
        now: Micros,
        from: Sender,
        wanted: Wanted,
        version: u64,
        [part, of]: [u32; 2],
    ) -> Option<Arrival> {
        let Sender { process, rank, .. } = from;
        let server = self.servers.get_mut(rank as usize).filter(|server| server.process == process)?;
        let fits = part < of && of <= MOST_PARTS && server.count.is_none_or(|count| count.get() == of);
        if wanted != self.wanted || !fits {
            return None;
        }
        let is_new = match part {
            0..u64::BITS => {
                let before = server.first;
                server.first |= 1 << part;
                server.first != before
            }
            _ => self.others.insert((rank, part)),
        };
        if !is_new && !planted(Bug::PartTwice) {
            return None;
        }
        server.count = NonZeroU32::new(of);
        server.came += 1;
        self.version = self.version.max(version);
        let is_last = server.came >= of;
        // Whoever has sent a part sends the others, too, unless they are lost.
        match is_last {
            true => self.questions.answered(rank as usize),
            false => self.questions.defer(now, rank as usize),
        }
        Some(Arrival { is_last, is_all: self.questions.all_are_answered() })
    }

    /// The version of the values.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn tick(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        let Self { questions, servers, message, .. } = self;
        questions.tick(now, |rank| {
            let to = To::Process(servers[rank].process);
            effects.push(Effect::Send { to, message: message.clone() });
        });
    }

    /// Asks nothing before this time.
    pub(crate) fn postpone(&mut self, until: Micros) {
        self.questions.postpone(until);
    }

    pub(crate) fn deadline(&self) -> Option<Micros> {
        self.questions.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Body, Epoch, Incarnation, Role};

    #[test]
    fn each_part_counts_once_in_any_order() {
        let sender =
            |role, rank, process| Sender { role, rank, process, incarnation: Incarnation::default() };
        let wanted = Wanted { plan: 0, version: None, have: None };
        let from = sender(Role::Trainer, 0, 9);
        let question = Message { epoch: Epoch::default(), from, body: Body::<u64>::Pull(wanted) };
        let servers = [1, 2].map(|process| Server { process, address: 0 });
        let mut pull = Pull::new(0, Timing::default(), wanted, &servers, question, &mut Vec::new());
        let mut came = |rank: u32, part| {
            let from = sender(Role::Server, rank, u64::from(rank) + 1);
            pull.answered(0, from, wanted, 0, part).map(|arrival| (arrival.is_last, arrival.is_all))
        };
        for part in (1..200).rev() {
            assert_eq!(came(0, [part, 200]), Some((false, false)));
            assert_eq!(came(0, [part, 200]), None);
        }
        // The same parts of another server are others, and what does not fit is none.
        assert_eq!(came(1, [70, 71]), Some((false, false)));
        assert_eq!(came(0, [0, 201]), None);
        assert_eq!(came(0, [200, 200]), None);
        assert_eq!(came(0, [0, 200]), Some((true, false)));
        let last = (0..70).map(|part| came(1, [part, 71])).last();
        assert_eq!(last, Some(Some((true, true))));
    }
}
