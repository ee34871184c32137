//! Merging: the rows of a sparse gradient, each id once.

use std::ops::Add;

use crate::memory::{OutOfMemory, TryGrow};

/// An element of a gradient.
pub(super) trait Summand: Copy + Default + Add<Output = Self> {}

impl Summand for f32 {}
impl Summand for f64 {}

/// What merges rows of either element type. It keeps its memory from run to run.
#[derive(Debug, Default)]
pub(super) struct Mergers {
    pub(super) f32: Merging<f32>,
    pub(super) f64: Merging<f64>,
}

/// The ids of a lookup, and the gradients of the rows that were looked up, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Lookup<T> {
    pub(super) ids: Vec<i64>,
    pub(super) rows: Vec<T>,
}

/// The lookups of a table, and what is made of them.
#[derive(Debug, Default)]
pub(super) struct Merging<T> {
    pub(super) lookups: Vec<Lookup<T>>,
    /// Each wanted id with its lookup and its place there, sorted.
    places: Vec<(i64, usize, usize)>,
    /// The ids, ascending.
    pub(super) ids: Vec<i64>,
    /// Their rows.
    pub(super) rows: Vec<T>,
    /// The sum of a row over the places of one lookup.
    of_lookup: Vec<T>,
}

impl<T: Summand> Merging<T> {
    /// Adds up the rows of `width` elements whose ids are in `begin..end`, and not `padding`: over the places of a lookup in their
    /// order, and then over the lookups in theirs, as in the gradient of the whole table. Ids are counted from `begin` then.
    pub(super) fn merge(&mut self, width: usize, [begin, end, padding]: [i64; 3]) -> Result<(), OutOfMemory> {
        let Merging { lookups, places, ids, rows, of_lookup } = self;
        places.clear();
        places.try_grow(lookups.iter().map(|lookup| lookup.ids.len()).sum())?;
        for (number, lookup) in lookups.iter().enumerate() {
            let wanted = lookup.ids.iter().enumerate();
            let wanted = wanted.filter(|(_, id)| (begin..end).contains(id) && **id != padding);
            places.extend(wanted.map(|(place, &id)| (id, number, place)));
        }
        places.sort_unstable();
        let count = places.chunk_by(|a, b| a.0 == b.0).count();
        ids.clear();
        ids.try_grow(count)?;
        rows.try_resize(count * width, T::default())?;
        of_lookup.try_resize(width, T::default())?;
        for (k, of_id) in places.chunk_by(|a, b| a.0 == b.0).enumerate() {
            ids.push(of_id[0].0 - begin);
            let sum = &mut rows[k * width..][..width];
            let mut by_lookup = of_id.chunk_by(|a, b| a.1 == b.1);
            by_lookup.next().into_iter().for_each(|places| add_up(lookups, places, sum));
            for places in by_lookup {
                add_up(lookups, places, of_lookup);
                sum.iter_mut().zip(&*of_lookup).for_each(|(sum, term)| *sum = *sum + *term);
            }
        }
        Ok(())
    }
}

/// The sum of a row over its places in one lookup.
fn add_up<T: Summand>(lookups: &[Lookup<T>], places: &[(i64, usize, usize)], sum: &mut [T]) {
    for (k, &(_, lookup, place)) in places.iter().enumerate() {
        let row = &lookups[lookup].rows[place * sum.len()..][..sum.len()];
        match k {
            0 => sum.copy_from_slice(row),
            _ => sum.iter_mut().zip(row).for_each(|(sum, term)| *sum = *sum + *term),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_up_by_their_ids_in_the_order_of_the_lookups() {
        let lookup = |ids: &[i64], rows: &[f32]| Lookup { ids: ids.to_vec(), rows: rows.to_vec() };
        let first = lookup(&[5, 2, 5], &[1e8, 1.0, 1.0, 2.0, -1e8, 4.0]);
        let second = lookup(&[5, 7], &[0.25, 8.0, 3.0, 16.0]);
        let mut merging = Merging { lookups: vec![first, second], ..Merging::default() };
        merging.merge(2, [4, 8, -1]).unwrap();
        // Id 2 is on another server. Ids are counted from 4.
        assert_eq!(merging.ids, [1, 3]);
        assert_eq!(merging.rows, [(1e8 + -1e8) + 0.25, (1.0 + 4.0) + 8.0, 3.0, 16.0]);
        merging.merge(2, [4, 8, 5]).unwrap();
        assert_eq!((&merging.ids[..], &merging.rows[..]), (&[3][..], &[3.0, 16.0][..]));
        merging.merge(2, [0, 1, -1]).unwrap();
        assert!(merging.ids.is_empty() && merging.rows.is_empty());
    }
}
