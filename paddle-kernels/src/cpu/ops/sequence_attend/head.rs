//! One head of one sequence, by tiles of scores. Dao (2023), FlashAttention-2, algorithms 1 and 2, with the tokens that ask in the
//! outer loop of both: then the sums of keys and values have the order of these tokens.
//!
//! Tiles are of tokens that are paired with ranges, which may differ; what a token is not paired with has the weight 0. That
//! changes no sum, unless a factor is not finite. Then, and where positions are no range, a token is computed alone, pair by
//! pair. How a sequence is cut into tiles depends on its own pairs, and on nothing else of the batch.
#![allow(
    unsafe_code,
    reason = "products of matrices inside of the operands; threads write different heads of the same tokens"
)]

use std::marker::PhantomData;
use std::ops::Range;

use super::weights::{LANES, dots, finish, is_finite, of_scores, scale, weigh, weigh_again};
use crate::cpu::matmul::{Operand, Product};
use crate::cpu::number::Float;
use crate::cpu::ops::sequence_product::blocks::{Shape, add, chains, chunks};
use crate::cpu::ops::sequence_product::pairs::{Group, Pairs};
use crate::cpu::shared::Shared;

/// The rows and the columns of a tile.
const ROWS: usize = 64;
const COLUMNS: usize = 64;
const _: () = assert!(COLUMNS.is_multiple_of(LANES));
/// The most tokens that are in one tile though they have different pairs: half of a tile of those before each token is
/// needed, of longer tiles less would be.
const MIXED: usize = 32;

/// One head of one sequence.
pub(super) struct Head<'a, T> {
    pub(super) pairs: &'a Pairs<'a>,
    /// The number of the sequence.
    pub(super) row: usize,
    /// The number of the head.
    pub(super) at: usize,
    /// The sizes of a token of `Q` and `K`, and of one of `V`.
    pub(super) keys: Shape,
    pub(super) values: Shape,
    pub(super) q: &'a [T],
    pub(super) k: &'a [T],
    pub(super) v: &'a [T],
}

/// One head of all tokens, which is written.
#[derive(Clone, Copy)]
pub(super) struct Part<'a, T> {
    start: *mut T,
    shape: Shape,
    of: PhantomData<&'a mut T>,
}

impl<'a, T: Copy> Part<'a, T> {
    /// # Safety
    /// The elements are valid for `'a`, and nothing else touches those of this head that are accessed through the part.
    pub(super) unsafe fn new(of: &'a Shared<T>, shape: Shape, at: usize) -> Self {
        Part { start: of.at(at * shape.width), shape, of: PhantomData }
    }

    /// The address of a token's part.
    fn at(self, token: usize) -> *mut T {
        self.start.wrapping_add(token * self.shape.size())
    }

    /// A token's part.
    ///
    /// # Safety
    /// The token exists, and no other reference to its part is alive.
    unsafe fn row(self, token: usize) -> &'a mut [T] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.at(token), self.shape.width) }
    }
}

/// A tile, whose rows are as wide as is needed.
type Tile<T> = [T; ROWS * COLUMNS];

/// The memory of a thread: a tile of weights, and one of the gradients of scores.
pub(super) struct Tiles<T>([Tile<T>; 2]);

impl<T: Float> Tiles<T> {
    pub(super) fn new() -> Self {
        Tiles([[T::ZERO; ROWS * COLUMNS]; 2])
    }
}

/// What is computed at a time.
enum Asking<'a> {
    /// Some tokens of a group, in tiles.
    Together(&'a Group, Range<usize>),
    /// One token, pair by pair.
    Alone(usize),
}

/// The least whole number of lanes for a row.
fn wide(columns: &Range<usize>) -> usize {
    columns.len().next_multiple_of(LANES)
}

impl<T: Float> Head<'_, T> {
    /// The tokens that ask, and those that are asked.
    fn tokens(&self) -> [Range<usize>; 2] {
        [self.pairs.x, self.pairs.y].map(|ends| ends[self.row] as usize..ends[self.row + 1] as usize)
    }

    /// Whether what tiles of different ranges multiply by 0 is finite.
    fn is_finite(&self, others: &[(Shape, &[T])]) -> bool {
        let [asking, asked] = self.tokens();
        let is = |shape, tokens: &Range<usize>, x| {
            is_finite(self.pairs.isa, shape, self.at, tokens.start, tokens.len(), x)
        };
        is(self.keys, &asking, self.q)
            && is(self.keys, &asked, self.k)
            && is(self.values, &asked, self.v)
            && others.iter().all(|&(shape, x)| is(shape, &asking, x))
    }

    /// The products of tokens with others, for which `x` and `y` have one part of `shape` each. `tile` gets rows of whole lanes.
    fn products(
        &self,
        shape: Shape,
        [x, y]: [&[T]; 2],
        [rows, columns]: [&Range<usize>; 2],
        tile: &mut Tile<T>,
    ) {
        let of_y = shape.rows(y, columns.clone(), self.at);
        let product = Product {
            k: shape.width,
            a: shape.rows(x, rows.clone(), self.at),
            b: Operand { start: of_y.start, row: of_y.column, column: of_y.row },
            c: tile.as_mut_ptr(),
            c_row: wide(columns),
            accumulate: false,
        };
        // SAFETY: A and B are inside of the operands; the tile has room for C.
        unsafe { product.compute(self.pairs.isa, 0..rows.len(), 0..columns.len()) };
    }

    /// Gives scores of tokens that are not paired, and of no tokens, the weight 0. `columns` are positions.
    fn mask(&self, group: &Group, rows: &Range<usize>, columns: &Range<usize>, tile: &mut Tile<T>) {
        let none = T::of(f64::NEG_INFINITY);
        for (token, row) in rows.clone().zip(tile.chunks_exact_mut(wide(columns))) {
            row[columns.len()..].fill(none);
            if !group.is_uniform() {
                let of_token = self.pairs.of(token);
                let start = self.pairs.at(of_token.start);
                let [begin, end] = [start, start + of_token.len()]
                    .map(|at| at.clamp(columns.start, columns.end) - columns.start);
                row[..begin].fill(none);
                row[end..].fill(none);
            }
        }
    }

    /// The scores of a token's pairs, some of them, and weights 0 behind them.
    fn scores_alone(&self, token: usize, pairs: &Range<usize>, tile: &mut Tile<T>) {
        tile[..wide(pairs)].fill(T::of(f64::NEG_INFINITY));
        let q = &self.q[self.keys.part(token, self.at)..];
        self.products_alone(self.keys, q, self.k, pairs, tile);
    }

    /// The products of one part of a token with the parts of those that it is paired with.
    fn products_alone(&self, shape: Shape, x: &[T], y: &[T], pairs: &Range<usize>, tile: &mut Tile<T>) {
        let one = Shape { lead: 1, ..shape };
        for (pair, out) in pairs.clone().zip(tile.chunks_exact_mut(1)) {
            chains(self.pairs.isa, one, x, &y[shape.part(self.asked(pair), self.at)..], out);
        }
    }

    /// The token that is asked in a pair.
    fn asked(&self, pair: usize) -> usize {
        self.pairs.y[self.row] as usize + self.pairs.at(pair)
    }

    /// Calls `work` with all tokens that ask, in their order.
    fn each(&self, others: &[(Shape, &[T])], mut work: impl FnMut(Asking<'_>)) {
        let ([mut tokens, _], mut finite) = (self.tokens(), None);
        while let Some((group, _)) = self.pairs.next_group(&mut tokens, MIXED) {
            let together = group.is_of_ranges
                && (group.is_uniform() || *finite.get_or_insert_with(|| self.is_finite(others)));
            if together && !group.all.is_empty() {
                chunks(&group.tokens, ROWS).for_each(|rows| work(Asking::Together(&group, rows)));
            } else {
                group.tokens.clone().for_each(|token| work(Asking::Alone(token)));
            }
        }
    }
}

/// The largest scores of some tokens so far, and the sums of their weights.
struct Sums<T> {
    tops: [T; ROWS],
    sums: [T; ROWS],
    factors: [T; ROWS],
}

impl<T: Float> Sums<T> {
    fn new() -> Self {
        Sums { tops: [T::of(f64::NEG_INFINITY); ROWS], sums: [T::ZERO; ROWS], factors: [T::ZERO; ROWS] }
    }
}

/// Computes the means of values, and the logarithms of the sums of exponentials.
///
/// # Safety
/// Both parts have a place for each token of `Q`, which nothing else touches.
pub(super) unsafe fn attend<T: Float>(
    head: &Head<'_, T>,
    Tiles([tile, _]): &mut Tiles<T>,
    out: Part<'_, T>,
    log_sums: Part<'_, T>,
) {
    let isa = head.pairs.isa;
    let first = head.tokens()[1].start;
    // What is behind the last tile of some tokens.
    let end = |rows: Range<usize>, sums: &mut Sums<T>| {
        let Sums { tops, sums, factors } = sums;
        let count = rows.len();
        finish(isa, &tops[..count], &mut sums[..count], &mut factors[..count]);
        for ((token, factor), sum) in rows.zip(factors).zip(sums) {
            // SAFETY: the tokens exist, and their parts are this thread's.
            unsafe {
                scale(isa, *factor, out.row(token));
                log_sums.row(token)[0] = *sum;
            }
        }
    };
    let together = |tile: &mut Tile<T>, group: &Group, rows: Range<usize>| {
        let mut sums = Sums::new();
        for columns in chunks(&group.all, COLUMNS) {
            let asked = first + columns.start..first + columns.end;
            let (count, width) = (rows.len(), wide(&columns));
            head.products(head.keys, [head.q, head.k], [&rows, &asked], tile);
            head.mask(group, &rows, &columns, tile);
            let Sums { tops, sums, factors } = &mut sums;
            weigh(
                isa,
                &mut tile[..count * width],
                &mut tops[..count],
                &mut sums[..count],
                &mut factors[..count],
            );
            let is_first = columns.start == group.all.start;
            for (token, factor) in rows.clone().zip(factors).filter(|_| !is_first) {
                // SAFETY: the token exists, and its part is this thread's.
                unsafe { scale(isa, *factor, out.row(token)) };
            }
            let product = Product {
                k: columns.len(),
                a: Operand { start: tile.as_ptr(), row: width, column: 1 },
                b: head.values.rows(head.v, asked, head.at),
                c: out.at(rows.start),
                c_row: out.shape.size(),
                accumulate: !is_first,
            };
            // SAFETY: A is inside of the tile, B inside of the operand; the parts of the tokens are this thread's.
            unsafe { product.compute(isa, 0..count, 0..head.values.width) };
        }
        end(rows, &mut sums);
    };
    let alone = |tile: &mut Tile<T>, token: usize| {
        // SAFETY: the token exists, and its part is this thread's.
        let mean = unsafe { out.row(token) };
        mean.fill(T::ZERO);
        let (mut sums, of_token) = (Sums::new(), head.pairs.of(token));
        if of_token.is_empty() {
            // SAFETY: as above.
            unsafe { log_sums.row(token)[0] = T::ZERO };
            return;
        }
        for pairs in chunks(&of_token, COLUMNS) {
            head.scores_alone(token, &pairs, tile);
            let Sums { tops, sums, factors } = &mut sums;
            weigh(isa, &mut tile[..wide(&pairs)], &mut tops[..1], &mut sums[..1], &mut factors[..1]);
            if pairs.start > of_token.start {
                scale(isa, factors[0], mean);
            }
            for (pair, weight) in pairs.zip(tile.chunks_exact(1)) {
                let value = &head.v[head.values.part(head.asked(pair), head.at)..];
                add(isa, Shape { lead: 1, ..head.values }, weight, value, mean);
            }
        }
        end(token..token + 1, &mut sums);
    };
    head.each(&[], |asking| match asking {
        Asking::Together(group, rows) => together(tile, group, rows),
        Asking::Alone(token) => alone(tile, token),
    });
}

/// Computes the gradients of the queries, keys and values of a head. `out` and `grad` are the means and their gradients.
///
/// # Safety
/// The parts have places for the tokens of `Q`, of `K` and of `V`, which nothing else touches.
pub(super) unsafe fn differentiate<T: Float>(
    head: &Head<'_, T>,
    Tiles(tiles): &mut Tiles<T>,
    [out, grad]: [&[T]; 2],
    log_sums: &[T],
    [of_q, of_k, of_v]: [Part<'_, T>; 3],
) {
    let (isa, at) = (head.pairs.isa, head.at);
    let (keys, values) = (head.keys, head.values);
    let asked = head.tokens()[1].clone();
    let first = asked.start;
    for token in asked {
        // SAFETY: the token exists, and its parts are this thread's.
        unsafe {
            of_k.row(token).fill(T::ZERO);
            of_v.row(token).fill(T::ZERO);
        }
    }
    let log_sum = |token: usize| log_sums[token * keys.lead + at];
    let together = |[weights, grads]: &mut [Tile<T>; 2], group: &Group, rows: Range<usize>| {
        let (count, mut means, mut sums) = (rows.len(), [T::ZERO; ROWS], [T::ZERO; ROWS]);
        dots(isa, values, at, rows.start, out, grad, &mut means[..count]);
        rows.clone().zip(&mut sums).for_each(|(token, sum)| *sum = log_sum(token));
        for columns in chunks(&group.all, COLUMNS) {
            let (asked, width) = (first + columns.start..first + columns.end, wide(&columns));
            head.products(keys, [head.q, head.k], [&rows, &asked], weights);
            head.mask(group, &rows, &columns, weights);
            weigh_again(isa, &mut weights[..count * width], &sums[..count]);
            head.products(values, [grad, head.v], [&rows, &asked], grads);
            of_scores(isa, &weights[..count * width], &means[..count], &mut grads[..count * width]);
            let of_keys = |factors: &[T], b, to: Part<'_, T>| Product {
                k: count,
                a: Operand { start: factors.as_ptr(), row: 1, column: width },
                b,
                c: to.at(asked.start),
                c_row: to.shape.size(),
                accumulate: true,
            };
            let of_asking = Product {
                k: columns.len(),
                a: Operand { start: grads.as_ptr(), row: width, column: 1 },
                b: keys.rows(head.k, asked.clone(), at),
                c: of_q.at(rows.start),
                c_row: of_q.shape.size(),
                accumulate: columns.start > group.all.start,
            };
            // SAFETY: A is inside of a tile, B inside of an operand; the parts of the tokens are this thread's.
            unsafe {
                of_keys(weights, values.rows(grad, rows.clone(), at), of_v).compute(
                    isa,
                    0..columns.len(),
                    0..values.width,
                );
                of_keys(grads, keys.rows(head.q, rows.clone(), at), of_k).compute(
                    isa,
                    0..columns.len(),
                    0..keys.width,
                );
                of_asking.compute(isa, 0..count, 0..keys.width);
            }
        }
    };
    let alone = |[weights, grads]: &mut [Tile<T>; 2], token: usize| {
        // SAFETY: the token exists, and its part is this thread's.
        let of_asking = unsafe { of_q.row(token) };
        of_asking.fill(T::ZERO);
        let mut mean = [T::ZERO];
        dots(isa, values, at, token, out, grad, &mut mean);
        let [q, grad] = [(head.q, keys), (grad, values)].map(|(x, shape)| &x[shape.part(token, at)..]);
        for pairs in chunks(&head.pairs.of(token), COLUMNS) {
            let width = wide(&pairs);
            head.scores_alone(token, &pairs, weights);
            weigh_again(isa, &mut weights[..width], &[log_sum(token)]);
            head.products_alone(values, grad, head.v, &pairs, grads);
            of_scores(isa, &weights[..width], &mean, &mut grads[..width]);
            for ((pair, weight), of_score) in pairs.zip(weights.chunks_exact(1)).zip(grads.chunks_exact(1)) {
                let asked = head.asked(pair);
                let [of_keys, of_values] = [keys, values].map(|shape| Shape { lead: 1, ..shape });
                add(isa, of_keys, of_score, &head.k[keys.part(asked, at)..], of_asking);
                // SAFETY: the token exists, and its parts are this thread's.
                unsafe {
                    add(isa, of_keys, of_score, q, of_k.row(asked));
                    add(isa, of_values, weight, grad, of_v.row(asked));
                }
            }
        }
    };
    head.each(&[(values, grad)], |asking| match asking {
        Asking::Together(group, rows) => together(tiles, group, rows),
        Asking::Alone(token) => alone(tiles, token),
    });
}
