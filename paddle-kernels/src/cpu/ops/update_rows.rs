//! `update_rows`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::ops::{MOST_STATES, Power, UpdateRows};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use super::lookup_table::check;
use super::update::{Elements, MOST_CHANGES, rule_of, take_powers};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::{Operands, Signature};
use crate::cpu::pieces::rows;

/// Elements that one thread updates at a time.
const PIECE: usize = 1 << 14;
/// The number of elements of a row's gradient that are summed at a time.
const BLOCK: usize = 256;
/// The number of slots in front of the states: parameter, gradient, learning rate, ids.
const FIRST_STATE: usize = 4;

struct RowsUpdate<T> {
    rule: Box<dyn Elements<T>>,
    powers: Vec<Power>,
    padding_idx: i64,
    lookups: usize,
    entries: Extent,
    size: Extent,
    /// The rows that are updated. They keep their memory from launch to launch.
    looked_up: Mutex<LookedUp>,
}

/// The rows that were looked up.
#[derive(Default)]
struct LookedUp {
    /// Each id with its lookup and its position there, sorted.
    places: Vec<(usize, usize, usize)>,
    /// The ids, each once.
    ids: Vec<usize>,
    /// The start of each id's places, then the end of all.
    starts: Vec<usize>,
}

impl LookedUp {
    /// Reserves memory for `ids` ids.
    fn reserve(&mut self, ids: usize) -> Result<(), OutOfMemory> {
        self.places.clear();
        self.ids.clear();
        self.starts.clear();
        self.places.try_grow(ids)?;
        self.ids.try_grow(ids)?;
        self.starts.try_grow(ids + 1)
    }

    /// Collects the rows of some lookups. Memory has to be reserved.
    fn set<'a>(&mut self, lookups: impl Iterator<Item = &'a [i64]>, padding_idx: i64) {
        self.places.clear();
        for (lookup, ids) in lookups.enumerate() {
            let places = ids.iter().enumerate().filter(|(_, id)| **id != padding_idx);
            self.places.extend(places.map(|(place, &id)| (id as usize, lookup, place)));
        }
        self.places.sort_unstable();
        self.ids.clear();
        self.starts.clear();
        for (at, &(id, ..)) in self.places.iter().enumerate() {
            if self.ids.last() != Some(&id) {
                self.ids.push(id);
                self.starts.push(at);
            }
        }
        self.starts.push(self.places.len());
    }
}

impl Compile for UpdateRows {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let inputs = single.inputs()?;
        let lookups = self.lookups(inputs.len()).flatten();
        let reads = std::iter::once(2).chain(lookups).map(|k| inputs[k].clone()).collect();
        let mut writes = vec![single.input(0)?];
        let states = FIRST_STATE..FIRST_STATE + self.update.states().len() + self.update.powers().len();
        for k in states {
            writes.push(single.input(k)?);
        }
        let table = &writes[0].1;
        let [entries, size] = table.shape[..] else { return single.refuse("of such a table") };
        let body: Box<dyn Body> = with_float!(single, table.dtype, T => Box::new(RowsUpdate {
            rule: rule_of::<T>(&self.update),
            powers: self.update.powers(),
            padding_idx: self.padding_idx,
            lookups: self.lookups(inputs.len()).count(),
            entries,
            size,
            looked_up: Mutex::default(),
        }));
        Ok((Signature { reads, writes, in_place: false }, body))
    }

    fn gathers(&self) -> bool {
        true
    }
}

impl<T: Float> RowsUpdate<T> {
    fn looked_up(&self) -> MutexGuard<'_, LookedUp> {
        self.looked_up.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Float> Body for RowsUpdate<T> {
    fn reserve(&self, signature: &Signature, sizes: &[usize]) -> Result<(), OutOfMemory> {
        let ids = (0..self.lookups).map(|lookup| signature.reads[2 + 2 * lookup].1.elements(sizes));
        self.looked_up().reserve(ids.sum())
    }

    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (entries, size) = (self.entries.get(operands.sizes()), self.size.get(operands.sizes()));
        let (reads, writes) = operands.split();
        let (gradient, ids) =
            (|lookup| reads.get::<T>(1 + 2 * lookup), |lookup| reads.get::<i64>(2 + 2 * lookup));
        for lookup in 0..self.lookups {
            check(ids(lookup), entries)?;
        }
        let mut looked_up = self.looked_up();
        looked_up.reserve((0..self.lookups).map(|lookup| ids(lookup).len()).sum())?;
        looked_up.set((0..self.lookups).map(ids), self.padding_idx);
        let rate = reads.get::<T>(0)[0];
        let mut changes = writes.at_most::<T, MOST_CHANGES>();
        // Rules that keep rows advance all of their powers.
        let (once, all) = take_powers(rate, &self.powers, self.rule.states(), &|_| T::of(1.0), &mut changes);
        let LookedUp { places, ids, starts } = &*looked_up;
        rows(&machine.team, all, (ids, size), PIECE / size.max(1), &|at, mut all| {
            let places = &places[starts[at]..starts[at + 1]];
            for first in (0..size).step_by(BLOCK) {
                let count = BLOCK.min(size - first);
                let mut sums = [T::ZERO; BLOCK];
                let sums = &mut sums[..count];
                // The gradients of each lookup are summed by themselves, as in the gradient of the whole table.
                let mut lookups = places.chunk_by(|(_, a, _), (_, b, _)| a == b);
                let add = |places: &[(usize, usize, usize)], sums: &mut [T]| {
                    for &(_, lookup, place) in places {
                        let row = &gradient(lookup)[place * size + first..][..count];
                        sums.iter_mut().zip(row).for_each(|(sum, term)| *sum += *term);
                    }
                };
                lookups.next().into_iter().for_each(|places| add(places, sums));
                for places in lookups {
                    let mut of_lookup = [T::ZERO; BLOCK];
                    add(places, &mut of_lookup[..count]);
                    sums.iter_mut().zip(&of_lookup).for_each(|(sum, term)| *sum += *term);
                }
                let [parameter, states @ ..] = &mut all;
                let states: [&mut [T]; MOST_STATES] =
                    states.each_mut().map(|state| state.get_mut(first..first + count).unwrap_or_default());
                self.rule.sweep(machine.isa, once, &mut parameter[first..][..count], sums, states);
            }
        });
        Ok(())
    }
}
