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

use std::ops::Range;

use crate::cpu::number::Float;
use crate::cpu::ops::attention::weights::{dots, is_finite, of_scores, scale, weigh, weigh_again};
use crate::cpu::ops::attention::{self, COLUMNS, Part, PartMut, ROWS, Scores, Sums, Tile, Tiles, wide};
use crate::cpu::ops::sequence_product::blocks::{Shape, add, chains, chunks};
use crate::cpu::ops::sequence_product::pairs::{Group, Pairs};

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

/// What is computed at a time.
enum Asking<'a> {
    /// Some tokens of a group, in tiles.
    Together(&'a Group, Range<usize>),
    /// One token, pair by pair.
    Alone(usize),
}

impl<T: Float> Head<'_, T> {
    /// The tokens that ask, and those that are asked.
    fn tokens(&self) -> [Range<usize>; 2] {
        [self.pairs.x, self.pairs.y].map(|ends| ends[self.row] as usize..ends[self.row + 1] as usize)
    }

    /// One head of the tokens of a value from `first` on.
    fn part<'b>(&self, shape: Shape, x: &'b [T], first: usize) -> Part<'b, T> {
        Part::new(x, shape.part(first, self.at), shape.size(), shape.width)
    }

    /// The head. Tokens that are asked have their positions in it.
    fn head(&self) -> attention::Head<'_, T> {
        let first = self.tokens()[1].start;
        attention::Head {
            isa: self.pairs.isa,
            q: self.part(self.keys, self.q, 0),
            k: self.part(self.keys, self.k, first),
            v: self.part(self.values, self.v, first),
        }
    }

    /// Whether what tiles of different ranges multiply by 0 is finite.
    fn is_finite(&self, others: &[Part<'_, T>]) -> bool {
        let ([asking, asked], head) = (self.tokens(), self.head());
        let is = |x, tokens| is_finite(self.pairs.isa, x, tokens);
        is(head.q, asking.clone())
            && is(head.k, 0..asked.len())
            && is(head.v, 0..asked.len())
            && others.iter().all(|&x| is(x, asking.clone()))
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
    fn each(&self, others: &[Part<'_, T>], mut work: impl FnMut(Asking<'_>)) {
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

/// The scores of the tokens of a group.
struct OfGroup<'a> {
    pairs: &'a Pairs<'a>,
    group: &'a Group,
}

impl<T: Float> Scores<T> for OfGroup<'_> {
    /// Gives scores of tokens that are not paired, and of no tokens, the weight 0.
    fn of_products(&self, rows: &Range<usize>, columns: &Range<usize>, tile: &mut [T]) {
        let none = T::of(f64::NEG_INFINITY);
        for (token, row) in rows.clone().zip(tile.chunks_exact_mut(wide(columns))) {
            row[columns.len()..].fill(none);
            if !self.group.is_uniform() {
                let of_token = self.pairs.of(token);
                let start = self.pairs.at(of_token.start);
                let [begin, end] = [start, start + of_token.len()]
                    .map(|at| at.clamp(columns.start, columns.end) - columns.start);
                row[..begin].fill(none);
                row[end..].fill(none);
            }
        }
    }
}

/// Computes the means of values, and the logarithms of the sums of exponentials.
///
/// # Safety
/// Both parts have a place for each token of `Q`, which nothing else touches.
pub(super) unsafe fn attend<T: Float>(
    of: &Head<'_, T>,
    tiles: &mut Tiles<T>,
    out: PartMut<'_, T>,
    log_sums: PartMut<'_, T>,
) {
    let (isa, head) = (of.pairs.isa, of.head());
    let Tiles { weights: tile, near, .. } = tiles;
    // SAFETY: nothing else writes there.
    let asked = unsafe { head.asked(of.tokens()[1].len(), false, near) };
    let together = |tile: &mut Tile<T>, group: &Group, rows: Range<usize>| {
        let scores = OfGroup { pairs: of.pairs, group };
        // SAFETY: the tokens exist, and their parts are this thread's.
        unsafe {
            let mut sums = head.attend(&asked, &scores, [&rows, &group.all], tile, out);
            head.finish(&rows, &mut sums, out, log_sums);
        }
    };
    let alone = |tile: &mut Tile<T>, token: usize| {
        // SAFETY: the token exists, and its part is this thread's.
        let mean = unsafe { out.row(token) };
        mean.fill(T::ZERO);
        let (mut sums, of_token) = (Sums::new(), of.pairs.of(token));
        if of_token.is_empty() {
            // SAFETY: as above.
            unsafe { log_sums.row(token)[0] = T::ZERO };
            return;
        }
        for pairs in chunks(&of_token, COLUMNS) {
            of.scores_alone(token, &pairs, tile);
            let Sums { tops, sums, factors } = &mut sums;
            weigh(isa, &mut tile[..wide(&pairs)], &mut tops[..1], &mut sums[..1], &mut factors[..1]);
            if pairs.start > of_token.start {
                scale(isa, factors[0], mean);
            }
            for (pair, weight) in pairs.zip(tile.chunks_exact(1)) {
                let value = &of.v[of.values.part(of.asked(pair), of.at)..];
                add(isa, Shape { lead: 1, ..of.values }, weight, value, mean);
            }
        }
        // SAFETY: as above.
        unsafe { head.finish(&(token..token + 1), &mut sums, out, log_sums) };
    };
    of.each(&[], |asking| match asking {
        Asking::Together(group, rows) => together(tile, group, rows),
        Asking::Alone(token) => alone(tile, token),
    });
}

/// Computes the gradients of the queries, keys and values of a head. `out` and `grad` are the means and their gradients.
///
/// # Safety
/// The parts have places for the tokens of `Q`, of `K` and of `V`, which nothing else touches.
pub(super) unsafe fn differentiate<T: Float>(
    of: &Head<'_, T>,
    tiles: &mut Tiles<T>,
    [out, grad]: [&[T]; 2],
    log_sums: &[T],
    [of_q, of_k, of_v]: [PartMut<'_, T>; 3],
) {
    let (isa, at, head) = (of.pairs.isa, of.at, of.head());
    let (keys, values) = (of.keys, of.values);
    let Tiles { weights, grads, near } = tiles;
    // SAFETY: nothing else writes there.
    let asked = unsafe { head.asked(of.tokens()[1].len(), true, near) };
    let [out, grad_part] = [out, grad].map(|x| of.part(values, x, 0));
    let log_sums = Part::new(log_sums, at, keys.lead, 1);
    for position in 0..of.tokens()[1].len() {
        // SAFETY: the token exists, and its parts are this thread's.
        unsafe {
            of_k.row(position).fill(T::ZERO);
            of_v.row(position).fill(T::ZERO);
        }
    }
    let together = |tiles: [&mut Tile<T>; 2], group: &Group, rows: Range<usize>| {
        let scores = OfGroup { pairs: of.pairs, group };
        // SAFETY: the tokens exist, and their parts are this thread's.
        unsafe {
            let grads = [of_q, of_k, of_v];
            head.differentiate(
                &asked,
                &scores,
                [&rows, &group.all],
                tiles,
                [out, grad_part, log_sums],
                grads,
            );
        }
    };
    let alone = |[weights, grads]: [&mut Tile<T>; 2], token: usize| {
        // SAFETY: the token exists, and its part is this thread's.
        let of_asking = unsafe { of_q.row(token) };
        of_asking.fill(T::ZERO);
        let mut mean = [T::ZERO];
        dots(isa, token, out, grad_part, &mut mean);
        let [q, grad] = [(of.q, keys), (grad, values)].map(|(x, shape)| &x[shape.part(token, at)..]);
        for pairs in chunks(&of.pairs.of(token), COLUMNS) {
            let width = wide(&pairs);
            of.scores_alone(token, &pairs, weights);
            weigh_again(isa, &mut weights[..width], log_sums.row(token));
            of.products_alone(values, grad, of.v, &pairs, grads);
            of_scores(isa, &weights[..width], &mean, &mut grads[..width]);
            for ((pair, weight), of_score) in pairs.zip(weights.chunks_exact(1)).zip(grads.chunks_exact(1)) {
                let position = of.pairs.at(pair);
                let [of_keys, of_values] = [keys, values].map(|shape| Shape { lead: 1, ..shape });
                add(isa, of_keys, of_score, head.k.row(position), of_asking);
                // SAFETY: the token exists, and its parts are this thread's.
                unsafe {
                    add(isa, of_keys, of_score, q, of_k.row(position));
                    add(isa, of_values, weight, grad, of_v.row(position));
                }
            }
        }
    };
    of.each(&[grad_part], |asking| match asking {
        Asking::Together(group, rows) => together([weights, grads], group, rows),
        Asking::Alone(token) => alone([weights, grads], token),
    });
}
