//! Messages that are sent until they are answered.

use crate::machine::Effect;
use crate::message::{Message, To};
use crate::timing::{Micros, Timing};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::RangeBounds;

/// A well mixed number made of another one (splitmix64).
pub(crate) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How long is waited for an answer.
#[derive(Clone, Debug)]
struct Pauses {
    timing: Timing,
    /// Spreads what many machines send again at once.
    seed: u64,
}

impl Pauses {
    /// The first pause.
    fn first(&self) -> Micros {
        self.timing.retry.max(1)
    }

    /// The pause behind another one.
    fn after(&self, pause: Micros) -> Micros {
        pause.saturating_mul(2).min(self.timing.retry_limit.max(1))
    }

    /// When a pause ends. A quarter of it is random.
    fn end(&mut self, now: Micros, pause: Micros) -> Micros {
        self.seed = mix(self.seed);
        now.saturating_add(pause).saturating_add(self.seed % (pause / 4 + 1))
    }
}

/// Messages without an answer, each under a key.
#[derive(Clone, Debug)]
pub(crate) struct Outbox<K, P> {
    pauses: Pauses,
    /// Where the message of a key is in `slots`.
    places: BTreeMap<K, u32>,
    slots: Vec<Slot<K, P>>,
    free: Vec<u32>,
    /// The times of all that waits. What was answered since, or put off, is left in here until it would be the first: taking it out
    /// from the middle would cost more than the answer itself.
    due: BinaryHeap<Reverse<(Micros, K, u32)>>,
}

#[derive(Clone, Debug)]
struct Slot<K, P> {
    key: K,
    due: Micros,
    pause: Micros,
    /// None if the slot is free.
    message: Option<(To, Message<P>)>,
}

impl<K: Ord + Copy, P: Clone> Outbox<K, P> {
    pub(crate) fn new(timing: Timing, seed: u64) -> Self {
        Self {
            pauses: Pauses { timing, seed },
            places: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
        }
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
        let pause = self.pauses.first();
        let due = self.pauses.end(now, pause);
        let slot = Slot { key, due, pause, message: Some((to, message)) };
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = slot;
                place
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("fewer messages wait than there are numbers")
            }
        };
        self.places.insert(key, place);
        self.due.push(Reverse((due, key, place)));
    }

    /// Whether a message was waiting under the key. It is not sent again.
    pub(crate) fn acknowledge(&mut self, key: &K) -> bool {
        let Some(place) = self.places.remove(key) else { return false };
        self.slots[place as usize].message = None;
        self.free.push(place);
        self.forget_what_is_not_due();
        true
    }

    /// Drops the messages of these keys.
    pub(crate) fn drop_all(&mut self, keys: impl RangeBounds<K>) {
        let dropped: Vec<K> = self.places.range(keys).map(|(&key, _)| key).collect();
        for key in dropped {
            self.acknowledge(&key);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.slots.clear();
        self.free.clear();
        self.due.clear();
    }

    /// Whether a message waits under one of these keys.
    pub(crate) fn has_any(&self, keys: impl RangeBounds<K>) -> bool {
        self.places.range(keys).next().is_some()
    }

    /// The first time in `due` is one at which something is sent, so it is the deadline.
    fn forget_what_is_not_due(&mut self) {
        if self.places.is_empty() {
            return self.clear();
        }
        while let Some(&Reverse((due, key, place))) = self.due.peek()
            && !self.is_due(due, key, place)
        {
            self.due.pop();
        }
    }

    fn is_due(&self, due: Micros, key: K, place: u32) -> bool {
        let slot = &self.slots[place as usize];
        slot.message.is_some() && slot.due == due && slot.key == key
    }

    /// Sends again what is due.
    pub(crate) fn tick(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        while let Some(&Reverse((due, key, place))) = self.due.peek()
            && due <= now
        {
            self.due.pop();
            let slot = &mut self.slots[place as usize];
            if let Some((to, message)) = &slot.message {
                effects.push(Effect::Send { to: *to, message: message.clone() });
                slot.pause = self.pauses.after(slot.pause);
                slot.due = self.pauses.end(now, slot.pause);
                self.due.push(Reverse((slot.due, key, place)));
            }
            self.forget_what_is_not_due();
        }
    }

    /// Sends nothing before this time.
    pub(crate) fn postpone(&mut self, until: Micros) {
        while let Some(&Reverse((due, key, place))) = self.due.peek()
            && due < until
        {
            self.due.pop();
            self.slots[place as usize].due = until;
            self.due.push(Reverse((until, key, place)));
            self.forget_what_is_not_due();
        }
    }

    pub(crate) fn deadline(&self) -> Option<Micros> {
        self.due.peek().map(|&Reverse((due, ..))| due)
    }
}

/// When questions without an answer are asked again. They are numbered from 0, and all are asked at once.
#[derive(Clone, Debug)]
pub(crate) struct Questions {
    pauses: Pauses,
    /// The pause of each.
    pause: Vec<Micros>,
    /// How many have no answer.
    open: usize,
    /// A binary tree in one array: each place has the earliest time of the two below it, at `2 i` and `2 i + 1`. The second half has that of
    /// each question, [`NEVER`] if it is answered. Most changes leave the earliest of a few as it is, and go no further up.
    due: Vec<Micros>,
}

const NEVER: Micros = Micros::MAX;

impl Questions {
    /// So many that were asked right now.
    pub(crate) fn new(now: Micros, timing: Timing, seed: u64, count: usize) -> Self {
        let mut pauses = Pauses { timing, seed };
        let first = pauses.first();
        let leaves = count.next_power_of_two();
        let mut due = vec![NEVER; 2 * leaves];
        for leaf in &mut due[leaves..leaves + count] {
            *leaf = pauses.end(now, first).min(NEVER - 1);
        }
        for place in (1..leaves).rev() {
            due[place] = due[2 * place].min(due[2 * place + 1]);
        }
        Self { pauses, pause: vec![first; count], open: count, due }
    }

    fn leaf(&self, number: usize) -> usize {
        self.due.len() / 2 + number
    }

    fn set(&mut self, number: usize, due: Micros) {
        let mut place = self.leaf(number);
        self.due[place] = due;
        while place > 1 {
            place /= 2;
            let earliest = self.due[2 * place].min(self.due[2 * place + 1]);
            if self.due[place] == earliest {
                return;
            }
            self.due[place] = earliest;
        }
    }

    /// The question that is asked next; of several at the same time, the first.
    fn next(&self) -> usize {
        let mut place = 1;
        while place < self.due.len() / 2 {
            place = if self.due[2 * place] == self.due[place] { 2 * place } else { 2 * place + 1 };
        }
        place - self.due.len() / 2
    }

    /// A question is answered, and not asked again.
    pub(crate) fn answered(&mut self, number: usize) {
        if self.due[self.leaf(number)] != NEVER {
            self.open -= 1;
            self.set(number, NEVER);
        }
    }

    pub(crate) fn all_are_answered(&self) -> bool {
        self.open == 0
    }

    /// Asks again only when so long nothing has come as if the question had just been asked.
    pub(crate) fn defer(&mut self, now: Micros, number: usize) {
        let pause = self.pauses.first();
        let due = self.pauses.end(now, pause).min(NEVER - 1);
        if self.due[self.leaf(number)] != NEVER {
            self.pause[number] = pause;
            self.set(number, due);
        }
    }

    /// Calls `ask` with each question that is due.
    pub(crate) fn tick(&mut self, now: Micros, mut ask: impl FnMut(usize)) {
        while self.deadline().is_some_and(|due| due <= now) {
            let number = self.next();
            ask(number);
            self.pause[number] = self.pauses.after(self.pause[number]);
            let due = self.pauses.end(now, self.pause[number]).min(NEVER - 1);
            self.set(number, due);
        }
    }

    /// Asks nothing before this time.
    pub(crate) fn postpone(&mut self, until: Micros) {
        let until = until.min(NEVER - 1);
        while self.deadline().is_some_and(|due| due < until) {
            self.set(self.next(), until);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Micros> {
        Some(self.due[1]).filter(|&due| due != NEVER)
    }
}
