//! Pooling of several channels side by side: each lane is a channel, so windows of any size and stride are vector code.

use std::ops::Range;

use super::Pool;
use crate::cpu::number::Float;
use crate::cpu::transpose::{LANES, interleave, separate};

/// The elements of channels at one place.
pub(super) type Lanes<T> = [T; LANES];

/// The windows of a row that are computed one after another, while their results are in the nearest cache.
pub(super) const WINDOWS: usize = 32;
/// The elements of a line that are brought side by side at once.
const ELEMENTS: usize = 128;

/// Neighbouring windows of one row: which columns each covers.
pub(super) struct Columns {
    /// The first window.
    pub(super) first: usize,
    windows: [(usize, usize); WINDOWS],
    counts: [usize; WINDOWS],
    /// The number of windows.
    pub(super) len: usize,
}

impl Columns {
    /// The number of each window, and which of these elements of a line it covers.
    #[inline(always)]
    fn parts(&self, elements: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let windows = self.windows[..self.len].iter().enumerate();
        windows.map(move |(at, &(start, end))| (at, start.max(elements.start)..end.min(elements.end)))
    }

    /// All elements that the windows cover, in parts that are short enough to be brought side by side.
    #[inline(always)]
    fn chunks(&self) -> impl Iterator<Item = Range<usize>> {
        let windows = &self.windows[..self.len];
        let start = windows.iter().map(|window| window.0).min().unwrap_or(0);
        let end = windows.iter().map(|window| window.1).max().unwrap_or(0);
        (start..end).step_by(ELEMENTS).map(move |at| at..end.min(at + ELEMENTS))
    }
}

impl Pool {
    fn plane(self) -> usize {
        self.input[0] * self.input[1]
    }

    /// Calls `work` with the windows of a row, [`WINDOWS`] at a time. They are the same in each row.
    #[inline(always)]
    pub(super) fn columns(self, mut work: impl FnMut(&Columns)) {
        let (width, across) = (self.input[1], self.output[1]);
        for first in (0..across).step_by(WINDOWS) {
            let len = WINDOWS.min(across - first);
            let mut columns = Columns { first, windows: [(0, 0); WINDOWS], counts: [0; WINDOWS], len };
            for at in 0..len {
                let covered = self.op.covered(1, width, across, first + at);
                columns.windows[at] = (covered.elements.start, covered.elements.end);
                columns.counts[at] = covered.count;
            }
            work(&columns);
        }
    }

    /// Goes over the windows of row `y`: `next` gets the elements of a window in their order in memory, with their
    /// positions, and what it has made of those before; for the first element that is `None`. Windows without elements
    /// are left as they are in `results`.
    #[inline(always)]
    pub(super) fn fold<T: Float, A: Copy>(
        self,
        x: &[T],
        y: usize,
        columns: &Columns,
        results: &mut [A; WINDOWS],
        next: impl Fn(Option<&A>, &Lanes<T>, usize) -> A,
    ) {
        let ([height, width], mut line) = (self.input, [[T::ZERO; LANES]; ELEMENTS]);
        let rows = self.op.covered(0, height, self.output[0], y).elements;
        for row in rows.clone() {
            for elements in columns.chunks() {
                let line = &mut line[..elements.len()];
                interleave(x, self.plane(), row * width + elements.start, line);
                for (at, part) in columns.parts(elements.clone()) {
                    let result = &mut results[at];
                    for column in part {
                        let is_first = row == rows.start && column == columns.windows[at].0;
                        let before = *result;
                        let before = if is_first { None } else { Some(&before) };
                        *result = next(before, &line[column - elements.start], row * width + column);
                    }
                }
            }
        }
    }

    /// The number of elements of a window that count, at least one.
    #[inline(always)]
    pub(super) fn counts<T: Float>(self, y: usize, columns: &Columns) -> [T; WINDOWS] {
        let rows = self.op.covered(0, self.input[0], self.output[0], y).count;
        columns.counts.map(|count| T::of((rows * count).max(1) as f64))
    }

    /// Adds the gradient of each mean to all elements of its window.
    #[inline(always)]
    pub(super) fn spread<T: Float>(self, grad: &[T], columns: &Columns, out: &mut [T]) {
        let ([height, width], [down, across]) = (self.input, self.output);
        let mut line = [[T::ZERO; LANES]; ELEMENTS];
        let mut grads = [[T::ZERO; LANES]; WINDOWS];
        for y in 0..down {
            let counts = self.counts::<T>(y, columns);
            interleave(grad, down * across, y * across + columns.first, &mut grads[..columns.len]);
            for row in self.op.covered(0, height, down, y).elements {
                for elements in columns.chunks() {
                    let (line, start) = (&mut line[..elements.len()], row * width + elements.start);
                    interleave(out, self.plane(), start, line);
                    for (at, part) in columns.parts(elements.clone()) {
                        for column in part {
                            for (to, grad) in line[column - elements.start].iter_mut().zip(&grads[at]) {
                                *to += *grad / counts[at];
                            }
                        }
                    }
                    separate(line, out, self.plane(), start);
                }
            }
        }
    }
}

/// The larger ones; the first of equal ones, and of those that cannot be compared.
#[inline(always)]
pub(super) fn larger<T: Float>(before: &Lanes<T>, x: &Lanes<T>) -> Lanes<T> {
    let mut larger = *before;
    for (larger, x) in larger.iter_mut().zip(x) {
        *larger = if *x > *larger { *x } else { *larger };
    }
    larger
}

/// The largest elements of windows, and their positions.
#[derive(Clone, Copy)]
pub(super) struct Largest<T> {
    pub(super) values: Lanes<T>,
    pub(super) places: Lanes<i32>,
}

impl<T: Float> Largest<T> {
    /// Of windows without elements.
    pub(super) const NONE: Largest<T> = Largest { values: [T::ZERO; LANES], places: [-1; LANES] };

    #[inline(always)]
    pub(super) fn next(before: Option<&Largest<T>>, x: &Lanes<T>, place: usize) -> Largest<T> {
        let Some(before) = before else {
            return Largest { values: *x, places: [place as i32; LANES] };
        };
        let mut largest = *before;
        // Two loops, each of which becomes a comparison and a selection of registers.
        for ((place_of, before), x) in largest.places.iter_mut().zip(&before.values).zip(x) {
            *place_of = if *x > *before { place as i32 } else { *place_of };
        }
        for (value, x) in largest.values.iter_mut().zip(x) {
            *value = if *x > *value { *x } else { *value };
        }
        largest
    }
}
