//! The windows of a row: which columns each covers.

use std::ops::Range;

use paddle_core::ops::Pool2d;

use crate::cpu::number::Float;

/// The windows of a row that are computed one after another, while their results are in the nearest cache.
pub(super) const WINDOWS: usize = 32;
/// The elements of a line that are brought side by side at once.
pub(super) const ELEMENTS: usize = 128;

/// Pooling of one channel in a launch.
#[derive(Clone, Copy)]
pub(super) struct Pool {
    pub(super) op: Pool2d,
    /// Height and width of the images.
    pub(super) input: [usize; 2],
    /// Height and width of the result.
    pub(super) output: [usize; 2],
}

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
    pub(super) fn parts(&self, elements: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let windows = self.windows[..self.len].iter().enumerate();
        windows.map(move |(at, &(start, end))| (at, start.max(elements.start)..end.min(elements.end)))
    }

    /// All elements that the windows cover, in parts that are short enough to be brought side by side.
    #[inline(always)]
    pub(super) fn chunks(&self) -> impl Iterator<Item = Range<usize>> {
        let windows = &self.windows[..self.len];
        let start = windows.iter().map(|window| window.0).min().unwrap_or(0);
        let end = windows.iter().map(|window| window.1).max().unwrap_or(0);
        (start..end).step_by(ELEMENTS).map(move |at| at..end.min(at + ELEMENTS))
    }

    /// The elements of a line that a window covers.
    #[inline(always)]
    pub(super) fn window(&self, window: usize) -> Range<usize> {
        let (start, end) = self.windows[window];
        start..end
    }

    /// Whether a window covers no elements.
    #[inline(always)]
    pub(super) fn is_empty(&self, window: usize) -> bool {
        let (start, end) = self.windows[window];
        start >= end
    }

    /// The first element that a window covers.
    #[inline(always)]
    pub(super) fn start(&self, window: usize) -> usize {
        self.windows[window].0
    }
}

impl Pool {
    /// The windows of a row, [`WINDOWS`] at a time. They are the same in each row.
    #[inline(always)]
    pub(super) fn columns(self) -> impl Iterator<Item = Columns> {
        let (width, across) = (self.input[1], self.output[1]);
        (0..across).step_by(WINDOWS).map(move |first| {
            let len = WINDOWS.min(across - first);
            let mut columns = Columns { first, windows: [(0, 0); WINDOWS], counts: [0; WINDOWS], len };
            for at in 0..len {
                let covered = self.op.covered(1, width, across, first + at);
                columns.windows[at] = (covered.elements.start, covered.elements.end);
                columns.counts[at] = covered.count;
            }
            columns
        })
    }

    /// The rows of an image that the windows of row `y` cover.
    #[inline(always)]
    pub(super) fn rows(self, y: usize) -> Range<usize> {
        self.op.covered(0, self.input[0], self.output[0], y).elements
    }

    /// Whether each element along an axis is in one window.
    pub(super) fn is_partition(self, axis: usize) -> bool {
        let (input, output) = (self.input[axis], self.output[axis]);
        let ends = (0..output).try_fold(0, |end, at| {
            let covered = self.op.covered(axis, input, output, at).elements;
            (covered.start == end).then_some(covered.end)
        });
        ends == Some(input)
    }

    /// The number of elements of a window that count, at least one.
    #[inline(always)]
    pub(super) fn counts<T: Float>(self, y: usize, columns: &Columns) -> [T; WINDOWS] {
        let rows = self.op.covered(0, self.input[0], self.output[0], y).count;
        let mut counts = [T::ZERO; WINDOWS];
        for (to, count) in counts.iter_mut().zip(&columns.counts[..columns.len]) {
            *to = T::of((rows * count).max(1) as f64);
        }
        counts
    }
}
