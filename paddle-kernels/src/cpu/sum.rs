//! Sums. Their order depends on their length alone, and their rounding errors grow with its logarithm.

use super::isa::{Isa, dispatch};
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
    pub(super) fn add(&mut self, isa: Isa, rows: &[T], stride: usize, count: usize, width: usize) {
        add(isa, self, rows, stride, count, width);
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
    pub(super) fn finish(&self, isa: Isa) -> [T; LANES] {
        finish(isa, self)
    }

    /// The sum of all sums.
    #[inline(always)]
    pub(super) fn total(&self, isa: Isa) -> T {
        total_of_all(isa, self)
    }
}

// Programs have the code of these once for each instruction set and type, not in each kernel that sums.

dispatch! {
    #[inline(always)]
    wide if T::WIDE;
    fn add<const FUSED: bool, T: Float>(
        isa, sums: &mut Sums<T>, rows: &[T], stride: usize, count: usize, width: usize,
    ) {
        let mut first = 0;
        while first < count {
            let some = RADIX.min(count - first);
            add_rows(&mut sums.levels[0], &rows[first * stride..], stride, some, width);
            first += some;
            sums.carry();
        }
    }
}

dispatch! {
    #[inline(always)]
    wide if T::WIDE;
    fn finish<const FUSED: bool, T: Float>(isa, of: &Sums<T>) -> [T; LANES] {
        let mut sums = of.levels[0];
        let mut rest = of.added / RADIX;
        for level in &of.levels[1..] {
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

dispatch! {
    #[inline(always)]
    wide if T::WIDE;
    fn total_of_all<const FUSED: bool, T: Float>(isa, sums: &Sums<T>) -> T {
        total(sums.finish(isa))
    }
}

dispatch! {
    /// The sums of `count` rows of at most [`LANES`] elements that are `stride` apart.
    #[inline(always)]
    wide if T::WIDE;
    pub(super) fn sum_rows<const FUSED: bool, T: Float>(
        isa, rows: &[T], stride: usize, count: usize, width: usize,
    ) -> [T; LANES] {
        if count <= RADIX {
            let mut sums = [T::ZERO; LANES];
            add_rows(&mut sums, rows, stride, count, width);
            return sums;
        }
        let mut sums = Sums::new();
        sums.add(isa, rows, stride, count, width);
        sums.finish(isa)
    }
}

dispatch! {
    /// The sums of the columns of a dense matrix that has at most half as many as there are lanes. Several rows are added
    /// side by side.
    #[inline(always)]
    wide if T::WIDE;
    pub(super) fn sum_columns<const FUSED: bool, T: Float>(isa, elements: &[T], width: usize) -> [T; LANES] {
        let round = LANES / width * width;
        let rounds = elements.len() / round;
        let mut sums = sum_rows(isa, elements, round, rounds, round);
        for (sum, term) in sums.iter_mut().zip(&elements[rounds * round..]) {
            *sum += *term;
        }
        let (first, others) = sums[..round].split_at_mut(width);
        for others in others.chunks_exact(width) {
            first.iter_mut().zip(others).for_each(|(sum, term)| *sum += *term);
        }
        sums
    }
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
fn total<T: Float, const N: usize>(mut sums: [T; N]) -> T {
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
pub(super) fn sum<T: Float>(isa: Isa, terms: &[T]) -> T {
    if terms.len() >= LANES { sum_of_many(isa, terms) } else { sum_pairs(terms, terms, |term, _| term) }
}

dispatch! {
    /// The sum of at least as many terms as there are lanes.
    #[inline(always)]
    wide if T::WIDE;
    fn sum_of_many<const FUSED: bool, T: Float>(isa, terms: &[T]) -> T {
        if terms.len() >= RADIX * RADIX * LANES {
            let mut sums = Sums::new();
            add_slice(isa, &mut sums, terms);
            return sums.total(isa);
        }
        sum_pairs(terms, terms, |term, _| term)
    }
}

/// The sum of products.
#[inline(always)]
pub(super) fn dot<T: Float>(x: &[T], y: &[T]) -> T {
    sum_pairs(x, y, |x, y| x * y)
}

/// The sum of `term` over pairs of elements. No term is stored.
#[inline(always)]
pub(super) fn sum_pairs<T: Float>(x: &[T], y: &[T], term: impl Fn(T, T) -> T) -> T {
    let level = x.len() / (RADIX * LANES) * (RADIX * LANES);
    let wide = if x.len() - level < LANES { level } else { level + (x.len() - level) / 32 * 32 };
    let narrow = wide + (x.len() - wide) / 8 * 8;
    let mut sums = [T::ZERO; LANES];
    for (x, y) in x[..level].chunks_exact(RADIX * LANES).zip(y.chunks_exact(RADIX * LANES)) {
        let of = |row: usize, lane: usize| term(x[row * LANES + lane], y[row * LANES + lane]);
        for (j, sum) in sums.iter_mut().enumerate() {
            *sum += ((of(0, j) + of(1, j)) + (of(2, j) + of(3, j)))
                + ((of(4, j) + of(5, j)) + (of(6, j) + of(7, j)));
        }
    }
    let of_level = if level > 0 { total(sums) } else { T::ZERO };
    let of_wide = side_by_side::<T, 32>(&x[level..wide], &y[level..wide], &term);
    let of_narrow = side_by_side::<T, 8>(&x[wide..narrow], &y[wide..narrow], &term);
    let rest = x[narrow..].iter().zip(&y[narrow..]);
    of_level + (of_wide + (of_narrow + rest.fold(T::ZERO, |sum, (x, y)| sum + term(*x, *y))))
}

/// Sums terms in `N` lanes, of which there is a whole number of rounds.
#[inline(always)]
fn side_by_side<T: Float, const N: usize>(x: &[T], y: &[T], term: &impl Fn(T, T) -> T) -> T {
    let mut sums = [T::ZERO; N];
    for (x, y) in x.chunks_exact(N).zip(y.chunks_exact(N)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += term(*x, *y);
        }
    }
    total(sums)
}

/// Adds a slice, `LANES` elements at a time.
#[inline(always)]
pub(super) fn add_slice<T: Float>(isa: Isa, sums: &mut Sums<T>, terms: &[T]) {
    let (rows, rest) = (terms.len() / LANES, terms.len() % LANES);
    sums.add(isa, terms, LANES, rows, LANES);
    if rest > 0 {
        sums.add(isa, &terms[terms.len() - rest..], LANES, 1, rest);
    }
}
