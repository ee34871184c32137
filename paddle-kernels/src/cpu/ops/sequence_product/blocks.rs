//! The three operators on some of the tokens. Where tokens are paired with ranges of others, as in attention, they are products
//! of matrices; other pairs are computed one by one. Each element is one chain of multiply-adds, in the order of its terms: its
//! bits do not depend on how tokens are grouped.
#![allow(unsafe_code, reason = "products of matrices inside of the operands")]

use std::ops::Range;

use super::pairs::{Group, Pairs};
use crate::cpu::isa::dispatch;
use crate::cpu::matmul::{Operand, Product};
use crate::cpu::number::Float;

/// The rows and the columns of a block of products, and the elements of such a block.
const ROWS: usize = 64;
const COLUMNS: usize = 64;
const BLOCK: usize = ROWS * COLUMNS;
/// The positions whose weights are taken at a time: as many as can be copied for each token of a group.
const COLUMNS_OF_SUMS: usize = BLOCK / MIXED_SUMS;
/// The most tokens that are grouped though they have different pairs: for products, whose blocks may have elements that nobody
/// needs, and for sums, of which the pairs that not all tokens have are computed one by one.
const MIXED_PRODUCTS: usize = 32;
const MIXED_SUMS: usize = 8;

/// The sizes of a token: `lead` parts of `width` elements.
#[derive(Clone, Copy)]
pub(in crate::cpu::ops) struct Shape {
    pub(in crate::cpu::ops) lead: usize,
    pub(in crate::cpu::ops) width: usize,
}

impl Shape {
    /// The elements of a token.
    pub(in crate::cpu::ops) fn size(self) -> usize {
        self.lead * self.width
    }

    /// The first element of a part of a token.
    #[inline(always)]
    pub(in crate::cpu::ops) fn part(self, token: usize, at: usize) -> usize {
        (token * self.lead + at) * self.width
    }

    /// One part of some tokens, as a matrix with a row for each.
    pub(in crate::cpu::ops) fn rows<T>(self, elements: &[T], tokens: Range<usize>, at: usize) -> Operand<T> {
        let part = &elements[self.part(tokens.start, at)..self.part(tokens.end - 1, at + 1)];
        Operand { start: part.as_ptr(), row: self.size(), column: 1 }
    }
}

/// The products of some tokens of `X` with the tokens of `Y` in their pairs. `out` begins with those of the first token.
pub(super) fn products<T: Float>(
    pairs: &Pairs<'_>,
    mut tokens: Range<usize>,
    shape: Shape,
    [x, y]: [&[T]; 2],
    out: &mut [T],
) {
    let (isa, lead) = (pairs.isa, shape.lead);
    let (begin, mut block) = (pairs.of(tokens.start).start, [T::ZERO; BLOCK]);
    while let Some((group, y_first)) = pairs.next_group(&mut tokens, MIXED_PRODUCTS) {
        if !group.is_of_ranges {
            let token = group.tokens.start;
            for pair in pairs.of(token) {
                let y = &y[shape.part(y_first + pairs.at(pair), 0)..];
                chains(isa, shape, &x[shape.part(token, 0)..], y, &mut out[(pair - begin) * lead..][..lead]);
            }
            continue;
        }
        for rows in chunks(&group.tokens, ROWS) {
            for columns in chunks(&group.all, COLUMNS) {
                for at in 0..lead {
                    let of_y = shape.rows(y, y_first + columns.start..y_first + columns.end, at);
                    let product = Product {
                        k: shape.width,
                        a: shape.rows(x, rows.clone(), at),
                        b: Operand { start: of_y.start, row: of_y.column, column: of_y.row },
                        c: block.as_mut_ptr(),
                        c_row: COLUMNS,
                        accumulate: false,
                    };
                    // SAFETY: A and B are inside of the operands; the block has room for C.
                    unsafe { product.compute(isa, 0..rows.len(), 0..columns.len()) };
                    for (token, row) in rows.clone().zip(block.chunks_exact(COLUMNS)) {
                        let of_token = pairs.of(token);
                        if of_token.is_empty() {
                            continue;
                        }
                        let start = pairs.at(of_token.start);
                        let wanted = start.max(columns.start)..(start + of_token.len()).min(columns.end);
                        if !wanted.is_empty() {
                            let out = &mut out[(of_token.start - begin + wanted.start - start) * lead + at..];
                            let row = &row[wanted.start - columns.start..wanted.end - columns.start];
                            out.iter_mut().step_by(lead).zip(row).for_each(|(out, product)| *out = *product);
                        }
                    }
                }
            }
        }
    }
}

/// For some tokens of `X`, the weighted sums of the tokens of `Y` in their pairs. `out` begins with that of the first token.
pub(super) fn sums<T: Float>(
    pairs: &Pairs<'_>,
    mut tokens: Range<usize>,
    shape: Shape,
    [w, y]: [&[T]; 2],
    out: &mut [T],
) {
    let (isa, lead, first, mut copy) = (pairs.isa, shape.lead, tokens.start, [T::ZERO; BLOCK]);
    out.fill(T::ZERO);
    while let Some((group, y_first)) = pairs.next_group(&mut tokens, MIXED_SUMS) {
        let add_pairs = |positions: Range<usize>, out: &mut [T]| {
            let differing = if group.is_uniform() { 0..0 } else { group.tokens.clone() };
            for token in differing {
                let out = &mut out[shape.part(token - first, 0)..][..shape.size()];
                for pair in pairs.of(token).filter(|pair| positions.contains(&pairs.at(*pair))) {
                    add(isa, shape, &w[pair * lead..], &y[shape.part(y_first + pairs.at(pair), 0)..], out);
                }
            }
        };
        // Each sum has its terms in the order of their positions.
        add_pairs(0..group.common.start, out);
        for columns in chunks(&group.common, COLUMNS_OF_SUMS) {
            for at in 0..lead {
                let a = weights(pairs, &group, columns.clone(), [lead, at], w, &mut copy);
                let product = Product {
                    k: columns.len(),
                    a,
                    b: shape.rows(y, y_first + columns.start..y_first + columns.end, at),
                    c: out[shape.part(group.tokens.start - first, at)..].as_mut_ptr(),
                    c_row: shape.size(),
                    accumulate: true,
                };
                // SAFETY: A, B and C are inside of the operands, or A is inside of the copy; `out` has a token for each row.
                unsafe { product.compute(isa, 0..group.tokens.len(), 0..shape.width) };
            }
        }
        add_pairs(group.common.end..usize::MAX, out);
    }
}

/// For the tokens of `Y` in one row, the weighted sums of the tokens of `X` in their pairs, which are those of `tokens`.
pub(super) fn spread<T: Float>(
    pairs: &Pairs<'_>,
    mut tokens: Range<usize>,
    shape: Shape,
    [w, x]: [&[T]; 2],
    out: &mut [T],
) {
    let (isa, lead, mut copy) = (pairs.isa, shape.lead, [T::ZERO; BLOCK]);
    out.fill(T::ZERO);
    while let Some((group, _)) = pairs.next_group(&mut tokens, MIXED_SUMS) {
        let differing = if group.is_uniform() { 0..0 } else { group.tokens.clone() };
        for token in differing {
            for pair in pairs.of(token).filter(|pair| !group.common.contains(&pairs.at(*pair))) {
                let out = &mut out[shape.part(pairs.at(pair), 0)..][..shape.size()];
                add(isa, shape, &w[pair * lead..], &x[shape.part(token, 0)..], out);
            }
        }
        for columns in chunks(&group.common, COLUMNS_OF_SUMS) {
            for at in 0..lead {
                let a = weights(pairs, &group, columns.clone(), [lead, at], w, &mut copy);
                let product = Product {
                    k: group.tokens.len(),
                    a: Operand { start: a.start, row: a.column, column: a.row },
                    b: shape.rows(x, group.tokens.clone(), at),
                    c: out[shape.part(columns.start, at)..].as_mut_ptr(),
                    c_row: shape.size(),
                    accumulate: true,
                };
                // SAFETY: A, B and C are inside of the operands, or A is inside of the copy; `out` has a token for each
                // column.
                unsafe { product.compute(isa, 0..columns.len(), 0..shape.width) };
            }
        }
    }
}

/// A range in parts of `size`.
pub(in crate::cpu::ops) fn chunks(range: &Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.clone().step_by(size).map(move |first| first..end.min(first + size))
}

/// The weights of the pairs of a group's tokens with some positions that all of them have: a row for each token. Those of tokens
/// that differ in other positions are copied.
fn weights<T: Float>(
    pairs: &Pairs<'_>,
    group: &Group,
    columns: Range<usize>,
    [lead, at]: [usize; 2],
    w: &[T],
    copy: &mut [T; BLOCK],
) -> Operand<T> {
    // The weight of a token and the first of these positions.
    let first = |token| {
        let of_token = pairs.of(token);
        (of_token.start + columns.start - pairs.at(of_token.start)) * lead + at
    };
    if group.is_uniform() {
        let last = first(group.tokens.end - 1) + (columns.len() - 1) * lead;
        let start = w[first(group.tokens.start)..=last].as_ptr();
        return Operand { start, row: group.common.len() * lead, column: lead };
    }
    for (row, token) in copy.chunks_exact_mut(columns.len()).zip(group.tokens.clone()) {
        let weights = w[first(token)..].iter().step_by(lead);
        row.iter_mut().zip(weights).for_each(|(to, weight)| *to = *weight);
    }
    Operand { start: copy.as_ptr(), row: columns.len(), column: 1 }
}

dispatch! {
    /// The products of the parts of two tokens.
    wide if T::WIDE;
    pub(in crate::cpu::ops) fn chains<const FUSED: bool, T: Float>(isa, shape: Shape, x: &[T], y: &[T], out: &mut [T]) {
        for (at, out) in out.iter_mut().enumerate() {
            let part = shape.part(0, at)..shape.part(0, at + 1);
            let terms = x[part.clone()].iter().zip(&y[part]);
            *out = terms.fold(T::ZERO, |sum, (x, y)| x.times_plus::<FUSED>(*y, sum));
        }
    }
}

dispatch! {
    /// Adds a token to another, each part times its weight.
    wide if T::WIDE;
    pub(in crate::cpu::ops) fn add<const FUSED: bool, T: Float>(isa, shape: Shape, weights: &[T], from: &[T], to: &mut [T]) {
        for (at, weight) in weights[..shape.lead].iter().enumerate() {
            let part = shape.part(0, at)..shape.part(0, at + 1);
            for (to, from) in to[part.clone()].iter_mut().zip(&from[part]) {
                *to = weight.times_plus::<FUSED>(*from, *to);
            }
        }
    }
}
