//! Pooling of images whose channels are neighbours in memory: elements are read and written where they are, a register of
//! channels at a time.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use paddle_core::ops::PoolKind;

use super::blocks::{Pass, Pooling};
use super::columns::{Columns, WINDOWS};
use crate::cpu::epilogue::Finish;
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::shared::Shared;
use crate::cpu::transpose::LANES;
use crate::cpu::vector::{Vector, Work, fetch, on_registers};
use crate::team::Team;

/// A thread pools at least about so many elements at a time.
const PIECE: usize = 1 << 13;
/// About so many pieces keep a team busy.
const PIECES: usize = 8;
/// At least so many elements are between those that are pooled and those that are asked for.
const AHEAD: usize = 1 << 11;

/// Some rows of windows, and some channels.
struct Piece<'a, T> {
    of: &'a Pooling<T>,
    /// Rows of results, counted through all images.
    rows: Range<usize>,
    channels: Range<usize>,
    /// Whether each element is in one window.
    is_partition: bool,
}

impl<T: Float> Work<T> for Piece<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the images and results are valid, and no other piece has these rows of results, or these channels.
        unsafe {
            match self.of.pass {
                Pass::Forward { x, out } => self.forward::<V>(x, out),
                Pass::Backward { x, grad, out, .. } => self.backward::<V>(x, grad, out),
            }
        }
    }
}

/// What the windows of a row have in common.
struct Line<T> {
    /// The first element of the rows that they cover, and the number of these rows.
    first: usize,
    rows: usize,
    /// The first result.
    result: usize,
    /// The distance of the elements that are asked for meanwhile, as images are in no cache of the core: of rows below, as many as take
    /// the time of memory.
    ahead: usize,
    /// The numbers of elements that means are taken of.
    counts: [T; WINDOWS],
}

/// The elements of a window for a register of channels.
#[derive(Clone, Copy)]
struct Window {
    /// The first element among those of all images.
    first: usize,
    /// The rows and columns.
    size: [usize; 2],
    /// The distances of neighbouring rows and columns.
    distances: [usize; 2],
    /// The channels that there are, of those of a register.
    lanes: usize,
    ahead: usize,
}

impl<T: Float> Pooling<T> {
    /// Whether the channels of all that is read and written are neighbours.
    pub(super) fn is_of_neighbours(&self) -> bool {
        let is_x_last = match self.pass {
            Pass::Backward { x_images, .. } => x_images.last || self.pool.op.pooling_type == PoolKind::Avg,
            Pass::Forward { .. } => true,
        };
        self.images.last && self.results.last && is_x_last
    }

    /// Pools all images. Returns whether the epilogue is computed, too.
    pub(super) fn run_on_neighbours(&self, isa: Isa, team: &Team, finish: Finish<'_>) -> bool {
        let (count, channels, down) = (self.images.count, self.images.channels, self.pool.output[0]);
        if let Pass::Forward { out, .. } = self.pass {
            let out = Shared(out);
            let of_row = self.results.size[1] * channels;
            let rows = count * down;
            let at_once = PIECE.div_ceil((self.images.image() / down.max(1)).max(1));
            team.run(rows.div_ceil(at_once), &|index| {
                let rows = index * at_once..rows.min((index + 1) * at_once);
                let elements = rows.start * of_row..rows.end * of_row;
                on_registers(isa, Piece { of: self, rows, channels: 0..channels, is_partition: false });
                // SAFETY: these results are the piece's own, and are final.
                unsafe { finish.part(out.at(0), elements) };
            });
            return true;
        }
        // Windows of neighbouring rows may have the same elements.
        let blocks = channels.div_ceil(LANES);
        let parts = PIECES.div_ceil(count.max(1)).clamp(1, blocks.max(1));
        let is_partition = [0, 1].into_iter().all(|axis| self.pool.is_partition(axis));
        let (Pass::Forward { out, .. } | Pass::Backward { out, .. }) = self.pass;
        let (out, of_image) = (Shared(out), self.images.image());
        team.run(count * parts, &|index| {
            let (image, part) = (index / parts, index % parts);
            let [first, end] = [part, part + 1].map(|part| channels.min(part * blocks / parts * LANES));
            let rows = image * down..(image + 1) * down;
            on_registers(isa, Piece { of: self, rows, channels: first..end, is_partition });
            if parts == 1 {
                // SAFETY: these gradients are the piece's own, and are final.
                unsafe { finish.part(out.at(0), image * of_image..(image + 1) * of_image) };
            }
        });
        parts == 1
    }
}

impl<T: Float> Piece<'_, T> {
    /// # Safety
    /// As for [`Work::run`].
    #[inline(always)]
    unsafe fn forward<V: Vector<Element = T>>(&self, x: *const T, out: *mut T) {
        for columns in self.of.pool.columns() {
            for row in self.rows.clone() {
                let line = self.line(row, &columns);
                for at in 0..columns.len {
                    for lane in self.channels.clone().step_by(V::LANES) {
                        let (window, result) = self.window(&line, &columns, at, lane);
                        // SAFETY: the caller's; the window is inside of the images.
                        unsafe {
                            let mut value = self.result::<V>(x, window);
                            if self.is_average() {
                                value = value.div(V::splat(line.counts[at]));
                            }
                            store(value, out.add(result), window.lanes);
                        }
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`Work::run`].
    #[inline(always)]
    unsafe fn backward<V: Vector<Element = T>>(&self, x: *const T, grad: *const T, out: *mut T) {
        // SAFETY: the caller's; windows are inside of the images.
        unsafe {
            if !self.is_partition {
                self.clear::<V>(out);
            }
            for columns in self.of.pool.columns() {
                for row in self.rows.clone() {
                    let line = self.line(row, &columns);
                    for at in 0..columns.len {
                        for lane in self.channels.clone().step_by(V::LANES) {
                            let (window, result) = self.window(&line, &columns, at, lane);
                            let grad = load::<V>(grad.add(result), window.lanes);
                            match self.is_average() {
                                true => self.share(grad.div(V::splat(line.counts[at])), window, out),
                                false => self.give(x, grad, window, out),
                            }
                        }
                    }
                }
            }
        }
    }

    fn is_average(&self) -> bool {
        self.of.pool.op.pooling_type == PoolKind::Avg
    }

    /// What the windows of a row have in common.
    #[inline(always)]
    fn line(&self, row: usize, columns: &Columns) -> Line<T> {
        let Pooling { pool, images, results, .. } = self.of;
        let (image, y) = (row / pool.output[0], row % pool.output[0]);
        let rows = pool.rows(y);
        let of_rows = pool.op.strides[0] as usize * images.size[1] * images.channels;
        Line {
            first: (image * images.size[0] + rows.start) * images.size[1],
            rows: rows.len(),
            result: row * results.size[1] + columns.first,
            ahead: of_rows * AHEAD.div_ceil(of_rows.max(1)),
            counts: if self.is_average() { pool.counts(y, columns) } else { [T::ZERO; WINDOWS] },
        }
    }

    /// A window of a row for the register of channels that begins with `lane`, and the place of its result.
    #[inline(always)]
    fn window(&self, line: &Line<T>, columns: &Columns, at: usize, lane: usize) -> (Window, usize) {
        let ([_, width], channels, covered) =
            (self.of.images.size, self.of.images.channels, columns.window(at));
        let window = Window {
            first: (line.first + covered.start) * channels + lane,
            size: [line.rows, covered.len()],
            distances: [width * channels, channels],
            lanes: self.channels.end - lane,
            ahead: line.ahead,
        };
        (window, (line.result + at) * channels + lane)
    }

    /// The largest elements of a window, or the sums. Those of a window without elements are zero.
    ///
    /// # Safety
    /// As for [`Work::run`]; the window is inside of the images.
    #[inline(always)]
    unsafe fn result<V: Vector<Element = T>>(&self, x: *const T, window: Window) -> V {
        let ([rows, columns], [down, across]) = (window.size, window.distances);
        // SAFETY: the caller's.
        unsafe {
            if rows == 0 || columns == 0 {
                return V::splat(T::ZERO);
            }
            let start = x.add(window.first);
            let mut value = load::<V>(start, window.lanes);
            if window.size == [2, 2] {
                // These are most of all windows, and the loops take longer than the elements.
                fetch(start.wrapping_add(window.ahead));
                for at in [across, down, down + across] {
                    fetch(start.wrapping_add(at + window.ahead));
                    let x = load::<V>(start.add(at), window.lanes);
                    value = if self.is_average() { value.add(x) } else { x.or_larger(value) };
                }
                return value;
            }
            for row in 0..rows {
                let start = start.add(row * down);
                for column in usize::from(row == 0)..columns {
                    let x = load::<V>(start.add(column * across), window.lanes);
                    value = if self.is_average() { value.add(x) } else { x.or_larger(value) };
                }
            }
            value
        }
    }

    /// Adds a gradient to all elements of a window.
    ///
    /// # Safety
    /// As for [`Self::result`]; nobody else uses these elements.
    #[inline(always)]
    unsafe fn share<V: Vector<Element = T>>(&self, grad: V, window: Window, out: *mut T) {
        let ([rows, columns], [down, across]) = (window.size, window.distances);
        for row in 0..rows {
            for column in 0..columns {
                // SAFETY: the caller's.
                unsafe { self.add(grad, out.add(window.first + row * down + column * across), window.lanes) };
            }
        }
    }

    /// Adds a gradient to the first element of a window that is the largest.
    ///
    /// # Safety
    /// As for [`Self::share`].
    #[inline(always)]
    unsafe fn give<V: Vector<Element = T>>(&self, x: *const T, grad: V, window: Window, out: *mut T) {
        if window.size == [2, 2] {
            // SAFETY: the caller's.
            return unsafe { self.give_one_of_four(x, grad, window, out) };
        }
        let ([rows, columns], [down, across]) = (window.size, window.distances);
        // SAFETY: the caller's.
        unsafe {
            let (result, zero, mut rest) = (self.result::<V>(x, window), V::splat(T::ZERO), grad);
            for row in 0..rows {
                for column in 0..columns {
                    let at = window.first + row * down + column * across;
                    let seen = load::<V>(x.add(at), window.lanes);
                    let share = seen.select_same(result, rest, zero);
                    rest = seen.select_same(result, zero, rest);
                    self.add(share, out.add(at), window.lanes);
                }
            }
        }
    }

    /// The same for windows of two by two elements, which stay in registers.
    ///
    /// # Safety
    /// As for [`Self::share`].
    #[inline(always)]
    unsafe fn give_one_of_four<V: Vector<Element = T>>(
        &self,
        x: *const T,
        grad: V,
        Window { first, distances: [down, across], lanes, ahead, .. }: Window,
        out: *mut T,
    ) {
        let places = [first, first + across, first + down, first + down + across];
        // SAFETY: the caller's.
        unsafe {
            let zero = V::splat(T::ZERO);
            let mut seen = [zero; 4];
            for (seen, at) in seen.iter_mut().zip(places) {
                *seen = load::<V>(x.add(at), lanes);
                fetch(x.wrapping_add(at + ahead));
                fetch(out.wrapping_add(at + ahead));
            }
            let result = seen[3].or_larger(seen[2].or_larger(seen[1].or_larger(seen[0])));
            let mut rest = grad;
            for (seen, at) in seen.into_iter().zip(places) {
                let share = seen.select_same(result, rest, zero);
                rest = seen.select_same(result, zero, rest);
                self.add(share, out.add(at), lanes);
            }
        }
    }

    /// Adds to an element; one that is in no other window becomes what is added.
    ///
    /// # Safety
    /// As for [`Self::share`].
    #[inline(always)]
    unsafe fn add<V: Vector<Element = T>>(&self, value: V, to: *mut T, lanes: usize) {
        // SAFETY: the caller's.
        unsafe {
            let sum = if self.is_partition { value } else { load::<V>(to, lanes).add(value) };
            store(sum, to, lanes);
        }
    }

    /// Fills the channels of an image with zeros.
    ///
    /// # Safety
    /// As for [`Work::run`].
    #[inline(always)]
    unsafe fn clear<V: Vector<Element = T>>(&self, out: *mut T) {
        let Images { channels, .. } = self.of.images;
        let image = self.rows.start / self.of.pool.output[0].max(1) * self.of.images.image();
        for at in 0..self.of.images.plane() {
            for lane in self.channels.clone().step_by(V::LANES) {
                // SAFETY: the caller's.
                unsafe {
                    let to = out.add(image + at * channels + lane);
                    store(V::splat(T::ZERO), to, self.channels.end - lane);
                }
            }
        }
    }
}

/// # Safety
/// `lanes` elements, or all of a register, are there; the machine has the instruction set of `V`.
#[inline(always)]
unsafe fn load<V: Vector>(from: *const V::Element, lanes: usize) -> V {
    // SAFETY: the caller's.
    unsafe { if lanes >= V::LANES { V::load(from) } else { V::load_partial(from, lanes) } }
}

/// # Safety
/// As for [`load`]; nobody else uses these elements.
#[inline(always)]
unsafe fn store<V: Vector>(value: V, to: *mut V::Element, lanes: usize) {
    // SAFETY: the caller's.
    unsafe { if lanes >= V::LANES { value.store(to) } else { value.store_partial(to, lanes) } }
}
