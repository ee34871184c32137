//! What a launch gives a card: its words, and what is known of it if it fails.

use std::sync::Arc;

use paddle_core::plan::{Fault, KernelError, Launch, Location, Memory};

use super::form::{Form, Word};
use super::kernel::{Evidence, Explain, Kernel, product};

/// The bytes of a word.
pub(super) const WORD: usize = 4;
/// A fault: whether there is one, the number of its launch, and the least position that failed.
pub(super) const NO_FAULT: [u32; 4] = [0, 0, u32::MAX, 0];
/// The bytes of a fault.
pub(super) const FAULT_BYTES: usize = size_of_val(&NO_FAULT);

/// Where an operand is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Memory(Memory),
    Scratch(usize),
}

impl Place {
    pub(super) fn of(operand: usize, launch: Launch<'_>) -> Place {
        match operand.checked_sub(launch.locations.len()) {
            None => Place::Memory(launch.locations[operand].memory),
            Some(scratch) => Place::Scratch(scratch),
        }
    }
}

/// Where an operand begins in its memory, in bytes.
pub(super) fn offset(operand: usize, launch: Launch<'_>) -> usize {
    launch.locations.get(operand).map_or(0, |location| location.offset)
}

/// Writes the words of a launch.
pub(super) fn put_words(words: &mut [u32], form: &Form, launch: Launch<'_>) {
    let mut set = |word: usize, value: usize| {
        words[word] = u32::try_from(value).unwrap_or(u32::MAX);
    };
    set(0, launch.number as usize);
    set(Word::Zero.place(form), 0);
    set(Word::SeedLow.place(form), (launch.seed as u32) as usize);
    set(Word::SeedHigh.place(form), (launch.seed >> 32) as usize);
    for (place, &operand) in form.operands.iter().enumerate() {
        set(Word::Offset(place as u32).place(form), offset(operand, launch) / WORD);
    }
    for (at, extents) in form.sizes.iter().enumerate() {
        set(Word::Size(at as u32).place(form), product(extents, launch.sizes));
    }
}

/// A launch that may fail: its number, its sizes, and where its operands are. What is read for its shape only is nowhere.
struct Blamed<B> {
    launch: u32,
    sizes: Vec<usize>,
    operands: Vec<Option<(B, usize)>>,
    explain: Arc<Explain>,
}

/// The launches of a queue that may fail, since the host last looked. `B` is a handle of a memory.
pub(super) struct Suspects<B>(Vec<Blamed<B>>);

impl<B> Suspects<B> {
    pub(super) fn new() -> Self {
        Suspects(Vec::new())
    }

    /// Remembers a launch, if it may fail.
    pub(super) fn add(&mut self, kernel: &Kernel, launch: Launch<'_>, memory: impl Fn(Memory) -> B) {
        let Some(explain) = &kernel.explain else { return };
        let used = |operand: usize| kernel.stages.iter().any(|stage| stage.form.operands.contains(&operand));
        let place = |(operand, location): (usize, &Location)| {
            used(operand).then(|| (memory(location.memory), location.offset))
        };
        self.0.push(Blamed {
            launch: launch.number,
            sizes: launch.sizes.to_vec(),
            operands: launch.locations.iter().enumerate().map(place).collect(),
            explain: explain.clone(),
        });
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The error behind the words of a fault, if there is one. `read` gives the whole number of 64 bits at a byte offset of a memory.
    pub(super) fn find(&self, fault: &[u32], read: impl Fn(&B, usize) -> i64) -> Option<Fault> {
        let &[1, launch, position, _] = fault else { return None };
        let error = match self.0.iter().find(|blamed| blamed.launch == launch) {
            Some(blamed) => {
                let number = |operand: usize, at: usize| {
                    let (memory, offset) =
                        blamed.operands[operand].as_ref().expect("an operand that the kernel reads");
                    read(memory, offset + at * size_of::<i64>())
                };
                (blamed.explain)(&Evidence { sizes: &blamed.sizes, number: &number }, position as usize)
            }
            None => KernelError::Value { message: "an element is out of range".into() },
        };
        Some(Fault { launch, error })
    }
}
