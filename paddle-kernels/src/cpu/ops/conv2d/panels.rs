//! Panels of the matrices in the products of convolutions, made from images.
#![allow(unsafe_code, reason = "writes panels through raw pointers")]

use std::ops::Range;

use crate::cpu::matmul::Right;
use crate::cpu::vector::{Element, Factor, Register};

/// The size of images, filters or results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plane {
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Plane {
    pub(super) fn len(self) -> usize {
        self.height * self.width
    }
}

/// Maps an axis of a result to an axis of an image: element `tap` of the window at `position` is element
/// `(position · step + tap · self.tap + start) / divisor`, if that is a whole number.
#[derive(Clone, Copy)]
pub(super) struct Slide {
    pub(super) step: isize,
    pub(super) tap: isize,
    pub(super) start: isize,
    pub(super) divisor: isize,
}

impl Slide {
    /// The element of the image, if it is below `size`.
    #[inline(always)]
    pub(super) fn at(self, position: usize, tap: usize, size: usize) -> Option<usize> {
        let at = position as isize * self.step + tap as isize * self.tap + self.start;
        let inside = at >= 0 && at % self.divisor == 0 && at / self.divisor < size as isize;
        inside.then_some((at / self.divisor) as usize)
    }
}

/// A matrix with a row for each channel and element of the filter, and a column for each element of the result. An
/// entry is the element of the image that these two meet at, or 0 outside of the image.
pub(super) struct Windows<'a, T> {
    /// The channels.
    pub(super) planes: &'a [T],
    pub(super) source: Plane,
    pub(super) filter: Plane,
    pub(super) result: Plane,
    pub(super) slides: [Slide; 2],
}

impl<T: Element> Right<T> for Windows<'_, T> {
    #[inline(always)]
    unsafe fn pack<V: Register<Element = T>>(
        &self,
        packed: *mut T,
        step: usize,
        inner: Range<usize>,
        columns: Range<usize>,
    ) {
        let [down, across] = self.slides;
        let (width, taps) = (self.result.width, self.filter.len());
        let (first_y, first_x) = (columns.start / width, columns.start % width);
        for (row, p) in inner.enumerate() {
            let (channel, tap) = (p / taps, p % taps);
            let (tap_y, tap_x) = (tap / self.filter.width, tap % self.filter.width);
            let plane = &self.planes[channel * self.source.len()..][..self.source.len()];
            // SAFETY: this is a row of the panel.
            let to = unsafe { std::slice::from_raw_parts_mut(packed.add(row * step), step) };
            let (mut y, mut x, mut done) = (first_y, first_x, 0);
            while done < columns.len() {
                let count = (width - x).min(columns.len() - done);
                let to = &mut to[done..done + count];
                match down.at(y, tap_y, self.source.height) {
                    Some(line) => {
                        let line = &plane[line * self.source.width..][..self.source.width];
                        let across = Slide { start: across.start + tap_x as isize * across.tap, ..across };
                        // SAFETY: the machine has the instruction set of `V`.
                        unsafe { copy_line::<V>(line, across, x, to) };
                    }
                    None => to.fill(T::ZERO),
                }
                (y, x, done) = (y + 1, 0, done + count);
            }
            to[done..].fill(T::ZERO);
        }
    }
}

/// Copies the elements of a line for positions `first..`, and 0 for positions outside of the line.
///
/// # Safety
/// The machine has the instruction set of `V`.
#[inline(always)]
pub(super) unsafe fn copy_line<V: Register>(
    line: &[V::Element],
    across: Slide,
    first: usize,
    to: &mut [V::Element],
) {
    let Slide { step, start, divisor, .. } = across;
    // Positions `low..high` are inside of the line.
    let ceil = |a: isize, b: isize| a.div_euclid(b) + isize::from(a.rem_euclid(b) != 0);
    let end = first + to.len();
    let clamp = |at: isize| at.clamp(first as isize, end as isize) as usize - first;
    let low = clamp(ceil(-start, step));
    let high = clamp(ceil(line.len() as isize * divisor - start, step)).max(low);
    if divisor != 1 {
        to.fill(V::Element::ZERO);
        for (i, to) in to.iter_mut().enumerate().take(high).skip(low) {
            let at = (first + i) as isize * step + start;
            if at % divisor == 0 {
                *to = line[(at / divisor) as usize];
            }
        }
        return;
    }
    to[..low].fill(V::Element::ZERO);
    to[high..].fill(V::Element::ZERO);
    let to = &mut to[low..high];
    if to.is_empty() {
        return;
    }
    let from = &line[((first + low) as isize * step + start) as usize..];
    if step != 1 {
        for (to, from) in to.iter_mut().zip(from.iter().step_by(step as usize)) {
            *to = *from;
        }
        return;
    }
    let from = &from[..to.len()];
    let whole = to.len() - to.len() % V::LANES;
    // SAFETY: both slices have `to.len()` elements, and nothing behind them is accessed.
    unsafe {
        for i in (0..whole).step_by(V::LANES) {
            V::load(from.as_ptr().add(i)).store(to.as_mut_ptr().add(i));
        }
        let rest = to.len() - whole;
        if rest > 0 {
            V::load_partial(from.as_ptr().add(whole), rest).store_partial(to.as_mut_ptr().add(whole), rest);
        }
    }
}

/// The transpose of [`Windows`].
pub(super) struct Elements<'a, T>(pub(super) Windows<'a, T>);

/// The widest panel: four registers of the narrowest element.
const WIDEST: usize = 64;

impl<T: Element> Right<T> for Elements<'_, T> {
    #[inline(always)]
    unsafe fn pack<V: Register<Element = T>>(
        &self,
        packed: *mut T,
        step: usize,
        inner: Range<usize>,
        columns: Range<usize>,
    ) {
        let [down, across] = self.0.slides;
        let Plane { height, width } = self.0.source;
        let taps = self.0.filter.len();
        // For each column, the distance of its element from the first element of a window: in memory, and on both axes.
        let (mut offsets, mut below, mut right) = ([0; WIDEST], [0; WIDEST], [0; WIDEST]);
        for (j, column) in columns.clone().enumerate() {
            let (channel, tap) = (column / taps, column % taps);
            below[j] = (tap / self.0.filter.width) as isize * down.tap;
            right[j] = (tap % self.0.filter.width) as isize * across.tap;
            offsets[j] = (channel * self.0.source.len()) as isize + below[j] * width as isize + right[j];
        }
        let count = columns.len();
        let reach =
            [(self.0.filter.height - 1) as isize * down.tap, (self.0.filter.width - 1) as isize * across.tap];
        let (mut y, mut x) = (inner.start / self.0.result.width, inner.start % self.0.result.width);
        for row in 0..inner.len() {
            // SAFETY: this is a row of the panel.
            let to = unsafe { std::slice::from_raw_parts_mut(packed.add(row * step), step) };
            let top = y as isize * down.step + down.start;
            let left = x as isize * across.step + across.start;
            let start = top * width as isize + left;
            let inside =
                top >= 0 && left >= 0 && top + reach[0] < height as isize && left + reach[1] < width as isize;
            let (to, rest) = to.split_at_mut(count);
            if inside {
                for (to, offset) in to.iter_mut().zip(&offsets) {
                    *to = self.0.planes[(start + offset) as usize];
                }
            } else {
                for (j, to) in to.iter_mut().enumerate() {
                    let (at_y, at_x) = (top + below[j], left + right[j]);
                    let inside = (0..height as isize).contains(&at_y) && (0..width as isize).contains(&at_x);
                    *to = if inside { self.0.planes[(start + offsets[j]) as usize] } else { T::ZERO };
                }
            }
            rest.fill(T::ZERO);
            x += 1;
            if x == self.0.result.width {
                (y, x) = (y + 1, 0);
            }
        }
    }
}
