//! Folds: the sum, product, maximum and minimum of numbers, and whether any or all truth values hold. They go through
//! the elements in order, along several lanes at once.

use super::number::Element;
use super::sum::LANES;

/// A fold: its result over no elements, and how one more element changes a result. The order of elements matters for
/// rounding only.
pub(super) trait Fold<T>: Copy + Send + Sync + 'static {
    fn none(self) -> T;
    fn with(self, found: T, x: T) -> T;
}

/// Elements that are folded as numbers. Integers wrap around.
pub(super) trait Number: Element {
    const NOUGHT: Self;
    const ONE: Self;
    const LEAST: Self;
    const GREATEST: Self;

    fn plus(self, x: Self) -> Self;
    fn times(self, x: Self) -> Self;
    fn larger(self, x: Self) -> Self;
    fn smaller(self, x: Self) -> Self;
}

macro_rules! number {
    ($($type:ident $nought:literal $one:literal $least:ident $greatest:ident |$x:ident, $y:ident| $plus:expr, $times:expr;)*) => {$(
        impl Number for $type {
            const NOUGHT: Self = $nought;
            const ONE: Self = $one;
            const LEAST: Self = $type::$least;
            const GREATEST: Self = $type::$greatest;

            #[inline(always)]
            fn plus(self, $y: Self) -> Self {
                let $x = self;
                $plus
            }

            #[inline(always)]
            fn times(self, $y: Self) -> Self {
                let $x = self;
                $times
            }

            #[inline(always)]
            fn larger(self, x: Self) -> Self {
                if x > self { x } else { self }
            }

            #[inline(always)]
            fn smaller(self, x: Self) -> Self {
                if x < self { x } else { self }
            }
        }
    )*};
}
number! {
    i32 0 1 MIN MAX |x, y| x.wrapping_add(y), x.wrapping_mul(y);
    i64 0 1 MIN MAX |x, y| x.wrapping_add(y), x.wrapping_mul(y);
    f32 0.0 1.0 NEG_INFINITY INFINITY |x, y| x + y, x * y;
    f64 0.0 1.0 NEG_INFINITY INFINITY |x, y| x + y, x * y;
}

macro_rules! fold {
    ($($name:ident $type:ident $(: $number:ident)?, $none:expr, |$found:ident, $x:ident| $with:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        fold!(@impl $name $type $($number)?, $none, |$found, $x| $with);
    )*};
    (@impl $name:ident $type:ident $number:ident, $none:expr, |$found:ident, $x:ident| $with:expr) => {
        impl<$type: $number> Fold<$type> for $name {
            fold!(@body $type, $none, |$found, $x| $with);
        }
    };
    (@impl $name:ident $type:ident, $none:expr, |$found:ident, $x:ident| $with:expr) => {
        impl Fold<$type> for $name {
            fold!(@body $type, $none, |$found, $x| $with);
        }
    };
    (@body $type:ident, $none:expr, |$found:ident, $x:ident| $with:expr) => {
        #[inline(always)]
        fn none(self) -> $type {
            $none
        }

        #[inline(always)]
        fn with(self, $found: $type, $x: $type) -> $type {
            $with
        }
    };
}
fold! {
    Sum T: Number, T::NOUGHT, |found, x| found.plus(x);
    Product T: Number, T::ONE, |found, x| found.times(x);
    Max T: Number, T::LEAST, |found, x| found.larger(x);
    Min T: Number, T::GREATEST, |found, x| found.smaller(x);
    Any u8, 0, |found, x| found | x;
    All u8, 1, |found, x| found & x;
}

/// Folds rows that are `stride` apart, in their order, into the elements of `out`.
#[inline(always)]
pub(super) fn fold_rows<T: Element, F: Fold<T>>(
    fold: F,
    x: &[T],
    stride: usize,
    count: usize,
    out: &mut [T],
) {
    let width = out.len();
    let mut row = 0;
    while row + 4 <= count {
        // Four rows are read at a time, so that their waits for memory overlap.
        let x = &x[row * stride..];
        let (a, b) = (&x[..width], &x[stride..][..width]);
        let (c, d) = (&x[2 * stride..][..width], &x[3 * stride..][..width]);
        for (j, out) in out.iter_mut().enumerate() {
            *out = fold.with(fold.with(fold.with(fold.with(*out, a[j]), b[j]), c[j]), d[j]);
        }
        row += 4;
    }
    for row in row..count {
        let terms = &x[row * stride..][..width];
        out.iter_mut().zip(terms).for_each(|(out, x)| *out = fold.with(*out, *x));
    }
}

/// The fold of neighbouring elements.
#[inline(always)]
pub(super) fn along<T: Element, F: Fold<T>>(fold: F, x: &[T]) -> T {
    if x.len() < LANES { side_by_side::<8, T, F>(fold, x) } else { side_by_side::<LANES, T, F>(fold, x) }
}

/// The fold of neighbouring elements in `N` lanes: every `N`-th element goes into the same lane.
#[inline(always)]
fn side_by_side<const N: usize, T: Element, F: Fold<T>>(fold: F, x: &[T]) -> T {
    let mut lanes = [fold.none(); N];
    let chunks = x.chunks_exact(N);
    let rest = chunks.remainder();
    for x in chunks {
        lanes.iter_mut().zip(x).for_each(|(lane, x)| *lane = fold.with(*lane, *x));
    }
    lanes.iter_mut().zip(rest).for_each(|(lane, x)| *lane = fold.with(*lane, *x));
    let mut found = fold.none();
    for lane in lanes {
        found = fold.with(found, lane);
    }
    found
}
