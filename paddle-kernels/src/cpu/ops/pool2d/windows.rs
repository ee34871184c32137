//! The windows of a channel, in runs: what is done with one element of a window is done for all of a run at once. A
//! window's elements come in their order in memory.

use paddle_core::ops::{Covered, PoolKind};

use super::Pool;
use crate::cpu::number::Float;

/// The longest run.
pub(super) const RUN: usize = 64;

/// Neighbouring windows of one size, of which each is `stride` elements behind the one before; or a single one.
pub(super) struct Windows {
    /// The elements of a line of the channel.
    width: usize,
    /// What they cover of its lines.
    rows: Covered,
    /// What the first covers of a line.
    columns: Covered,
    stride: usize,
}

impl Pool {
    /// Calls `work` with the place of the first result of each run, how many there are, and their windows.
    #[inline(always)]
    pub(super) fn runs(self, mut work: impl FnMut(usize, usize, &Windows)) {
        let Pool { op, input: [height, width], output: [windows_down, windows_across] } = self;
        let window = op.window();
        let (size, stride) = (window.size[1] as usize, window.stride[1] as usize);
        let before = window.around(1, width)[0];
        // Of these no element is outside of the image; the others, and those that do not slide, come one by one.
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
    /// The places of the elements of the first window.
    #[inline(always)]
    fn places(&self) -> impl DoubleEndedIterator<Item = usize> {
        let (columns, width) = (self.columns.elements.clone(), self.width);
        self.rows
            .elements
            .clone()
            .flat_map(move |row| columns.clone().map(move |column| row * width + column))
    }

    /// What the first window covers of each line.
    #[inline(always)]
    fn lines<'x, T>(&self, x: &'x [T]) -> impl Iterator<Item = &'x [T]> {
        let (columns, width) = (self.columns.elements.clone(), self.width);
        self.rows.elements.clone().map(move |row| &x[row * width..][columns.clone()])
    }

    /// The largest elements; 0 where there are none.
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

    /// How many elements of a window count.
    #[inline(always)]
    fn count<T: Float>(&self) -> T {
        T::of((self.rows.count * self.columns.count).max(1) as f64)
    }

    /// The largest elements, and where the first is that is so large; 0 and -1 where there are none.
    #[inline(always)]
    pub(super) fn locate<T: Float>(&self, x: &[T], largest: &mut [T], places: &mut [i32]) {
        self.largest(x, largest);
        let Some(first) = self.places().next() else { return places.fill(-1) };
        // What is no number is the largest only where it comes first, and equals nothing.
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

    /// Adds to the elements of each window what the gradient of their mean gives them. `grad` is overwritten.
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

/// `b` where it is larger.
#[inline(always)]
fn larger<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

/// Every `stride`-th element, side by side.
#[inline(always)]
fn neighbours<'a, T: Copy>(x: &'a [T], stride: usize, to: &'a mut [T]) -> &'a [T] {
    match stride {
        1 => return &x[..to.len()],
        // Strides that are known become shuffles of vectors.
        2 if x.len() >= 2 * to.len() => to.iter_mut().zip(x.chunks_exact(2)).for_each(|(to, x)| *to = x[0]),
        _ => to.iter_mut().zip(x.iter().step_by(stride)).for_each(|(to, x)| *to = *x),
    }
    to
}
