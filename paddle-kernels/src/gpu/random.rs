//! The random bits of every backend (`crate::random`), as a form.

use super::form::{Long, Register, Unsigned, seed};

/// The word at a position of a stream.
pub(super) fn word(position: Long, stream: u64) -> Unsigned {
    let u = Unsigned::of;
    // Position / 4, which is unsigned.
    let block = [(position.low >> u(2)) | (position.high << u(30)), position.high >> u(2)];
    let words = philox([block[0], block[1], u(stream as u32), u((stream >> 32) as u32)], seed());
    let place = position.low & u(3);
    (0..3).fold(words[3], |found, at| Unsigned::choose(place.is(u(at as u32)), words[at], found))
}

/// Philox4x32 with ten rounds.
fn philox(mut counter: [Unsigned; 4], mut key: [Unsigned; 2]) -> [Unsigned; 4] {
    const ROUNDS: usize = 10;
    const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    let multipliers = MULTIPLIERS.map(Unsigned::of);
    let weyl = WEYL.map(Unsigned::of);
    for _ in 0..ROUNDS {
        let high = [multipliers[0].multiply_high(counter[0]), multipliers[1].multiply_high(counter[2])];
        let low = [multipliers[0] * counter[0], multipliers[1] * counter[2]];
        counter = [high[1] ^ counter[1] ^ key[0], low[1], high[0] ^ counter[3] ^ key[1], low[0]];
        key = [key[0] + weyl[0], key[1] + weyl[1]];
    }
    counter
}
