//! Sums whose order depends on their length alone, and whose rounding errors grow with its logarithm.

use super::number::Float;

/// Sums that are computed side by side.
pub(super) const LANES: usize = 64;
/// How many terms are added in a row before the sum is added to the next level.
const RADIX: usize = 8;
const LEVELS: usize = 10;

/// `LANES` sums over the same number of terms. Terms are added `RADIX` at a time, as are sums of so many terms, and
/// so on: no term goes through more than about `RADIX · log(terms)` additions.
pub(super) struct Sums<T> {
    levels: [[T; LANES]; LEVELS],
    added: usize,
}

impl<T: Float> Sums<T> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Sums { levels: [[T::ZERO; LANES]; LEVELS], added: 0 }
    }

    /// Adds `rows` rows of `width` elements, one to a lane, which are `stride` apart.
    #[inline(always)]
    pub(super) fn add(&mut self, rows: &[T], stride: usize, count: usize, width: usize) {
        let mut first = 0;
        while first < count {
            let some = RADIX.min(count - first);
            let sums = add_rows(&rows[first * stride..], stride, some, width);
            self.carry(sums);
            first += some;
        }
    }

    #[inline(always)]
    fn carry(&mut self, sums: [T; LANES]) {
        accumulate(&mut self.levels[0], &sums);
        self.added += 1;
        let (mut level, mut added) = (0, self.added);
        while added.is_multiple_of(RADIX) && level + 1 < LEVELS {
            let sums = std::mem::replace(&mut self.levels[level], [T::ZERO; LANES]);
            accumulate(&mut self.levels[level + 1], &sums);
            level += 1;
            added /= RADIX;
        }
    }

    /// The sums.
    #[inline(always)]
    pub(super) fn finish(self) -> [T; LANES] {
        let mut sums = self.levels[0];
        let mut rest = self.added / RADIX;
        for level in &self.levels[1..] {
            if rest == 0 {
                break;
            }
            accumulate(&mut sums, level);
            rest /= RADIX;
        }
        sums
    }
}

#[inline(always)]
fn accumulate<T: Float>(sums: &mut [T; LANES], terms: &[T; LANES]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += *term;
    }
}

/// The sums of a few rows, in order.
#[inline(always)]
pub(super) fn add_rows<T: Float>(rows: &[T], stride: usize, count: usize, width: usize) -> [T; LANES] {
    let mut sums = [T::ZERO; LANES];
    if width == LANES {
        for i in 0..count {
            let row = &rows[i * stride..][..LANES];
            for (sum, term) in sums.iter_mut().zip(row) {
                *sum += *term;
            }
        }
    } else {
        for i in 0..count {
            let row = &rows[i * stride..][..width];
            for (sum, term) in sums.iter_mut().zip(row) {
                *sum += *term;
            }
        }
    }
    sums
}

/// The sum of all lanes.
#[inline(always)]
pub(super) fn total<T: Float>(mut sums: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = sums.split_at_mut(half);
        for (low, high) in low.iter_mut().zip(high) {
            *low += *high;
        }
        half /= 2;
    }
    sums[0]
}

/// The sum of a slice.
#[inline(always)]
pub(super) fn sum<T: Float>(terms: &[T]) -> T {
    if terms.len() <= RADIX {
        return terms.iter().fold(T::ZERO, |sum, term| sum + *term);
    }
    if terms.len() <= RADIX * LANES {
        let (rows, rest) = (terms.len() / LANES, terms.len() % LANES);
        let mut sums = add_rows(terms, LANES, rows, LANES);
        for (sum, term) in sums.iter_mut().zip(&terms[terms.len() - rest..]) {
            *sum += *term;
        }
        return total(sums);
    }
    let mut sums = Sums::new();
    add_slice(&mut sums, terms);
    total(sums.finish())
}

/// Adds a slice, `LANES` elements at a time.
#[inline(always)]
pub(super) fn add_slice<T: Float>(sums: &mut Sums<T>, terms: &[T]) {
    let (rows, rest) = (terms.len() / LANES, terms.len() % LANES);
    sums.add(terms, LANES, rows, LANES);
    if rest > 0 {
        sums.add(&terms[terms.len() - rest..], LANES, 1, rest);
    }
}
