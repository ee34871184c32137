//! The pairs of tokens, and the tokens whose pairs can be computed together.

use std::ops::Range;

use paddle_core::plan::KernelError;

use crate::cpu::isa::{Isa, dispatch};
use crate::messages::no_such_token;

/// The pairs of tokens.
pub(in crate::cpu::ops) struct Pairs<'a> {
    pub(in crate::cpu::ops) isa: Isa,
    /// The offsets of the sequences of `X` and of `Y`.
    pub(in crate::cpu::ops) x: &'a [i64],
    pub(in crate::cpu::ops) y: &'a [i64],
    /// The offsets of the pairs of each token of `X`.
    pub(in crate::cpu::ops) ends: &'a [i64],
    /// The positions of tokens of `Y`.
    pub(in crate::cpu::ops) index: &'a [i64],
}

/// Tokens of `X` that follow each other, each of which is paired with a range of positions; or one other token.
pub(in crate::cpu::ops) struct Group {
    pub(in crate::cpu::ops) tokens: Range<usize>,
    /// The positions that all of these tokens are paired with; never empty, unless no token has any.
    pub(in crate::cpu::ops) common: Range<usize>,
    /// The positions that any of these tokens is paired with.
    pub(in crate::cpu::ops) all: Range<usize>,
    /// Whether the positions of each token are a range.
    pub(in crate::cpu::ops) is_of_ranges: bool,
}

impl Group {
    /// Whether all tokens have the same range of positions.
    pub(in crate::cpu::ops) fn is_uniform(&self) -> bool {
        self.is_of_ranges && self.common == self.all
    }
}

impl Pairs<'_> {
    /// Checks that each position is that of a token.
    pub(in crate::cpu::ops) fn check(&self) -> Result<(), KernelError> {
        for (row, (x, y)) in self.x.windows(2).zip(self.y.windows(2)).enumerate() {
            let length = y[1] - y[0];
            for token in x[0] as usize..x[1] as usize {
                let index = &self.index[self.of(token)];
                let (first, last) = (index.first().map_or(0, |at| *at), index.last().map_or(-1, |at| *at));
                if first >= 0 && last < length && is_range(self.isa, index) {
                    continue;
                }
                if let Some(&at) = index.iter().find(|at| !(0..length).contains(*at)) {
                    return Err(no_such_token(at, row, length));
                }
            }
        }
        Ok(())
    }

    /// The row of a token of `X`.
    fn row_of(&self, token: usize) -> usize {
        self.x.partition_point(|&start| start <= token as i64) - 1
    }

    /// The pairs of a token of `X`.
    pub(in crate::cpu::ops) fn of(&self, token: usize) -> Range<usize> {
        self.ends[token] as usize..self.ends[token + 1] as usize
    }

    /// The position of a pair.
    pub(in crate::cpu::ops) fn at(&self, pair: usize) -> usize {
        self.index[pair] as usize
    }

    /// The positions of a token, if they follow each other.
    fn range(&self, token: usize) -> Option<Range<usize>> {
        let index = &self.index[self.of(token)];
        let first = index.first().map_or(0, |first| *first as usize);
        is_range(self.isa, index).then(|| first..first + index.len())
    }

    /// Takes the next group from some tokens of `X`, with the first token of `Y` in their row. Tokens with other pairs than the
    /// one before them are in a group of at most `mixed`.
    pub(in crate::cpu::ops) fn next_group(
        &self,
        tokens: &mut Range<usize>,
        mixed: usize,
    ) -> Option<(Group, usize)> {
        if tokens.start == tokens.end {
            return None;
        }
        let row = self.row_of(tokens.start);
        let of_row = tokens.start..tokens.end.min(self.x[row + 1] as usize);
        let group = self.group(of_row, mixed);
        tokens.start = group.tokens.end;
        Some((group, self.y[row] as usize))
    }

    /// The group that begins with the first of these tokens.
    fn group(&self, tokens: Range<usize>, mixed: usize) -> Group {
        let mut group =
            Group { tokens: tokens.start..tokens.start + 1, common: 0..0, all: 0..0, is_of_ranges: false };
        let Some(first) = self.range(tokens.start) else { return group };
        (group.common, group.all, group.is_of_ranges) = (first.clone(), first.clone(), true);
        for token in tokens.skip(1) {
            let Some(next) = self.range(token) else { break };
            let is_same = group.is_uniform() && next == first;
            let common = group.common.start.max(next.start)..group.common.end.min(next.end);
            if !is_same && (group.tokens.len() >= mixed || common.is_empty()) {
                break;
            }
            group.tokens.end = token + 1;
            group.common = common;
            group.all = group.all.start.min(next.start)..group.all.end.max(next.end);
        }
        group
    }
}

dispatch! {
    /// Whether positions follow each other. All are compared, which is vector code.
    fn is_range<const FUSED: bool>(isa, index: &[i64]) -> bool {
        let first = index.first().map_or(0, |first| *first);
        index.iter().zip(first..).fold(true, |is, (at, next)| is & (*at == next))
    }
}
