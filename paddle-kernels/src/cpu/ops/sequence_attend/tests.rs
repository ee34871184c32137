//! Compares attention with its definition, on pairs of many kinds, and with what tokens get that are computed alone.

use super::head::{Head, attend, differentiate};
use crate::cpu::isa::Isa;
use crate::cpu::ops::attention::{PartMut, Tiles};
use crate::cpu::ops::sequence_product::blocks::Shape;
use crate::cpu::ops::sequence_product::tests::{Case, KINDS, LENGTHS, kinds, numbers, rounded};
use crate::cpu::shared::Shared;

/// The operands of a case, and their sizes.
struct Operands {
    keys: Shape,
    values: Shape,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    grad: Vec<f32>,
}

impl Operands {
    fn new(case: &Case, lead: usize, [keys, values]: [usize; 2]) -> Self {
        let [x, y] = case.tokens();
        let [keys, values] = [keys, values].map(|width| Shape { lead, width });
        let of = |count: usize, stream| rounded(&numbers(count, stream));
        Operands {
            keys,
            values,
            q: of(x * keys.size(), 1),
            k: of(y * keys.size(), 2),
            v: of(y * values.size(), 3),
            grad: of(x * values.size(), 4),
        }
    }
}

/// The means, the logarithms of sums, and the gradients of queries, keys and values.
fn all(isa: Isa, case: &Case, of: &Operands) -> [Vec<f32>; 5] {
    let Operands { keys, values, q, k, v, grad } = of;
    let pairs = case.pairs(isa);
    let head = |row, at| Head { pairs: &pairs, row, at, keys: *keys, values: *values, q, k, v };
    let heads = || (0..case.x.len() - 1).flat_map(|row| (0..keys.lead).map(move |at| (row, at)));
    let mut tiles = Tiles::new();
    let [mut out, mut sums] = [vec![9.0; grad.len()], vec![9.0; q.len() / keys.width]];
    let shared = (Shared(out.as_mut_ptr()), Shared(sums.as_mut_ptr()));
    for (row, at) in heads() {
        // SAFETY: there is one thread.
        unsafe {
            let sums = PartMut::new(&shared.1, at, keys.lead, 1);
            let out = PartMut::new(&shared.0, values.part(0, at), values.size(), values.width);
            attend(&head(row, at), &mut tiles, out, sums);
        }
    }
    let mut grads = [vec![9.0; q.len()], vec![9.0; k.len()], vec![9.0; v.len()]];
    let shared = grads.each_mut().map(|grad| Shared(grad.as_mut_ptr()));
    for (row, at) in heads() {
        let [of_q, of_k, of_v] = &shared;
        // SAFETY: there is one thread.
        unsafe {
            let asked = pairs.y[row] as usize;
            let parts = [(of_q, keys, 0), (of_k, keys, asked), (of_v, values, asked)];
            let parts = parts
                .map(|(of, shape, first)| PartMut::new(of, shape.part(first, at), shape.size(), shape.width));
            differentiate(&head(row, at), &mut tiles, [&out, grad], &sums, parts);
        }
    }
    let [of_q, of_k, of_v] = grads;
    [out, sums, of_q, of_k, of_v]
}

/// The same in double precision, pair by pair.
fn exact(case: &Case, of: &Operands) -> [Vec<f64>; 5] {
    let Operands { keys, values, q, k, v, grad } = of;
    let lead = keys.lead;
    let dot = |shape: &Shape, at: usize, [x, y]: [&[f32]; 2], [a, b]: [usize; 2]| {
        let [a, b] = [a, b].map(|token| (token * lead + at) * shape.width);
        (0..shape.width).map(|i| f64::from(x[a + i]) * f64::from(y[b + i])).sum::<f64>()
    };
    let mut out = vec![0.0; grad.len()];
    let mut sums = vec![0.0; q.len() / keys.width];
    let mut grads = [vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; v.len()]];
    for at in 0..lead {
        case.each(|_, [a, b]| sums[a * lead + at] += dot(keys, at, [q, k], [a, b]).exp());
    }
    sums.iter_mut().filter(|sum| **sum != 0.0).for_each(|sum| *sum = sum.ln());
    let weight = |at, [a, b]: [usize; 2]| (dot(keys, at, [q, k], [a, b]) - sums[a * lead + at]).exp();
    let mut means = vec![0.0; sums.len()];
    for at in 0..lead {
        case.each(|_, [a, b]| {
            means[a * lead + at] += weight(at, [a, b]) * dot(values, at, [grad, v], [a, b]);
            for i in 0..values.width {
                let [a_part, b_part] = [a, b].map(|token| (token * lead + at) * values.width + i);
                out[a_part] += weight(at, [a, b]) * f64::from(v[b_part]);
                grads[2][b_part] += weight(at, [a, b]) * f64::from(grad[a_part]);
            }
        });
        case.each(|_, [a, b]| {
            let of_weight = dot(values, at, [grad, v], [a, b]) - means[a * lead + at];
            for i in 0..keys.width {
                let [a_part, b_part] = [a, b].map(|token| (token * lead + at) * keys.width + i);
                grads[0][a_part] += weight(at, [a, b]) * of_weight * f64::from(k[b_part]);
                grads[1][b_part] += weight(at, [a, b]) * of_weight * f64::from(q[a_part]);
            }
        });
    }
    let [of_q, of_k, of_v] = grads;
    [out, sums, of_q, of_k, of_v]
}

#[test]
fn results_are_those_of_the_definition() {
    for (kind, positions) in kinds() {
        let case = Case::new(positions, &LENGTHS);
        for (lead, widths) in [(1, [5, 3]), (3, if cfg!(any(miri, slow)) { [3, 7] } else { [20, 33] })] {
            let operands = Operands::new(&case, lead, widths);
            let exact = exact(&case, &operands);
            for isa in Isa::available() {
                for (k, (found, exact)) in all(isa, &case, &operands).iter().zip(&exact).enumerate() {
                    for (i, (found, exact)) in found.iter().zip(exact).enumerate() {
                        let what = format!("{kind}, {lead} heads, {}: result {k}, {i}", isa.name());
                        let error = (f64::from(*found) - exact).abs();
                        assert!(error < 1e-4, "{what} is {found}, not {exact}");
                    }
                }
            }
        }
    }
}

/// What a token is not paired with does not reach it, whatever it is; and tokens that are computed alone because of that have the
/// bits that they have in tiles.
#[test]
fn infinite_tokens_reach_their_pairs_alone() {
    let (_, positions) = KINDS[1];
    let length = if cfg!(any(miri, slow)) { 10 } else { 100 };
    let case = Case::new(positions, &[[length; 2]]);
    let finite = Operands::new(&case, 2, [16, 24]);
    let mut operands = Operands::new(&case, 2, [16, 24]);
    let [keys, values] = [finite.keys.size(), finite.values.size()];
    for (last, size) in [(&mut operands.k, keys), (&mut operands.v, values)] {
        let first = last.len() - size;
        last[first..].fill(f32::INFINITY);
    }
    let [before, values_before] = [keys, values].map(|size| (length - 1) * size);
    for isa in Isa::available() {
        let [out, sums, of_q, ..] = all(isa, &case, &operands);
        let same = all(isa, &case, &finite);
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(
            !out[values_before..].iter().any(|mean| mean.is_finite()),
            "the last token is paired with all"
        );
        assert!(bits(&out[..values_before]) == bits(&same[0][..values_before]), "{}", isa.name());
        assert!(bits(&sums[..2 * (length - 1)]) == bits(&same[1][..2 * (length - 1)]), "{}", isa.name());
        assert!(bits(&of_q[..before]) == bits(&same[2][..before]), "{}", isa.name());
    }
    // A gradient that is infinite reaches what its token is paired with.
    operands.grad[values_before] = f32::INFINITY;
    let [_, _, of_q, ..] = all(Isa::available().next().unwrap(), &case, &operands);
    assert!(of_q[..before].iter().all(|x| x.is_finite()));
}
