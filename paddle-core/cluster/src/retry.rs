//! Messages that are sent until they are answered.

use crate::machine::Effect;
use crate::message::{Message, To};
use crate::timing::{Micros, Timing};
use std::collections::{BTreeMap, BTreeSet};

/// A well mixed number made of another one (splitmix64).
pub(crate) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Messages without an answer, each under a key.
#[derive(Clone, Debug)]
pub(crate) struct Outbox<K, P> {
    timing: Timing,
    /// Spreads what many machines send again at once.
    seed: u64,
    waiting: BTreeMap<K, Waiting<P>>,
    due: BTreeSet<(Micros, K)>,
}

#[derive(Clone, Debug)]
struct Waiting<P> {
    to: To,
    message: Message<P>,
    due: Micros,
    pause: Micros,
}

impl<K: Ord + Copy, P: Clone> Outbox<K, P> {
    pub(crate) fn new(timing: Timing, seed: u64) -> Self {
        Self { timing, seed, waiting: BTreeMap::new(), due: BTreeSet::new() }
    }

    /// Sends a message, and again until its key is acknowledged or taken by another message.
    pub(crate) fn post(
        &mut self,
        now: Micros,
        key: K,
        to: To,
        message: Message<P>,
        effects: &mut Vec<Effect<P>>,
    ) {
        self.acknowledge(&key);
        effects.push(Effect::Send { to, message: message.clone() });
        let pause = self.timing.retry.max(1);
        let due = self.due_after(now, pause);
        self.waiting.insert(key, Waiting { to, message, due, pause });
        self.due.insert((due, key));
    }

    /// A quarter of the pause is random.
    fn due_after(&mut self, now: Micros, pause: Micros) -> Micros {
        self.seed = mix(self.seed);
        now.saturating_add(pause).saturating_add(self.seed % (pause / 4 + 1))
    }

    /// Whether a message was waiting under the key. It is not sent again.
    pub(crate) fn acknowledge(&mut self, key: &K) -> bool {
        let Some(waiting) = self.waiting.remove(key) else { return false };
        self.due.remove(&(waiting.due, *key));
        true
    }

    /// Drops the messages whose keys `keep` does not want.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        let dropped: Vec<K> = self.waiting.keys().filter(|key| !keep(key)).copied().collect();
        for key in dropped {
            self.acknowledge(&key);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.due.clear();
    }

    pub(crate) fn any(&self, wanted: impl FnMut(&K) -> bool) -> bool {
        self.waiting.keys().any(wanted)
    }

    /// Sends again what is due.
    pub(crate) fn tick(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        while let Some(&(due, key)) = self.due.first()
            && due <= now
        {
            self.due.pop_first();
            let limit = self.timing.retry_limit.max(1);
            let Some(waiting) = self.waiting.get_mut(&key) else { continue };
            effects.push(Effect::Send { to: waiting.to, message: waiting.message.clone() });
            waiting.pause = waiting.pause.saturating_mul(2).min(limit);
            let pause = waiting.pause;
            let due = self.due_after(now, pause);
            if let Some(waiting) = self.waiting.get_mut(&key) {
                waiting.due = due;
                self.due.insert((due, key));
            }
        }
    }

    /// Sends a message again only when so long nothing has come as if it had just been sent.
    pub(crate) fn defer(&mut self, now: Micros, key: K) {
        let pause = self.timing.retry.max(1);
        let due = self.due_after(now, pause);
        if let Some(waiting) = self.waiting.get_mut(&key) {
            self.due.remove(&(waiting.due, key));
            (waiting.due, waiting.pause) = (due, pause);
            self.due.insert((due, key));
        }
    }

    /// Sends nothing before this time.
    pub(crate) fn postpone(&mut self, until: Micros) {
        while let Some(&(due, key)) = self.due.first()
            && due < until
        {
            self.due.pop_first();
            if let Some(waiting) = self.waiting.get_mut(&key) {
                waiting.due = until;
                self.due.insert((until, key));
            }
        }
    }

    pub(crate) fn deadline(&self) -> Option<Micros> {
        self.due.first().map(|&(due, _)| due)
    }
}
