//! The windows of a channel, in runs: each element of a window is processed for all windows of a run at once. The
//! elements of a window are visited in their order in memory.

use paddle_core::ops::{Covered, PoolKind};

use super::Pool;
use crate::cpu::number::Float;

/// The longest run.
pub(super) const RUN: usize = 64;

/// Neighbouring windows of one size, each `stride` elements behind the previous one; or a single window.
pub(super) struct Windows {
    /// The number of elements in a line of the channel.
    width: usize,
    /// The lines that the windows cover.
    rows: Covered,
    /// The elements of a line that the first window covers.
    columns: Covered,
    stride: usize,
}

impl Pool {
    /// Calls `work` with each run: the position of its first result, the number of its windows, and the windows.
    #[inline(always)]
    pub(super) fn runs(self, mut work: impl FnMut(usize, usize, &Windows)) {
        let Pool { op, input: [height, width], output: [windows_down, windows_across] } = self;
        let window = op.window();
        let (size, stride) = (window.size[1] as usize, window.stride[1] as usize);
        let before = window.around(1, width)[0];
        // These windows lie inside of the image. All others, and windows that do not slide, are runs of one.
        let inside = match op.adaptive || op.global_pooling || before + width < size {
            true => 0..0,
            false => {
                let end = ((before + width - size) / stride + 1).min(windows_across);
                before.div_ceil(stride).min(end)..end
            }
        };
        for y in 0..windows_down {
            let rows = op.covered(0, height, windows_down, y);
            let windows = |first| {
                let columns = op.covered(1, width, windows_across, first);
                Windows { width, rows: rows.clone(), columns, stride }
            };
            for first in (0..inside.start).chain(inside.end..windows_across) {
                work(y * windows_across + first, 1, &windows(first));
            }
            for first in inside.clone().step_by(RUN) {
                work(y * windows_across + first, RUN.min(inside.end - first), &windows(first));
            }
        }
    }
}

impl Windows {
    /// The positions of the elements of the first window.
    #[inline(always)]
    fn places(&self) -> impl DoubleEndedIterator<Item = usize> {
        let (columns, width) = (self.columns.elements.clone(), self.width);
        self.rows
            .elements
            .clone()
            .flat_map(move |row| columns.clone().map(move |column| row * width + column))
    }

    /// The part of each line that the first window covers.
    #[inline(always)]
    fn lines<'x, T>(&self, x: &'x [T]) -> impl Iterator<Item = &'x [T]> {
        let (columns, width) = (self.columns.elements.clone(), self.width);
        self.rows.elements.clone().map(move |row| &x[row * width..][columns.clone()])
    }

    /// The largest elements; 0 for windows without elements.
    #[inline(always)]
    fn largest<T: Float>(&self, x: &[T], largest: &mut [T]) {
        if let [largest] = largest {
            let mut found = None;
            for line in self.lines(x) {
                for x in line {
                    found = Some(if let Some(found) = found { larger(found, *x) } else { *x });
                }
            }
            *largest = found.unwrap_or(T::ZERO);
            return;
        }
        let mut places = self.places();
        let Some(first) = places.next() else { return largest.fill(T::ZERO) };
        let mut side_by_side = [T::ZERO; RUN];
        largest.copy_from_slice(neighbours(&x[first..], self.stride, &mut side_by_side[..largest.len()]));
        for at in places {
            let elements = neighbours(&x[at..], self.stride, &mut side_by_side[..largest.len()]);
            largest.iter_mut().zip(elements).for_each(|(largest, x)| *largest = larger(*largest, *x));
        }
    }

    /// The largest elements, or the means.
    #[inline(always)]
    pub(super) fn pool<T: Float>(&self, kind: PoolKind, x: &[T], out: &mut [T]) {
        match (kind, &mut *out) {
            (PoolKind::Max, _) => return self.largest(x, out),
            (PoolKind::Avg, [sum]) => {
                *sum = T::ZERO;
                for line in self.lines(x) {
                    for x in line {
                        *sum += *x;
                    }
                }
            }
            (PoolKind::Avg, _) => {
                let mut side_by_side = [T::ZERO; RUN];
                out.fill(T::ZERO);
                for at in self.places() {
                    let elements = neighbours(&x[at..], self.stride, &mut side_by_side[..out.len()]);
                    out.iter_mut().zip(elements).for_each(|(sum, x)| *sum += *x);
                }
            }
        }
        let count = self.count();
        out.iter_mut().for_each(|sum| *sum /= count);
    }

    /// The number of elements of a window that count.
    #[inline(always)]
    fn count<T: Float>(&self) -> T {
        T::of((self.rows.count * self.columns.count).max(1) as f64)
    }

    /// The largest elements, and the position of the first largest one; 0 and -1 for windows without elements.
    #[inline(always)]
    pub(super) fn locate<T: Float>(&self, x: &[T], largest: &mut [T], places: &mut [i32]) {
        self.largest(x, largest);
        let Some(first) = self.places().next() else { return places.fill(-1) };
        // NaN is the largest only if it comes first, and equals nothing.
        for (i, place) in places.iter_mut().enumerate() {
            *place = (first + i * self.stride) as i32;
        }
        let mut side_by_side = [T::ZERO; RUN];
        for at in self.places().rev() {
            let elements = neighbours(&x[at..], self.stride, &mut side_by_side[..largest.len()]);
            let mut own = at as i32;
            for ((place, largest), x) in places.iter_mut().zip(&*largest).zip(elements) {
                *place = if *x == *largest { own } else { *place };
                own += self.stride as i32;
            }
        }
    }

    /// Adds the gradient of the mean to each element of its window. `grad` is overwritten.
    #[inline(always)]
    pub(super) fn spread<T: Float>(&self, grad: &mut [T], out: &mut [T]) {
        let count = self.count();
        grad.iter_mut().for_each(|grad| *grad /= count);
        for at in self.places() {
            let (out, stride) = (&mut out[at..], self.stride);
            match stride {
                1 => {
                    for (x, grad) in out.iter_mut().zip(&*grad) {
                        *x += *grad;
                    }
                }
                2 if out.len() >= 2 * grad.len() => {
                    for (x, grad) in out.chunks_exact_mut(2).zip(&*grad) {
                        x[0] += *grad;
                    }
                }
                _ => {
                    for (x, grad) in out.iter_mut().step_by(stride).zip(&*grad) {
                        *x += *grad;
                    }
                }
            }
        }
    }
}

/// `b` if it is larger, otherwise `a`.
#[inline(always)]
fn larger<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

/// Every `stride`-th element, side by side.
#[inline(always)]
fn neighbours<'a, T: Copy>(x: &'a [T], stride: usize, to: &'a mut [T]) -> &'a [T] {
    match stride {
        1 => return &x[..to.len()],
        // Strides that the compiler knows become shuffles of vectors.
        2 if x.len() >= 2 * to.len() => to.iter_mut().zip(x.chunks_exact(2)).for_each(|(to, x)| *to = x[0]),
        _ => to.iter_mut().zip(x.iter().step_by(stride)).for_each(|(to, x)| *to = *x),
    }
    to
}
