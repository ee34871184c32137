//! Attention of one head by tiles of scores. Dao (2023), FlashAttention-2, algorithms 1 and 2, with the tokens that ask in the
//! outer loop of both: then the sums of keys and values have the order of these tokens.
#![allow(
    unsafe_code,
    reason = "products of matrices inside of the operands; threads write different heads of the same tokens"
)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::sequence_product::blocks::chunks;
use crate::cpu::isa::Isa;
use crate::cpu::matmul::{Operand, Product, Turned};
use crate::cpu::number::Float;
use crate::cpu::shared::Shared;
use weights::{LANES, dots, finish, of_scores, scale, weigh, weigh_again};

pub(super) mod weights;

/// The rows and the columns of a tile.
pub(super) const ROWS: usize = 64;
pub(super) const COLUMNS: usize = 64;
const _: () = assert!(COLUMNS.is_multiple_of(LANES));

/// One head of some tokens, inside of the elements of a value.
#[derive(Clone, Copy)]
pub(super) struct Part<'a, T> {
    elements: &'a [T],
    step: usize,
    width: usize,
}

impl<'a, T> Part<'a, T> {
    /// `width` elements of each token. Those of the first token begin at `start`, and those of the next `step` behind.
    pub(super) fn new(elements: &'a [T], start: usize, step: usize, width: usize) -> Self {
        Part { elements: elements.get(start..).unwrap_or_default(), step, width }
    }

    /// The elements of a token.
    #[inline(always)]
    pub(super) fn row(self, token: usize) -> &'a [T] {
        &self.elements[token * self.step..][..self.width]
    }

    /// A matrix with a row for each of some tokens, of which there is one at least.
    fn rows(self, tokens: &Range<usize>) -> Operand<T> {
        let end = (tokens.end - 1) * self.step + self.width;
        let start = self.elements[tokens.start * self.step..end].as_ptr();
        Operand { start, row: self.step, column: 1 }
    }
}

/// One head of some tokens, which is written.
#[derive(Clone, Copy)]
pub(super) struct PartMut<'a, T> {
    start: *mut T,
    step: usize,
    width: usize,
    of: PhantomData<&'a mut T>,
}

impl<'a, T: Copy> PartMut<'a, T> {
    /// See [`Part::new`].
    ///
    /// # Safety
    /// The elements are valid for `'a`, and nothing else touches those of tokens that are accessed through the part.
    pub(super) unsafe fn new(of: &'a Shared<T>, start: usize, step: usize, width: usize) -> Self {
        PartMut { start: of.at(start), step, width, of: PhantomData }
    }

    /// The address of a token's elements.
    fn at(self, token: usize) -> *mut T {
        self.start.wrapping_add(token * self.step)
    }

    /// A token's elements.
    ///
    /// # Safety
    /// The token exists, and no other reference to its elements is alive.
    pub(super) unsafe fn row(self, token: usize) -> &'a mut [T] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.at(token), self.width) }
    }
}

/// A tile, whose rows are as wide as is needed.
pub(super) type Tile<T> = [T; ROWS * COLUMNS];

/// The memory of a thread.
pub(super) struct Tiles<T> {
    /// A tile of weights, and one of the gradients of scores.
    pub(super) weights: Tile<T>,
    pub(super) grads: Tile<T>,
    /// Room for what is asked, in an order in which products read it.
    pub(super) near: [MaybeUninit<T>; NEAR],
}

/// The elements of keys and values of a head that are brought near at most.
const NEAR: usize = 16 * 1024;

impl<T: Float> Tiles<T> {
    pub(super) fn new() -> Self {
        let [weights, grads] = [[T::ZERO; ROWS * COLUMNS]; 2];
        Tiles { weights, grads, near: [const { MaybeUninit::uninit() }; NEAR] }
    }
}

/// The least whole number of lanes for a row.
pub(super) fn wide(columns: &Range<usize>) -> usize {
    columns.len().next_multiple_of(LANES)
}

/// The largest scores of some tokens so far, and the sums of their weights.
pub(super) struct Sums<T> {
    pub(super) tops: [T; ROWS],
    pub(super) sums: [T; ROWS],
    pub(super) factors: [T; ROWS],
}

impl<T: Float> Sums<T> {
    pub(super) fn new() -> Self {
        Sums { tops: [T::of(f64::NEG_INFINITY); ROWS], sums: [T::ZERO; ROWS], factors: [T::ZERO; ROWS] }
    }
}

/// What scores are beside products.
pub(super) trait Scores<T> {
    /// Makes scores of the products of some tokens, `rows`, with others. Rows of the tile are `wide`; what is behind the columns
    /// becomes -∞.
    fn of_products(&self, rows: &Range<usize>, columns: &Range<usize>, tile: &mut [T]);

    /// Makes gradients of products of those of scores.
    fn to_products(&self, _rows: &Range<usize>, _columns: &Range<usize>, _grads: &mut [T]) {}
}

/// One head.
pub(super) struct Head<'a, T> {
    pub(super) isa: Isa,
    pub(super) q: Part<'a, T>,
    pub(super) k: Part<'a, T>,
    pub(super) v: Part<'a, T>,
}

/// The keys and the values of those that are asked, as factors of products with those that ask.
pub(super) struct Asked<'a, T> {
    parts: [Part<'a, T>; 2],
    near: [Option<Turned<T>>; 2],
}

impl<T: Float> Head<'_, T> {
    /// Brings keys near, and with `values` the values, of which there are `count`, if there is room.
    ///
    /// # Safety
    /// The memory stays as it is as long as the result is used.
    pub(super) unsafe fn asked(
        &self,
        count: usize,
        values: bool,
        mut memory: &mut [MaybeUninit<T>],
    ) -> Asked<'_, T> {
        let (parts, mut near) = ([self.k, self.v], [None; 2]);
        for (part, near) in parts.into_iter().zip(&mut near).take(1 + usize::from(values)) {
            let size = Turned::<T>::size(count, part.width);
            if count == 0 || size > memory.len() {
                break;
            }
            let (to, rest) = memory.split_at_mut(size);
            let (rows, to) = (part.rows(&(0..count)), to.as_mut_ptr().cast());
            // SAFETY: the part has the rows, and there is room for them.
            *near = Some(unsafe { Turned::new(self.isa, rows, [count, part.width], to) });
            memory = rest;
        }
        Asked { parts, near }
    }

    /// The scores of a tile.
    fn scores(
        &self,
        asked: &Asked<'_, T>,
        scores: &dyn Scores<T>,
        [rows, columns]: [&Range<usize>; 2],
        tile: &mut Tile<T>,
    ) {
        self.products(self.q, asked, 0, [rows, columns], tile);
        scores.of_products(rows, columns, &mut tile[..rows.len() * wide(columns)]);
    }

    /// The products of tokens with keys, number 0, or values, 1. `tile` gets rows of whole lanes, with anything behind the columns.
    fn products(
        &self,
        x: Part<'_, T>,
        asked: &Asked<'_, T>,
        number: usize,
        [rows, columns]: [&Range<usize>; 2],
        tile: &mut Tile<T>,
    ) {
        let width = wide(columns);
        assert!(rows.len() <= ROWS && width <= COLUMNS);
        let (k, a, c, accumulate) = (x.width, x.rows(rows), tile.as_mut_ptr(), false);
        // SAFETY: A is inside of the operand, and so is B, or it is near; the tile has room for C.
        unsafe {
            match asked.near[number] {
                Some(near) => {
                    let product = Product { k, a, b: near.from(columns.start), c, c_row: width, accumulate };
                    product.compute(self.isa, 0..rows.len(), 0..width);
                }
                None => {
                    let of_y = asked.parts[number].rows(columns);
                    let b = Operand { start: of_y.start, row: of_y.column, column: of_y.row };
                    let product = Product { k, a, b, c, c_row: width, accumulate };
                    product.compute(self.isa, 0..rows.len(), 0..columns.len());
                }
            }
        }
    }

    /// Computes the sums of values of some tokens, at most [`ROWS`], over `all` that they ask for, and the sums of their weights.
    ///
    /// # Safety
    /// `out` has a place for each token, which nothing else touches.
    pub(super) unsafe fn attend(
        &self,
        asked: &Asked<'_, T>,
        scores: &dyn Scores<T>,
        [rows, all]: [&Range<usize>; 2],
        tile: &mut Tile<T>,
        out: PartMut<'_, T>,
    ) -> Sums<T> {
        let (isa, count) = (self.isa, rows.len());
        let mut state = Sums::new();
        for columns in chunks(all, COLUMNS) {
            let width = wide(&columns);
            self.scores(asked, scores, [rows, &columns], tile);
            let Sums { tops, sums, factors } = &mut state;
            let weights = &mut tile[..count * width];
            weigh(isa, weights, &mut tops[..count], &mut sums[..count], &mut factors[..count]);
            let is_first = columns.start == all.start;
            for (token, factor) in rows.clone().zip(factors).filter(|_| !is_first) {
                // SAFETY: the token exists, and its part is this thread's.
                unsafe { scale(isa, *factor, out.row(token)) };
            }
            let product = Product {
                k: columns.len(),
                a: Operand { start: tile.as_ptr(), row: width, column: 1 },
                b: self.v.rows(&columns),
                c: out.at(rows.start),
                c_row: out.step,
                accumulate: !is_first,
            };
            // SAFETY: A is inside of the tile, B inside of the operand; the parts of the tokens are this thread's.
            unsafe { product.compute(isa, 0..count, 0..self.v.width) };
        }
        state
    }

    /// Makes means of the sums of values of some tokens, and writes the logarithms of the sums of exponentials.
    ///
    /// # Safety
    /// Both parts have a place for each token, which nothing else touches.
    pub(super) unsafe fn finish(
        &self,
        rows: &Range<usize>,
        state: &mut Sums<T>,
        out: PartMut<'_, T>,
        log_sums: PartMut<'_, T>,
    ) {
        let (Sums { tops, sums, factors }, count) = (state, rows.len());
        finish(self.isa, &tops[..count], &mut sums[..count], &mut factors[..count]);
        for ((token, factor), sum) in rows.clone().zip(factors).zip(sums) {
            // SAFETY: the tokens exist, and their parts are this thread's.
            unsafe {
                scale(self.isa, *factor, out.row(token));
                log_sums.row(token)[0] = *sum;
            }
        }
    }

    /// Adds what some tokens, at most [`ROWS`], give to the gradients of the keys and values of `all` that they ask for, and computes
    /// those of the tokens. `out` and `grad` are the means and their gradients.
    ///
    /// # Safety
    /// The parts have places for the tokens, which nothing else touches.
    pub(super) unsafe fn differentiate(
        &self,
        asked: &Asked<'_, T>,
        scores: &dyn Scores<T>,
        [rows, all]: [&Range<usize>; 2],
        [weights, grads]: [&mut Tile<T>; 2],
        [out, grad, log_sums]: [Part<'_, T>; 3],
        [of_q, of_k, of_v]: [PartMut<'_, T>; 3],
    ) {
        let (isa, count, mut means, mut sums) = (self.isa, rows.len(), [T::ZERO; ROWS], [T::ZERO; ROWS]);
        dots(isa, rows.start, out, grad, &mut means[..count]);
        rows.clone().zip(&mut sums).for_each(|(token, sum)| *sum = log_sums.row(token)[0]);
        for columns in chunks(all, COLUMNS) {
            let width = wide(&columns);
            self.scores(asked, scores, [rows, &columns], weights);
            weigh_again(isa, &mut weights[..count * width], &sums[..count]);
            self.products(grad, asked, 1, [rows, &columns], grads);
            let of_tile = &mut grads[..count * width];
            of_scores(isa, &weights[..count * width], &means[..count], of_tile);
            scores.to_products(rows, &columns, of_tile);
            let of_keys = |factors: &[T], b: Part<'_, T>, to: PartMut<'_, T>| Product {
                k: count,
                a: Operand { start: factors.as_ptr(), row: 1, column: width },
                b: b.rows(rows),
                c: to.at(columns.start),
                c_row: to.step,
                accumulate: true,
            };
            let of_asking = Product {
                k: columns.len(),
                a: Operand { start: grads.as_ptr(), row: width, column: 1 },
                b: self.k.rows(&columns),
                c: of_q.at(rows.start),
                c_row: of_q.step,
                accumulate: columns.start > all.start,
            };
            // SAFETY: A is inside of a tile, B inside of an operand; the parts of the tokens are this thread's.
            unsafe {
                of_keys(weights, grad, of_v).compute(isa, 0..columns.len(), 0..self.v.width);
                of_keys(grads, self.q, of_k).compute(isa, 0..columns.len(), 0..self.k.width);
                of_asking.compute(isa, 0..count, 0..self.k.width);
            }
        }
    }
}
