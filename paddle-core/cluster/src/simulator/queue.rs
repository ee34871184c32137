//! What is going to happen, in the order of its time, and at the same time in the order in which it was scheduled.

use crate::timing::Micros;
use std::collections::{BTreeMap, VecDeque};

/// So many microseconds from now on have a place each. Most messages take no longer.
const NEAR: u64 = 1024;

/// So many things lie side by side.
const CHUNK: usize = 32;

/// A queue with its clock.
pub(super) struct Queue<T> {
    now: Micros,
    /// What is left of this microsecond.
    due: Line<T>,
    /// What comes within less than [`NEAR`], each microsecond at its remainder. Of a large cluster's messages hundreds come in the same
    /// one: where the next ones go is known without a search.
    near: Vec<Line<T>>,
    /// Which places of `near` have something, a bit for each.
    taken: [u64; NEAR as usize / 64],
    /// What comes later. It goes to `near` before anything else can be scheduled for its time, so the order stays.
    far: BTreeMap<Micros, Vec<T>>,
    /// Chunks that are empty. There are no more than what was in the queue at once has filled.
    spare: Vec<VecDeque<T>>,
}

/// Things in order, in chunks that never grow: a longer line does not move.
struct Line<T>(VecDeque<VecDeque<T>>);

impl<T> Line<T> {
    const fn new() -> Self {
        Self(VecDeque::new())
    }

    fn push(&mut self, thing: T, spare: &mut Vec<VecDeque<T>>) {
        match self.0.back_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push_back(thing),
            _ => {
                let mut chunk = spare.pop().unwrap_or_else(|| VecDeque::with_capacity(CHUNK));
                chunk.push_back(thing);
                self.0.push_back(chunk);
            }
        }
    }

    fn pop(&mut self, spare: &mut Vec<VecDeque<T>>) -> Option<T> {
        let first = self.0.front_mut()?;
        let thing = first.pop_front();
        if first.is_empty() {
            spare.extend(self.0.pop_front());
        }
        thing
    }
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            due: Line::new(),
            near: (0..NEAR).map(|_| Line::new()).collect(),
            taken: [0; NEAR as usize / 64],
            far: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// The time of what has happened last.
    pub(super) fn now(&self) -> Micros {
        self.now
    }

    pub(super) fn schedule(&mut self, delay: Micros, what: T) {
        match delay {
            0 => self.due.push(what, &mut self.spare),
            1..NEAR => self.place(self.now + delay, what),
            _ => self.far.entry(self.now + delay).or_default().push(what),
        }
    }

    /// Puts something at a time within less than [`NEAR`].
    fn place(&mut self, time: Micros, what: T) {
        let place = (time % NEAR) as usize;
        self.taken[place / 64] |= 1 << (place % 64);
        self.near[place].push(what, &mut self.spare);
    }

    /// The first time behind now that has something in `near`.
    fn next_near(&self) -> Option<Micros> {
        let words = self.taken.len() as u64;
        let from = self.now + 1;
        // The last one looks at the first word once more, at its bits before `from`.
        (0..=words).find_map(|k| {
            let first = from / 64 + k;
            let mut word = self.taken[(first % words) as usize];
            if k == 0 {
                word &= u64::MAX << (from % 64);
            }
            (word != 0).then(|| first * 64 + u64::from(word.trailing_zeros()))
        })
    }

    /// When something happens next.
    pub(super) fn next_time(&self) -> Option<Micros> {
        if !self.due.0.is_empty() {
            return Some(self.now);
        }
        // Whatever is near comes before all that is far.
        self.next_near().or_else(|| self.far.keys().next().copied())
    }

    /// What happens next. It is the time of it then.
    pub(super) fn next(&mut self) -> Option<T> {
        if self.due.0.is_empty() {
            self.advance(self.next_time()?);
        }
        self.due.pop(&mut self.spare)
    }

    /// Goes on to a time, before which there is nothing.
    fn advance(&mut self, time: Micros) {
        self.now = time;
        while let Some(far) = self.far.first_entry()
            && *far.key() < time + NEAR
        {
            let (time, things) = far.remove_entry();
            things.into_iter().for_each(|thing| self.place(time, thing));
        }
        let place = (time % NEAR) as usize;
        self.taken[place / 64] &= !(1 << (place % 64));
        // The line that is through is empty, and takes the place.
        std::mem::swap(&mut self.due, &mut self.near[place]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    /// Against the plain definition: the least of the pairs of time and number.
    #[test]
    fn things_happen_in_the_order_of_time_and_then_of_scheduling() {
        let (mut queue, mut plain) = (Queue::new(), std::collections::BTreeSet::new());
        let mut random = Random::new(3);
        for number in 0..200_000u64 {
            let delay = match random.below(8) {
                0 => 0,
                1 => NEAR - 2 + random.below(4),
                2 => random.below(100_000),
                3 => random.below(3 * NEAR),
                _ => random.below(400),
            };
            queue.schedule(delay, number);
            plain.insert((queue.now() + delay, number));
            // Now and then nearly nothing is left.
            let taken = if number % 4_000 < 3_000 { random.below(2) } else { random.below(6) };
            for _ in 0..taken {
                assert_eq!(queue.next_time(), plain.first().map(|&(time, _)| time));
                let next = plain.pop_first();
                assert_eq!(queue.next(), next.map(|(_, number)| number));
                assert!(next.is_none_or(|(time, _)| time == queue.now()));
            }
        }
        assert!(!plain.is_empty());
    }
}
