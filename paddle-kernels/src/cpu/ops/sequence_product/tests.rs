//! Compares the three operators with their definition, on pairs of many kinds, and checks that groups of tokens change no bit.

use std::ops::Range;

use super::blocks::{Shape, products, spread, sums};
use super::pairs::Pairs;
use crate::cpu::isa::Isa;
use crate::random::Random;

/// The positions of a token of `X` among `length` of `Y`.
pub(in crate::cpu::ops) type Positions = fn(usize, usize) -> Vec<i64>;

pub(in crate::cpu::ops) const KINDS: [(&str, Positions); 6] = [
    ("all", |_, length| (0..length as i64).collect()),
    ("those before, and itself", |token, length| (0..(token + 1).min(length) as i64).collect()),
    ("those near", |token, length| {
        (token.saturating_sub(5).min(length) as i64..(token + 6).min(length) as i64).collect()
    }),
    ("every third", |token, length| (token as i64 % 3..length as i64).step_by(3).collect()),
    ("backwards", |_, length| (0..length as i64).rev().collect()),
    ("ranges, others and none", |token, length| match token % 4 {
        0 => Vec::new(),
        1 => (0..length as i64).filter(|at| at % 7 != 3).collect(),
        _ => (length as i64 / 3..length as i64).collect(),
    }),
];

/// The lengths of the rows of `X` and of `Y`: some need several blocks, of which an interpreter takes hours for the longest.
pub(in crate::cpu::ops) const LENGTHS: [[usize; 2]; 5] = if cfg!(any(miri, slow)) {
    [[3, 3], [0, 4], [2, 17], [9, 4], [1, 1]]
} else {
    [[3, 3], [0, 4], [70, 150], [150, 70], [9, 1]]
};

/// An interpreter takes minutes for all of them.
pub(in crate::cpu::ops) fn kinds() -> impl Iterator<Item = (&'static str, Positions)> {
    KINDS.into_iter().skip(if cfg!(any(miri, slow)) { 1 } else { 0 }).step_by(if cfg!(miri) { 2 } else { 1 })
}

pub(in crate::cpu::ops) struct Case {
    pub(in crate::cpu::ops) x: Vec<i64>,
    y: Vec<i64>,
    ends: Vec<i64>,
    index: Vec<i64>,
}

impl Case {
    pub(in crate::cpu::ops) fn new(positions: Positions, lengths: &[[usize; 2]]) -> Self {
        let mut case = Case { x: vec![0], y: vec![0], ends: vec![0], index: Vec::new() };
        for &[x, y] in lengths {
            for token in 0..x {
                case.index.extend(positions(token, y));
                case.ends.push(case.index.len() as i64);
            }
            case.x.push(case.x[case.x.len() - 1] + x as i64);
            case.y.push(case.y[case.y.len() - 1] + y as i64);
        }
        case
    }

    pub(in crate::cpu::ops) fn pairs(&self, isa: Isa) -> Pairs<'_> {
        Pairs { isa, x: &self.x, y: &self.y, ends: &self.ends, index: &self.index }
    }

    pub(in crate::cpu::ops) fn tokens(&self) -> [usize; 2] {
        [&self.x, &self.y].map(|offsets| offsets[offsets.len() - 1] as usize)
    }

    /// Calls `each` with each pair: its number, and the numbers of its tokens.
    pub(in crate::cpu::ops) fn each(&self, mut each: impl FnMut(usize, [usize; 2])) {
        for row in 0..self.x.len() - 1 {
            for token in self.x[row] as usize..self.x[row + 1] as usize {
                for pair in self.ends[token] as usize..self.ends[token + 1] as usize {
                    each(pair, [token, (self.y[row] + self.index[pair]) as usize]);
                }
            }
        }
    }
}

pub(in crate::cpu::ops) fn numbers(count: usize, stream: u64) -> Vec<f64> {
    let random = Random { seed: 3, stream };
    (0..count as u64).map(|i| random.uniform(i, -1.0, 1.0)).collect()
}

pub(in crate::cpu::ops) fn rounded(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|number| *number as f32).collect()
}

/// The operands of a case: the elements of `X`, those of `Y`, and a weight for each pair.
fn operands(case: &Case, shape: Shape) -> [Vec<f32>; 3] {
    let [x, y] = case.tokens();
    [(x * shape.size(), 1), (y * shape.size(), 2), (case.index.len() * shape.lead, 3)]
        .map(|(count, stream)| rounded(&numbers(count, stream)))
}

fn assert_near(found: &[f32], exact: &[f64], what: &str) {
    for (i, (found, exact)) in found.iter().zip(exact).enumerate() {
        assert!((f64::from(*found) - exact).abs() < 1e-4, "{what}: element {i} is {found}, not {exact}");
    }
}

#[test]
fn results_are_those_of_the_definition() {
    for (kind, positions) in kinds() {
        let case = Case::new(positions, &LENGTHS);
        for shape in [
            Shape { lead: 1, width: 5 },
            Shape { lead: 3, width: if cfg!(any(miri, slow)) { 7 } else { 32 } },
        ] {
            let [x, y, w] = operands(&case, shape);
            let mut exact = [vec![0.0; w.len()], vec![0.0; x.len()], vec![0.0; y.len()]];
            case.each(|pair, [a, b]| {
                for at in 0..shape.lead {
                    for e in 0..shape.width {
                        let (a, b) = (
                            (a * shape.lead + at) * shape.width + e,
                            (b * shape.lead + at) * shape.width + e,
                        );
                        let weight = pair * shape.lead + at;
                        let [of_pair, of_x, of_y] = &mut exact;
                        of_pair[weight] += f64::from(x[a]) * f64::from(y[b]);
                        of_x[a] += f64::from(w[weight]) * f64::from(y[b]);
                        of_y[b] += f64::from(w[weight]) * f64::from(x[a]);
                    }
                }
            });
            for isa in Isa::available() {
                let what = format!("{kind}, {} parts, {}", shape.lead, isa.name());
                let found = all(isa, &case, shape, [&x, &y, &w]);
                for (found, exact) in found.iter().zip(&exact) {
                    assert_near(found, exact, &what);
                }
            }
        }
    }
}

/// The results of the three operators.
fn all(isa: Isa, case: &Case, shape: Shape, [x, y, w]: [&[f32]; 3]) -> [Vec<f32>; 3] {
    let (pairs, [tokens, others]) = (case.pairs(isa), case.tokens());
    let mut found = [vec![9.0; w.len()], vec![9.0; x.len()], vec![9.0; y.len()]];
    let [of_pairs, of_x, of_y] = &mut found;
    products(&pairs, 0..tokens, shape, [x, y], of_pairs);
    sums(&pairs, 0..tokens, shape, [w, y], of_x);
    assert_eq!(others * shape.size(), of_y.len());
    for row in 0..case.x.len() - 1 {
        let tokens = |offsets: &[i64]| -> Range<usize> { offsets[row] as usize..offsets[row + 1] as usize };
        let part = tokens(&case.y).start * shape.size()..tokens(&case.y).end * shape.size();
        spread(&pairs, tokens(&case.x), shape, [w, x], &mut of_y[part]);
    }
    found
}

#[test]
fn groups_change_no_bit() {
    for (kind, positions) in kinds() {
        let (case, shape) = (
            Case::new(positions, &LENGTHS),
            Shape { lead: 2, width: if cfg!(any(miri, slow)) { 5 } else { 20 } },
        );
        let [x, y, w] = operands(&case, shape);
        for isa in Isa::available() {
            let whole = all(isa, &case, shape, [&x, &y, &w]);
            let pairs = case.pairs(isa);
            let (mut of_pairs, mut of_x) = (vec![0.0; w.len()], vec![0.0; x.len()]);
            for token in 0..case.tokens()[0] {
                let part = pairs.of(token).start * shape.lead..pairs.of(token).end * shape.lead;
                products(&pairs, token..token + 1, shape, [&x, &y], &mut of_pairs[part]);
                let part = token * shape.size()..(token + 1) * shape.size();
                sums(&pairs, token..token + 1, shape, [&w, &y], &mut of_x[part]);
            }
            assert!(whole[0] == of_pairs && whole[1] == of_x, "{kind} on {}", isa.name());
        }
    }
}

/// What a token is not paired with does not reach it, whatever it is.
#[test]
fn infinite_tokens_reach_their_pairs_alone() {
    let (_, positions) = KINDS[1];
    let length = if cfg!(any(miri, slow)) { 10 } else { 40 };
    let (case, shape) = (Case::new(positions, &[[length; 2]]), Shape { lead: 2, width: 16 });
    let [mut x, mut y, w] = operands(&case, shape);
    for last in [&mut x, &mut y] {
        let first = last.len() - shape.size();
        last[first..].fill(f32::INFINITY);
    }
    for isa in Isa::available() {
        let [of_pairs, of_x, of_y] = all(isa, &case, shape, [&x, &y, &w]);
        let before = case.ends[length - 1] as usize * shape.lead;
        assert!(of_pairs[..before].iter().all(|product| product.is_finite()), "{}", isa.name());
        assert!(of_x[..(length - 1) * shape.size()].iter().all(|sum| sum.is_finite()), "{}", isa.name());
        assert!(!of_y.iter().any(|sum| sum.is_finite()), "the last token is paired with all");
    }
}
