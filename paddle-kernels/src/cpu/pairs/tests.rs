//! Rounding against its definition, and packing against pairs one by one.

use super::*;
use crate::cpu::isa::Isa;
use crate::cpu::kernel::Machine;
use crate::cpu::multiplier::Multiplier;
use crate::team::Team;

/// The halves of a pair, as numbers.
fn halves(pair: Pair) -> [f32; 2] {
    [pair.0 << 16, pair.0 & 0xFFFF_0000].map(f32::from_bits)
}

/// A number between two that bf16 has, or one of them.
const NUMBERS: [(f32, f32); 12] = [
    (0.0, 0.0),
    (-0.0, -0.0),
    (1.0, 1.0),
    (1.003, 1.0),
    // Ties: to the even one.
    (1.0 + 1.0 / 256.0, 1.0),
    (1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0),
    (-1.0 - 1.0 / 256.0, -1.0),
    (1.0039064, 1.0078125),
    (3.0e38, 3.0040553e38),
    (f32::MAX, f32::INFINITY),
    (f32::INFINITY, f32::INFINITY),
    (f32::NEG_INFINITY, f32::NEG_INFINITY),
];

#[test]
fn numbers_are_rounded_to_the_nearest_and_ties_to_even() {
    for (value, expected) in NUMBERS {
        let [first, second] = halves(Pair::of(value, -value));
        let close = |found: f32, expected: f32| found == expected || (found / expected - 1.0).abs() < 1e-4;
        assert!(close(first, expected) && close(second, -expected), "{value}: {first}, {second}");
        assert_eq!(first.is_sign_negative(), value.is_sign_negative());
    }
    for bits in [0x7FC0_0000, 0x7F80_0001, 0x7FFF_FFFF, 0xFF80_0001] {
        let [first, second] = halves(Pair::of(f32::from_bits(bits), 1.0));
        assert!(first.is_nan() && second == 1.0, "{bits:x}");
    }
}

#[test]
fn every_instruction_set_packs_the_same_pairs() {
    let mut numbers: Vec<f32> = (0..1500).map(|i: i32| (i - 700) as f32 / 37.0).collect();
    for (at, (value, _)) in NUMBERS.into_iter().enumerate() {
        numbers[at * 7] = value;
    }
    for (isa, threads) in Isa::available().flat_map(|isa| [(isa, 1), (isa, 3)]) {
        let machine = Machine { team: Team::new(threads).unwrap(), isa, multiplier: Multiplier::Own };
        for [matrices, lines, length] in
            [[1, 1, 1], [2, 3, 5], [1, 7, 33], [3, 4, 32], [1, 3, 500], [2, 0, 3]]
        {
            let from = &numbers[..matrices * lines * length];
            for way in [Way::Along, Way::Across] {
                let pairing = Pairing { matrices, lines, length, way };
                let mut found = vec![Pair(7); pairing.pairs()];
                pairing.pack(&machine, from, &mut found);
                let at = |matrix: usize, line: usize, i: usize| match line < lines && i < length {
                    true => from[(matrix * lines + line) * length + i],
                    false => 0.0,
                };
                let mut expected = Vec::new();
                for matrix in 0..matrices {
                    match way {
                        Way::Along => (0..lines).for_each(|line| {
                            let pair =
                                |i: usize| Pair::of(at(matrix, line, 2 * i), at(matrix, line, 2 * i + 1));
                            expected.extend((0..length.div_ceil(2)).map(pair));
                        }),
                        Way::Across => (0..lines.div_ceil(2)).for_each(|line| {
                            let pair = |i| Pair::of(at(matrix, 2 * line, i), at(matrix, 2 * line + 1, i));
                            expected.extend((0..length).map(pair));
                        }),
                    }
                }
                assert!(found == expected, "{pairing:?} {isa:?}");
            }
        }
    }
}
