//! Sums of sparse gradients over the shards of a batch: rows of tables, by their numbers.

use std::ops::Add;

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::ops::{Op, Program};
use paddle_core::passes::shard::tree::{Joining, places};
use paddle_core::plan::{ExchangeError, Feed, HostSlice};
use paddle_core::program::DType;

use crate::element::Values;

/// The sum of the gradients of some rows of a table.
#[derive(Debug)]
pub(crate) struct RowSum {
    /// The numbers of the rows, ascending.
    pub(crate) ids: Vec<i64>,
    /// Their elements, one row behind the other.
    pub(crate) rows: Values,
    /// How many rows there are, and the elements of each.
    shape: [usize; 2],
}

impl RowSum {
    /// Without rows, of a table with so many elements in each.
    pub(crate) fn new(dtype: DType, width: usize) -> Self {
        RowSum { ids: Vec::new(), rows: Values::new(dtype), shape: [0, width] }
    }

    /// Rows of `width` elements, with ascending numbers.
    #[cfg(feature = "cluster")]
    pub(crate) fn of(ids: Vec<i64>, rows: Values, width: usize) -> Self {
        let shape = [ids.len(), width];
        RowSum { ids, rows, shape }
    }

    /// Becomes a copy. False if these are not the rows of so many numbers.
    fn set(&mut self, ids: &[i64], rows: HostSlice<'_>) -> Result<bool, OutOfMemory> {
        self.ids.clear();
        self.ids.try_extend_from_slice(ids)?;
        self.shape[0] = ids.len();
        self.rows.clear();
        match (&mut self.rows, rows) {
            (Values::F32(own), HostSlice::F32(rows)) => own.try_extend_from_slice(rows)?,
            (Values::F64(own), HostSlice::F64(rows)) => own.try_extend_from_slice(rows)?,
            _ => return Ok(false),
        }
        Ok(rows.len() == ids.len() * self.shape[1])
    }

    /// Becomes the sum of two. A row that only one of them has is that one's.
    pub(crate) fn set_sum(&mut self, left: &RowSum, right: &RowSum) -> Result<(), OutOfMemory> {
        let RowSum { ids, rows, shape } = self;
        let numbers = [&left.ids[..], &right.ids];
        match (rows, &left.rows, &right.rows) {
            (Values::F32(sum), Values::F32(left), Values::F32(right)) => {
                add(ids, sum, numbers, [left, right], shape[1])?;
            }
            (Values::F64(sum), Values::F64(left), Values::F64(right)) => {
                add(ids, sum, numbers, [left, right], shape[1])?;
            }
            _ => {}
        }
        shape[0] = ids.len();
        Ok(())
    }

    /// What is fed to an update: the numbers, and the elements.
    pub(crate) fn feeds(&self) -> [Feed<'_>; 2] {
        let ids = Feed { values: HostSlice::I64(&self.ids), shape: &self.shape[..1], offsets: &[] };
        [ids, Feed { values: self.rows.as_slice(), shape: &self.shape, offsets: &[] }]
    }
}

/// Adds up the rows of two ascending lists of numbers.
fn add<T: Copy + Add<Output = T>>(
    ids: &mut Vec<i64>,
    sum: &mut Vec<T>,
    [left, right]: [&[i64]; 2],
    [left_rows, right_rows]: [&[T]; 2],
    width: usize,
) -> Result<(), OutOfMemory> {
    ids.clear();
    sum.clear();
    ids.try_grow(left.len() + right.len())?;
    sum.try_grow(left_rows.len() + right_rows.len())?;
    let (mut i, mut j) = (0, 0);
    loop {
        let of_left = left_rows.get(i * width..(i + 1) * width);
        let of_right = right_rows.get(j * width..(j + 1) * width);
        let (id, first) = match (left.get(i), right.get(j)) {
            (Some(&a), Some(&b)) if a == b => {
                let both = of_left.into_iter().flatten().zip(of_right.into_iter().flatten());
                sum.extend(both.map(|(left, right)| *left + *right));
                ids.push(a);
                (i, j) = (i + 1, j + 1);
                continue;
            }
            (Some(&a), Some(&b)) if b < a => (b, false),
            (Some(&a), _) => (a, true),
            (None, Some(&b)) => (b, false),
            (None, None) => return Ok(()),
        };
        ids.push(id);
        sum.extend_from_slice(if first { of_left } else { of_right }.unwrap_or_default());
        match first {
            true => i += 1,
            false => j += 1,
        }
    }
}

/// The sums of a table's rows over subtrees of shards, as the states of a dense gradient are. They keep their memory.
#[derive(Debug)]
struct RowSums {
    /// The sums of complete subtrees that wait for their neighbours.
    waiting: Vec<RowSum>,
    /// The sum that was made last.
    sum: RowSum,
    other: RowSum,
}

impl RowSums {
    /// Adds the rows of the shard `at` of `count`. Behind the last one the sum is that of all.
    fn join(
        &mut self,
        [at, count]: [usize; 2],
        ids: &[i64],
        rows: HostSlice<'_>,
    ) -> Result<(), ExchangeError> {
        let RowSums { waiting, sum, other } = self;
        let failed =
            |error: OutOfMemory| ExchangeError::from(error.wanted_for("sums of the rows of a table"));
        if !sum.set(ids, rows).map_err(failed)? {
            return Err(ExchangeError::Failed { message: "a gradient has rows of another size".to_string() });
        }
        let Joining { added, kept } = Joining::of(at, count);
        for place in added.rev() {
            other.set_sum(&waiting[place], sum).map_err(failed)?;
            std::mem::swap(sum, other);
        }
        if let Some(place) = kept {
            std::mem::swap(sum, &mut waiting[place]);
        }
        Ok(())
    }
}

/// The rows that a program of shards sends, added up in the order of the tree.
#[derive(Debug, Default)]
pub(crate) struct SentRows {
    /// By piece.
    tables: Vec<(String, RowSums)>,
    /// The shard that is computed, and how many there are.
    at: [usize; 2],
}

impl SentRows {
    /// Of what a program sends.
    pub(crate) fn of(program: &Program) -> Self {
        let table = |(piece, dtype, width): (&str, DType, usize)| {
            let new = || RowSum::new(dtype, width);
            let waiting = (0..places(program.shards())).map(|_| new()).collect();
            (piece.to_string(), RowSums { waiting, sum: new(), other: new() })
        };
        let sent = program.block(Program::GLOBAL).ops.iter().filter_map(|operator| {
            let (Op::SendRows(op), Some(&rows)) = (&operator.op, operator.inputs.first()) else {
                return None;
            };
            let ty = program.ty(rows);
            let width = ty.dims.last().and_then(|width| width.constant()).unwrap_or(0);
            Some((&op.piece[..], ty.dtype, width as usize))
        });
        SentRows { tables: sent.map(table).collect(), at: [0, 1] }
    }

    /// The shard `at` of `count` is computed next.
    pub(crate) fn begin(&mut self, at: usize, count: usize) {
        self.at = [at, count];
    }

    /// Adds rows that were sent. Returns the sum, if the shard was the last.
    pub(crate) fn add(
        &mut self,
        piece: &str,
        ids: &[i64],
        rows: HostSlice<'_>,
    ) -> Result<Option<&RowSum>, ExchangeError> {
        let Some((_, sums)) = self.tables.iter_mut().find(|(name, _)| name == piece) else {
            return Err(ExchangeError::Failed { message: format!("nobody takes the rows of `{piece}`") });
        };
        sums.join(self.at, ids, rows)?;
        Ok((self.at[0] + 1 == self.at[1]).then_some(&sums.sum))
    }

    /// The sum of a table that was made last.
    pub(crate) fn sum(&self, piece: &str) -> Option<&RowSum> {
        self.tables.iter().find(|(name, _)| name == piece).map(|(_, sums)| &sums.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum over the tree of shards that have, of a table of `1 × 40`, the row of their number and row 39.
    #[test]
    fn rows_of_shards_are_added_up_in_the_order_of_the_tree() {
        fn tree(terms: &[f32]) -> f32 {
            match terms {
                [term] => *term,
                _ => {
                    let (left, right) = terms.split_at(1 << (terms.len() - 1).ilog2());
                    tree(left) + tree(right)
                }
            }
        }
        let new = || RowSum::new(DType::F32, 1);
        let mut sums = RowSums { waiting: (0..5).map(|_| new()).collect(), sum: new(), other: new() };
        for count in 1..33 {
            let terms: Vec<f32> = (0..count).map(|k| 1e7 / (k * k + 1) as f32).collect();
            for (at, &term) in terms.iter().enumerate() {
                sums.join([at, count], &[at as i64, 39], HostSlice::F32(&[1.0, term])).unwrap();
            }
            let mut expected = vec![1.0; count];
            expected.push(tree(&terms));
            let Values::F32(rows) = &sums.sum.rows else { panic!("they are of type f32") };
            assert_eq!(*rows, expected, "{count} shards");
            assert_eq!(sums.sum.ids, (0..count as i64).chain([39]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_shard_may_have_no_rows() {
        let new = || RowSum::new(DType::F64, 2);
        let mut sums = RowSums { waiting: vec![new()], sum: new(), other: new() };
        sums.join([0, 2], &[3], HostSlice::F64(&[0.5, 1.5])).unwrap();
        sums.join([1, 2], &[], HostSlice::F64(&[])).unwrap();
        assert_eq!((&sums.sum.ids[..], sums.sum.feeds()[1].shape), (&[3][..], &[1, 2][..]));
        sums.join([0, 1], &[], HostSlice::F64(&[])).unwrap();
        assert_eq!(sums.sum.feeds()[1].shape, [0, 2]);
        assert!(sums.join([0, 1], &[3], HostSlice::F64(&[0.5])).is_err());
    }
}
