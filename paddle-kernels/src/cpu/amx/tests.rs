//! Products by tiles against sums of products of rounded numbers.

use super::*;
use crate::cpu::isa::Isa;
use crate::cpu::multiplier::Multiplier;
use crate::team::Team;

/// Whole numbers, whose products and sums are exact.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|at| ((at * 7 + seed * 13 + at / 11) % 17) as f32 - 8.0).collect()
}

/// The products on a team, and whether they were finished while they were computed. What is finished is doubled.
fn computed(
    threads: usize,
    (product, factors): (Matmul, Factors),
    [left, b]: [&[f32]; 2],
    count: usize,
) -> Option<(Vec<f32>, bool)> {
    let isa = Isa::available().find(|isa| isa.has_tiles())?;
    let machine = Machine { team: Team::new(threads).unwrap(), isa, multiplier: Multiplier::Own };
    let mut right = vec![Pair::of(f32::NAN, f32::NAN); count * packed_len(&product, factors)];
    pack_right(&machine, (&product, factors), count, b, &mut right);
    let factors_of = &|at| [at, count - 1 - at];
    let products = Products { product, factors, count, left, right: &right, factors_of };
    let mut c = vec![f32::NAN; count * product.m * product.n];
    let to = Shared(c.as_mut_ptr());
    // SAFETY: C has as many products.
    let is_finished = unsafe {
        products.run(&machine, to.0, &|elements| {
            for at in elements {
                *to.at(at) *= 2.0;
            }
        })
    };
    Some((c, is_finished))
}

#[test]
fn products_are_exact_where_numbers_are() {
    for [m, n, k] in [
        [1, 1, 1],
        [1, 10, 40],
        [16, 16, 32],
        [17, 33, 31],
        [32, 32, 64],
        [40, 70, 100],
        [97, 128, 65],
        [33, 5, 1100],
        [3, 7, 0],
        [0, 4, 5],
        [64, 300, 70],
    ] {
        for (trans_a, trans_b) in [(false, false), (false, true), (true, false), (true, true)] {
            for (threads, count, factors) in [
                (1, 1, Factors::Numbers),
                (3, 1, Factors::Sums),
                (2, 3, Factors::Numbers),
                (1, 2, Factors::Sums),
            ] {
                let product = (Matmul { m, n, k, trans_a, trans_b }, factors);
                let (a, b) = (numbers(count * m * k, 1), numbers(count * k * n, 2));
                let Some((found, is_finished)) = computed(threads, product, [&a, &b], count) else { return };
                for (at, found) in found.iter().enumerate() {
                    let (matrix, i, j) = (at / (m * n), at / n % m, at % n);
                    let (a, b) = (&a[matrix * m * k..], &b[(count - 1 - matrix) * k * n..]);
                    let term = |p: usize| {
                        let a = if trans_a { a[p * m + i] } else { a[i * k + p] };
                        a * if trans_b { b[j * k + p] } else { b[p * n + j] }
                    };
                    let sum: f32 = (0..k).map(term).sum();
                    let expected = if is_finished { 2.0 * sum } else { sum };
                    assert_eq!(*found, expected, "{product:?} × {count} on {threads}: element {at}");
                }
            }
        }
    }
}

#[test]
fn bits_depend_on_the_row_and_the_column_alone() {
    let (n, k) = (75, 1300);
    let real = |count: usize| (0..count).map(|at| ((at * 31 % 1009) as f32 / 1009.0 - 0.4).powi(3));
    let (a, b): (Vec<f32>, Vec<f32>) = (real(70 * k).collect(), real(k * n).collect());
    let product = |m| (Matmul { m, n, k, trans_a: false, trans_b: false }, Factors::Sums);
    let Some((expected, is_finished)) = computed(1, product(70), [&a, &b], 1) else { return };
    assert!(is_finished);
    for threads in [2, 3, 7] {
        let (mut found, is_finished) = computed(threads, product(70), [&a, &b], 1).unwrap();
        if !is_finished {
            found.iter_mut().for_each(|found| *found *= 2.0);
        }
        assert!(found == expected, "on {threads} threads");
    }
    for row in [0, 15, 16, 69] {
        let (found, _) = computed(1, product(1), [&a[row * k..][..k], &b], 1).unwrap();
        assert!(found == expected[row * n..][..n], "row {row} by itself");
    }
}

/// What the rests of factors add. Products of numbers that are not finite are not, either.
#[test]
fn sums_of_two_numbers_have_sixteen_significant_bits() {
    let (m, n, k) = (40, 50, 300);
    let real = |count: usize, step: usize| -> Vec<f32> {
        (0..count).map(|at| ((at * step % 10007) as f32 / 5003.0 - 1.0).powi(3)).collect()
    };
    for (trans_a, trans_b) in [(false, false), (true, true)] {
        let product = Matmul { m, n, k, trans_a, trans_b };
        let (a, b) = (real(m * k, 7919), real(k * n, 6133));
        let worst = |factors: Factors| -> Option<f64> {
            let (found, _) = computed(1, (product, factors), [&a, &b], 1)?;
            let error = |at: usize| {
                let (i, j) = (at / n, at % n);
                let term = |p: usize| {
                    let a = if trans_a { a[p * m + i] } else { a[i * k + p] };
                    f64::from(a) * f64::from(if trans_b { b[j * k + p] } else { b[p * n + j] })
                };
                let (sum, scale): (f64, f64) = ((0..k).map(term).sum(), (0..k).map(|p| term(p).abs()).sum());
                (f64::from(found[at]) / 2.0 - sum).abs() / scale
            };
            Some((0..m * n).map(error).fold(0.0, f64::max))
        };
        let (Some(numbers), Some(sums)) = (worst(Factors::Numbers), worst(Factors::Sums)) else { return };
        assert!(numbers > 2f64.powi(-13), "numbers are not rounded: {numbers:e}");
        assert!(sums < 2f64.powi(-17), "{sums:e}");
    }
    for far in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let product = Matmul { m: 1, n: 1, k: 2, trans_a: false, trans_b: false };
        let (found, _) = computed(1, (product, Factors::Sums), [&[far, 1.5], &[2.5, 3.0]], 1).unwrap();
        assert!(!found[0].is_finite(), "{far}: {found:?}");
    }
}
