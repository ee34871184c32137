//! Sums. Their order depends on their length alone, and their rounding errors grow with its logarithm.

use super::number::Float;

/// The number of sums that are computed side by side.
pub(super) const LANES: usize = 64;
/// The number of terms that are added in a row before their sum goes to the next level.
pub(super) const RADIX: usize = 8;
const LEVELS: usize = 10;

/// `LANES` sums over the same number of terms. At each level, `RADIX` terms are added before their sum goes to the next
/// level as a term. So no term goes through more than about `RADIX · log(terms)` additions.
pub(super) struct Sums<T> {
    levels: [[T; LANES]; LEVELS],
    added: usize,
}

impl<T: Float> Sums<T> {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Sums { levels: [[T::ZERO; LANES]; LEVELS], added: 0 }
    }

    /// Adds `count` rows that are `stride` apart. Each has `width` elements, one for each lane.
    #[inline(always)]
    pub(super) fn add(&mut self, rows: &[T], stride: usize, count: usize, width: usize) {
        let mut first = 0;
        while first < count {
            let some = RADIX.min(count - first);
            add_rows(&mut self.levels[0], &rows[first * stride..], stride, some, width);
            first += some;
            self.carry();
        }
    }

    /// Moves the sums of full levels to the next ones.
    #[inline(always)]
    fn carry(&mut self) {
        self.added += 1;
        let (mut level, mut added) = (0, self.added);
        while added.is_multiple_of(RADIX) && level + 1 < LEVELS {
            let (full, next) = self.levels[level..].split_at_mut(1);
            for (next, full) in next[0].iter_mut().zip(&mut full[0]) {
                *next += *full;
                *full = T::ZERO;
            }
            level += 1;
            added /= RADIX;
        }
    }

    /// The sums.
    #[inline(always)]
    pub(super) fn finish(&self) -> [T; LANES] {
        let mut sums = self.levels[0];
        let mut rest = self.added / RADIX;
        for level in &self.levels[1..] {
            if rest == 0 {
                break;
            }
            for (sum, term) in sums.iter_mut().zip(level) {
                *sum += *term;
            }
            rest /= RADIX;
        }
        sums
    }
}

/// The sums of `count` rows of at most [`LANES`] elements that are `stride` apart.
#[inline(always)]
pub(super) fn sum_rows<T: Float>(rows: &[T], stride: usize, count: usize, width: usize) -> [T; LANES] {
    if count <= RADIX {
        let mut sums = [T::ZERO; LANES];
        add_rows(&mut sums, rows, stride, count, width);
        return sums;
    }
    let mut sums = Sums::new();
    sums.add(rows, stride, count, width);
    sums.finish()
}

/// Adds at most `RADIX` rows to sums.
#[inline(always)]
fn add_rows<T: Float>(sums: &mut [T; LANES], rows: &[T], stride: usize, count: usize, width: usize) {
    let sums = &mut sums[..width];
    if count == RADIX {
        // All rows are added in one expression, so that sums do not go through memory each time.
        let (a, b) = (&rows[..width], &rows[stride..][..width]);
        let (c, d) = (&rows[2 * stride..][..width], &rows[3 * stride..][..width]);
        let (e, f) = (&rows[4 * stride..][..width], &rows[5 * stride..][..width]);
        let (g, h) = (&rows[6 * stride..][..width], &rows[7 * stride..][..width]);
        for j in 0..width {
            sums[j] += ((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j]));
        }
    } else {
        for i in 0..count {
            for (sum, term) in sums.iter_mut().zip(&rows[i * stride..][..width]) {
                *sum += *term;
            }
        }
    }
}

/// The sum of all lanes, added by halves.
#[inline(always)]
pub(super) fn total<T: Float, const N: usize>(mut sums: [T; N]) -> T {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The sum of a slice.
#[inline(always)]
pub(super) fn sum<T: Float>(terms: &[T]) -> T {
    if terms.len() >= RADIX * LANES {
        let mut sums = Sums::new();
        add_slice(&mut sums, terms);
        return total(sums.finish());
    }
    let (wide, rest) = if terms.len() < LANES { (T::ZERO, terms) } else { side_by_side::<T, 32>(terms) };
    let (narrow, rest) = side_by_side::<T, 8>(rest);
    wide + (narrow + rest.iter().fold(T::ZERO, |sum, term| sum + *term))
}

/// The sum of products.
#[inline(always)]
pub(super) fn dot<T: Float>(x: &[T], y: &[T]) -> T {
    sum_pairs(x, y, |x, y| x * y)
}

/// The sum of `term` over pairs of elements.
#[inline(always)]
pub(super) fn sum_pairs<T: Float>(x: &[T], y: &[T], term: impl Fn(T, T) -> T) -> T {
    let mut terms = [T::ZERO; RADIX * LANES];
    let mut total = T::ZERO;
    for (x, y) in x.chunks(RADIX * LANES).zip(y.chunks(RADIX * LANES)) {
        for ((own, x), y) in terms.iter_mut().zip(x).zip(y) {
            *own = term(*x, *y);
        }
        total += sum(&terms[..x.len()]);
    }
    total
}

/// Sums a slice in `N` lanes: every `N`-th term goes into the same lane. Also returns the rest of the slice, which is
/// too short for a round.
#[inline(always)]
fn side_by_side<T: Float, const N: usize>(terms: &[T]) -> (T, &[T]) {
    let mut sums = [T::ZERO; N];
    let chunks = terms.chunks_exact(N);
    let rest = chunks.remainder();
    for terms in chunks {
        for (sum, term) in sums.iter_mut().zip(terms) {
            *sum += *term;
        }
    }
    (total(sums), rest)
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
