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

    /// The pause after so many others.
    fn after_tries(&self, tries: u8) -> Micros {
        match tries {
            0 => self.first(),
            _ => self.first().saturating_mul(1 << tries.min(63)).min(self.timing.retry_limit.max(1)),
        }
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
    /// How often each was asked again since an answer was near.
    tries: Vec<u8>,
    /// How many have no answer.
    open: usize,
    /// A tree in one array. First come the times of the questions, [`NEVER`] if one is answered; behind them the earliest of each
    /// [`WIDTH`] of them, then the earliest of each of these, and so on to a single group. Most changes leave the earliest of a few as it is,
    /// and go no further.
    due: Vec<Micros>,
    /// The earliest of all, which is asked for all the time.
    first: Micros,
}

const NEVER: Micros = Micros::MAX;

/// So many times lie next to each other in memory.
const WIDTH: usize = 8;

/// The length of a row of the tree with so many times: its groups are full. The last row is one group.
const fn row(times: usize) -> usize {
    if times == 0 { WIDTH } else { times.next_multiple_of(WIDTH) }
}

impl Questions {
    /// So many that were asked right now.
    pub(crate) fn new(now: Micros, timing: Timing, seed: u64, count: usize) -> Self {
        let mut pauses = Pauses { timing, seed };
        let first = pauses.first();
        let due = (0..count).map(|_| pauses.end(now, first).min(NEVER - 1)).collect();
        let mut questions = Self { pauses, tries: vec![0; count], open: count, due, first: NEVER };
        questions.grow_tree();
        questions
    }

    /// Makes the tree above the times of the questions.
    fn grow_tree(&mut self) {
        self.due.truncate(self.tries.len());
        let (mut start, mut length) = (0, row(self.tries.len()));
        loop {
            self.due.resize(start + length, NEVER);
            if length == WIDTH {
                self.first = self.earliest(start);
                return;
            }
            for group in (start..start + length).step_by(WIDTH) {
                self.due.push(self.earliest(group));
            }
            (start, length) = (start + length, row(length / WIDTH));
        }
    }

    /// The earliest time of a group.
    fn earliest(&self, group: usize) -> Micros {
        self.due[group..group + WIDTH].iter().copied().min().unwrap_or(NEVER)
    }

    fn set(&mut self, number: usize, due: Micros) {
        self.due[number] = due;
        let (mut start, mut length, mut place) = (0, row(self.tries.len()), number);
        loop {
            let earliest = self.earliest(start + place / WIDTH * WIDTH);
            if length == WIDTH {
                self.first = earliest;
                return;
            }
            (start, length, place) = (start + length, row(length / WIDTH), place / WIDTH);
            if self.due[start + place] == earliest {
                return;
            }
            self.due[start + place] = earliest;
        }
    }

    /// A question is answered, and not asked again.
    pub(crate) fn answered(&mut self, number: usize) {
        if self.due[number] != NEVER {
            self.open -= 1;
            self.set(number, NEVER);
        }
    }

    pub(crate) fn all_are_answered(&self) -> bool {
        self.open == 0
    }

    /// Asks again only when so long nothing has come as if the question had just been asked.
    pub(crate) fn defer(&mut self, now: Micros, number: usize) {
        let due = self.pauses.end(now, self.pauses.first()).min(NEVER - 1);
        if self.due[number] != NEVER {
            self.tries[number] = 0;
            self.set(number, due);
        }
    }

    /// Calls `ask` with each question that is due, in the order of their times.
    pub(crate) fn tick(&mut self, now: Micros, mut ask: impl FnMut(usize)) {
        if self.deadline().is_none_or(|due| now < due) {
            return;
        }
        let questions = self.due[..self.tries.len()].iter().copied().zip(0..);
        let mut over: Vec<(Micros, usize)> = questions.filter(|&(due, _)| due <= now).collect();
        over.sort_unstable();
        for (_, number) in over {
            ask(number);
            self.tries[number] = self.tries[number].saturating_add(1);
            let due = self.pauses.end(now, self.pauses.after_tries(self.tries[number])).min(NEVER - 1);
            self.set(number, due);
        }
    }

    /// Asks nothing before this time.
    pub(crate) fn postpone(&mut self, until: Micros) {
        if self.deadline().is_none_or(|due| until <= due) {
            return;
        }
        for due in &mut self.due[..self.tries.len()] {
            *due = until.min(NEVER - 1).max(*due);
        }
        self.grow_tree();
    }

    pub(crate) fn deadline(&self) -> Option<Micros> {
        Some(self.first).filter(|&first| first != NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Body, Epoch, Incarnation, Role, Sender};

    fn message(number: u64) -> Message<u64> {
        let from = Sender { role: Role::Master, rank: 0, process: 0, incarnation: Incarnation::default() };
        Message { epoch: Epoch::default(), from, body: Body::Recorded(number) }
    }

    fn sent(effects: &[Effect<u64>]) -> Vec<usize> {
        let number = |effect: &Effect<u64>| match effect {
            Effect::Send { message: Message { body: Body::Recorded(number), .. }, .. } => *number as usize,
            other => panic!("{other:?}"),
        };
        effects.iter().map(number).collect()
    }

    /// Against each other, as they are two ways to keep the same.
    #[test]
    fn questions_are_asked_again_as_messages_of_an_outbox_are() {
        let timing = Timing { retry: 100, retry_limit: 700, ..Timing::default() };
        for count in [1, 7, 8, 9, 64, 65, 100, 513] {
            let (mut outbox, mut random) = (Outbox::new(timing, 5), count as u64);
            let mut below = |limit: usize| {
                random = mix(random);
                (random % limit as u64) as usize
            };
            let mut questions = Questions::new(0, timing, 5, count);
            for number in 0..count {
                outbox.post(0, number, To::Master, message(number as u64), &mut Vec::new());
            }
            for now in 0..20_000 {
                if below(20) == 0 {
                    let number = below(count);
                    questions.answered(number);
                    outbox.acknowledge(&number);
                }
                if below(5_000) == 0 {
                    questions.postpone(now + 300);
                    outbox.postpone(now + 300);
                }
                assert_eq!(questions.deadline(), outbox.deadline());
                assert_eq!(questions.all_are_answered(), !outbox.has_any(..));
                let (mut asked, mut effects) = (Vec::new(), Vec::new());
                questions.tick(now, |number| asked.push(number));
                outbox.tick(now, &mut effects);
                assert_eq!(asked, sent(&effects));
            }
        }
    }

    #[test]
    fn an_answer_that_is_near_begins_the_first_pause_again() {
        let timing = Timing { retry: 100, retry_limit: 100_000, ..Timing::default() };
        let mut questions = Questions::new(0, timing, 5, 2);
        questions.answered(0);
        for _ in 0..5 {
            let due = questions.deadline().unwrap();
            questions.tick(due, |number| assert_eq!(number, 1));
        }
        questions.defer(1_000_000, 1);
        assert!((1_000_100..=1_000_125).contains(&questions.deadline().unwrap()));
        questions.answered(1);
        questions.defer(1_000_000, 1);
        assert_eq!(questions.deadline(), None);
    }
}
