//! Blocks: runs of rows of a parameter, whose borders depend on its shape alone.
//!
//! A sum over a large parameter is one of its blocks' sums. So its bits are the same wherever the blocks are.

use super::Append;
use crate::ops::{Pad, Reduce, ReduceKind, Reshape};
use crate::passes::distribute::SMALLEST_PIECE;
use crate::program::{BuildError, Dim, VarId};

/// The number of elements that a block has at least.
const SMALLEST: usize = 1024;
/// The largest number of blocks of a parameter.
const MOST: usize = 4096;
/// The largest number of elements that are added up at once. Kernels add up so many in one way, however many other sums
/// there are.
const AT_ONCE: usize = 1 << 15;

/// The number of rows of the blocks of a parameter, along its first axis; the last block may have fewer. `None` if it is so
/// small that it is one block.
pub(in crate::passes) fn rows_of_block(dims: &[usize]) -> Option<usize> {
    let rows = dims.first().copied().unwrap_or(1);
    let width = dims.iter().skip(1).product::<usize>();
    let is_large = rows > 1 && rows.saturating_mul(width) >= 2 * SMALLEST_PIECE;
    is_large.then(|| SMALLEST.div_ceil(width).max(rows.div_ceil(MOST)))
}

/// Appends the sums over the blocks of `rows` rows of a value.
pub(super) fn sums_of_blocks(
    add: &mut Append<'_>,
    value: VarId,
    dims: &[usize],
    rows: usize,
) -> Result<VarId, BuildError> {
    let (count, width) = (dims[0], dims.iter().skip(1).product::<usize>());
    let blocks = count.div_ceil(rows);
    let value = reshape(add, value, &[count * width])?;
    let value = pad(add, value, &[count * width], blocks * rows * width)?;
    // What is too much to be added up at once is added up in parts.
    let parts = (rows * width).div_ceil(AT_ONCE);
    let part = (rows * width).div_ceil(parts);
    let value = reshape(add, value, &[blocks, rows * width])?;
    let value = pad(add, value, &[blocks, rows * width], parts * part)?;
    let value = reshape(add, value, &[blocks * parts, part])?;
    let sums = sum_of_last(add, value)?;
    if parts == 1 {
        return Ok(sums);
    }
    let sums = reshape(add, sums, &[blocks, parts])?;
    sum_of_last(add, sums)
}

fn sum_of_last(add: &mut Append<'_>, value: VarId) -> Result<VarId, BuildError> {
    add.op(Reduce { kind: ReduceKind::Sum, axes: vec![1], keep_dim: false }, &[value])
}

fn reshape(add: &mut Append<'_>, value: VarId, dims: &[usize]) -> Result<VarId, BuildError> {
    let dims: Vec<Dim> = dims.iter().map(|&dim| Dim::from(dim as i64)).collect();
    match add.program.ty(value).dims == dims {
        true => Ok(value),
        false => add.op(Reshape { dims }, &[value]),
    }
}

/// Appends zeros along the last axis, unless it has `size` elements already.
fn pad(add: &mut Append<'_>, value: VarId, dims: &[usize], size: usize) -> Result<VarId, BuildError> {
    let Some((last, others)) = dims.split_last() else { return Ok(value) };
    let missing = size - last;
    if missing == 0 {
        return Ok(value);
    }
    let mut paddings = vec![0; 2 * others.len()];
    paddings.extend([0, missing as i64]);
    add.op(Pad { paddings, pad_value: 0.0 }, &[value])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_neither_small_nor_many() {
        assert_eq!(rows_of_block(&[]), None);
        assert_eq!(rows_of_block(&[1, 1 << 20]), None);
        assert_eq!(rows_of_block(&[0, 4]), None);
        for dims in [&[16_384][..], &[700, 32], &[3, 50_000], &[1 << 24, 64], &[100_003, 7, 2]] {
            let (rows, width) = (dims[0], dims.iter().skip(1).product::<usize>());
            let block = rows_of_block(dims).unwrap();
            assert!(block * width >= SMALLEST && rows.div_ceil(block) <= MOST, "{dims:?}: {block}");
        }
    }
}
