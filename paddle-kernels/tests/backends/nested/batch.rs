//! Batches for programs with sequences, and the single rows of a batch.

use std::collections::BTreeMap;
use std::ops::Range;

use paddle_core::ops::Program;
use paddle_core::program::{DType, RowsId};

use super::build::Built;
use crate::draw::Draw;
use crate::fed::{Fed, on_grid};
use crate::host::Host;

/// How the rows of a batch are spread over the sides of decisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spread {
    /// Every level splits the rows on each side of the earlier levels.
    Even,
    /// Each row is on an arbitrary side.
    Arbitrary,
    /// All rows are on one side.
    OneSided,
    /// All rows are on one side, and no sequence has a token.
    Empty,
    /// Like [`Spread::Even`], and every sequence has a token.
    Filled,
}

/// A batch of `rows` rows for a program whose first inputs are those of `built`.
pub(crate) fn draw_batch(
    built: &Built,
    program: &Program,
    rows: usize,
    spread: Spread,
    draw: &mut Draw,
) -> Vec<Fed> {
    let (start, one_side) = (draw.below(8), draw.flip());
    let side = |draw: &mut Draw, row: usize, level: usize| match spread {
        Spread::Even | Spread::Filled => ((row + start) >> level) & 1 == 1,
        Spread::Arbitrary => draw.flip(),
        Spread::OneSided | Spread::Empty => one_side,
    };
    let fewest = i64::from(spread == Spread::Filled);
    // All sequences of a level have the same lengths, so that loops may go along them in step.
    let mut lengths: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
    let mut offsets: BTreeMap<RowsId, Vec<i64>> = BTreeMap::new();
    for (&tokens, &level) in &built.tokens {
        let outer = program.row_space(tokens).parent.and_then(|parent| offsets.get(&parent));
        let of_tokens = match outer {
            Some(outer) => {
                let count = outer.last().copied().unwrap_or(0);
                ends(&(0..count).map(|_| fewest.max(draw.below(3) as i64)).collect::<Vec<_>>())
            }
            None => ends(lengths.entry(level).or_insert_with(|| {
                let mut length = |row| match (spread, side(draw, row, level)) {
                    (Spread::Empty, _) => 0,
                    (_, true) => 2 + draw.below(2) as i64,
                    (_, false) => fewest.max(draw.below(2) as i64),
                };
                (0..rows).map(&mut length).collect()
            })),
        };
        offsets.insert(tokens, of_tokens);
    }
    let mut feed = |input| {
        let ty = program.ty(input);
        let levels = program.levels(ty);
        let offsets: Vec<Vec<i64>> = levels.iter().filter_map(|rows| offsets.get(rows)).cloned().collect();
        let leading = match offsets.last() {
            Some(offsets) => offsets.last().map(|&end| end as usize),
            None => ty.rows.map(|_| rows),
        };
        let dims = ty.dims.iter().map(|dim| dim.constant().expect("sizes are known") as usize);
        let shape: Vec<usize> = leading.into_iter().chain(dims).collect();
        assert_eq!(ty.dtype, DType::F32);
        let mut values = match built.conditions.get(&input) {
            Some(_) => on_grid(draw, rows, (0.3, 1.0)),
            None => on_grid(draw, shape.iter().product(), (-1.0, 1.0)),
        };
        if let (Some(&level), Host::F32(values)) = (built.conditions.get(&input), &mut values) {
            let negative = |&(row, _): &(usize, &mut f32)| !side(draw, row, level);
            values.iter_mut().enumerate().filter(negative).for_each(|(_, value)| *value = -*value);
        }
        Fed { values, shape, offsets }
    };
    program.inputs().iter().map(|&input| feed(input)).collect()
}

/// Offsets of sequences of these lengths.
fn ends(lengths: &[i64]) -> Vec<i64> {
    let sum = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(sum).collect()
}

/// One row of a batch, as a batch.
pub(crate) fn row(program: &Program, feeds: &[Fed], row: usize) -> Vec<Fed> {
    let cut = |(&input, fed): (_, &Fed)| {
        if program.ty(input).rows.is_none() {
            return Fed { values: fed.values.clone(), shape: fed.shape.clone(), offsets: Vec::new() };
        }
        // Goes from the row to its tokens, and to the tokens of these.
        let mut range = row..row + 1;
        let levels = fed.offsets.iter().map(|offsets| {
            let of = &offsets[range.start..=range.end];
            range = of[0] as usize..of[of.len() - 1] as usize;
            of.iter().map(|end| end - of[0]).collect()
        });
        let offsets = levels.collect();
        Fed { values: part(fed, range.clone()), shape: shape(fed, range.len()), offsets }
    };
    program.inputs().iter().zip(feeds).map(cut).collect()
}

fn part(fed: &Fed, rows: Range<usize>) -> Host {
    let width: usize = fed.shape.iter().skip(1).product();
    let Host::F32(values) = &fed.values else { panic!("only floats are cut") };
    Host::F32(values[rows.start * width..rows.end * width].to_vec())
}

fn shape(fed: &Fed, rows: usize) -> Vec<usize> {
    std::iter::once(rows).chain(fed.shape.iter().skip(1).copied()).collect()
}
