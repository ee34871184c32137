//! Convolutions with one channel in each group. Their matrices would have one row, so neighbouring results are computed
//! directly from the elements of images.
//!
//! A tile of the result is computed from the part of the padded image that its windows cover. This part is copied such
//! that elements which meet the same element of the filter in neighbouring windows become neighbours. In the image,
//! they are `step` columns apart.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use super::Sizes;
use super::panels::{Plane, Slide, copy_line};
use crate::cpu::isa::{Isa, Level};
use crate::cpu::kernel::Machine;
use crate::cpu::number::Float;
use crate::cpu::pieces::pieces;
use crate::cpu::sum::total;
use crate::cpu::vector::Vector;

/// The width of a tile in columns is a multiple of this: two of the widest registers.
const LANES: usize = 32;
/// The most elements of a filter.
const TAPS: usize = 64;
/// The most columns of a tile.
const COLUMNS: usize = 64;
/// The most elements of a copy.
const COPY: usize = 4096;

/// The most filters of a group. With more, a matrix product is faster.
const FILTERS: usize = 4;

impl Sizes {
    fn is_alone(&self) -> bool {
        self.channels == 1 && self.filters <= FILTERS && self.filter.len() <= TAPS
    }

    /// The windows of each result over its channel, if groups have one channel and few filters.
    pub(super) fn over_channels(&self) -> Option<Channel> {
        self.is_alone().then(|| Channel::new(self.input, self.filter, self.output, self.slides())).flatten()
    }

    /// The windows of each element of an image over the gradient. Their first elements meet the last elements of the
    /// filter.
    pub(super) fn over_gradients(&self) -> Option<Channel> {
        let reach = [self.filter.height - 1, self.filter.width - 1];
        let slides = [0, 1].map(|axis| Slide {
            step: 1,
            tap: self.dilations[axis] as isize,
            start: self.padding[axis] as isize - (reach[axis] * self.dilations[axis]) as isize,
            divisor: self.strides[axis] as isize,
        });
        self.is_alone().then(|| Channel::new(self.output, self.filter, self.input, slides)).flatten()
    }

    pub(super) fn forward_alone<T: Float>(
        &self,
        machine: &Machine,
        channel: Channel,
        [input, filter]: [&[T]; 2],
        out: &mut [T],
    ) {
        pieces(&machine.team, out, self.output.len(), &|index, out| {
            let input = plane(input, self.input, index / self.filters);
            let filter = plane(filter, self.filter, index % (self.groups * self.filters));
            correlate(machine.isa, channel, input, filter, false, false, out);
        });
    }

    pub(super) fn grad_input_alone<T: Float>(
        &self,
        machine: &Machine,
        channel: Channel,
        [filter, grad]: [&[T]; 2],
        out: &mut [T],
    ) {
        pieces(&machine.team, out, self.input.len(), &|index, out| {
            for k in 0..self.filters {
                let grad = plane(grad, self.output, index * self.filters + k);
                let filter = plane(filter, self.filter, index % self.groups * self.filters + k);
                correlate(machine.isa, channel, grad, filter, true, k > 0, out);
            }
        });
    }

    pub(super) fn grad_filter_alone<T: Float>(
        &self,
        machine: &Machine,
        channel: Channel,
        [input, grad]: [&[T]; 2],
        out: &mut [T],
    ) {
        pieces(&machine.team, out, self.filter.len(), &|index, out| {
            out.fill(T::ZERO);
            for image in 0..self.images {
                let input = plane(input, self.input, image * self.groups + index / self.filters);
                let grad = plane(grad, self.output, image * self.groups * self.filters + index);
                correlate_filter(machine.isa, channel, input, grad, out);
            }
        });
    }
}

/// The plane with this number.
fn plane<T>(planes: &[T], size: Plane, number: usize) -> &[T] {
    &planes[number * size.len()..][..size.len()]
}

/// Windows that slide over one channel.
#[derive(Clone, Copy)]
pub(super) struct Channel {
    source: Plane,
    filter: Plane,
    result: Plane,
    slides: [Slide; 2],
    /// Rows and columns of a tile of the result. The number of columns is a multiple of `LANES`.
    rows: usize,
    columns: usize,
    /// A line of a copy has the columns sorted by their remainder modulo the step: `columns_apart` for each remainder,
    /// `line` in all.
    columns_apart: usize,
    line: usize,
}

impl Channel {
    /// `None` if the windows of neighbouring results cover too much.
    fn new(source: Plane, filter: Plane, result: Plane, slides: [Slide; 2]) -> Option<Channel> {
        let [down, across] = slides.map(|slide| [slide.step as usize, slide.tap as usize]);
        let reach = |taps: usize, tap: usize| (taps - 1).checked_mul(tap);
        let (below, right) = (reach(filter.height, down[1])?, reach(filter.width, across[1])?);
        [COLUMNS, LANES].into_iter().find_map(|most| {
            let columns = result.width.max(1).next_multiple_of(LANES).min(most);
            let columns_apart = columns.checked_add(right / across[0])?;
            let line = columns_apart.checked_mul(across[0])?;
            let lines = (COPY / line).checked_sub(below + 1)?;
            let rows = (lines / down[0] + 1).min(result.height.max(1));
            Some(Channel { source, filter, result, slides, rows, columns, columns_apart, line })
        })
    }

    fn tiles_across(&self) -> usize {
        self.result.width.div_ceil(self.columns)
    }

    fn tiles(&self) -> usize {
        self.result.height.div_ceil(self.rows) * self.tiles_across()
    }

    /// The rows and the columns of a tile.
    #[inline(always)]
    fn tile(&self, index: usize) -> [Range<usize>; 2] {
        let (y, x) = (index / self.tiles_across() * self.rows, index % self.tiles_across() * self.columns);
        [y..self.result.height.min(y + self.rows), x..self.result.width.min(x + self.columns)]
    }

    /// Copies the part that the windows of a tile cover, with zeros around the image.
    ///
    /// # Safety
    /// The machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn copy<T: Float, V: Vector<Element = T>>(
        &self,
        source: &[T],
        [rows, columns]: &[Range<usize>; 2],
        to: &mut [T; COPY],
    ) {
        let [down, across] = self.slides;
        let lines = (rows.len() - 1) * down.step as usize + (self.filter.height - 1) * down.tap as usize + 1;
        for (i, to) in to.chunks_exact_mut(self.line).take(lines).enumerate() {
            let start = down.start + (rows.start * down.step as usize + i) as isize;
            let row = Slide { start, ..down }.at(0, 0, self.source.height);
            let Some(row) = row else {
                to.fill(T::ZERO);
                continue;
            };
            let line = &source[row * self.source.width..][..self.source.width];
            for (phase, to) in to.chunks_exact_mut(self.columns_apart).enumerate() {
                let across = Slide { start: across.start + phase as isize, ..across };
                // SAFETY: as required of the caller.
                unsafe { copy_line::<V>(line, across, columns.start, to) };
            }
        }
    }

    /// The position in the copy of the first element that element `tap` of the filter meets, in the first line of a
    /// tile.
    #[inline(always)]
    fn met(&self, tap: usize) -> usize {
        let (row, column) = (tap / self.filter.width, tap % self.filter.width);
        let [down, across] = self.slides;
        let (line, column) = (row * down.tap as usize, column * across.tap as usize);
        let step = across.step as usize;
        line * self.line + column % step * self.columns_apart + column / step
    }

    /// The distance in a copy between the elements for one line of windows and those for the next line.
    #[inline(always)]
    fn row(&self) -> usize {
        self.slides[0].step as usize * self.line
    }
}

/// Defines a function that is compiled for the registers `V` of each instruction set. Operations on these registers are
/// unsafe to call. The machine has the registers wherever `$body` runs.
macro_rules! vectors {
    ($(#[$attribute:meta])* fn $name:ident<T, V>($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        fn $name<T: Float>(isa: Isa, $($argument: $kind),*) {
            #[inline(always)]
            unsafe fn body<T: Float, V: Vector<Element = T>>($($argument: $kind),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
            fn avx512<T: Float>($($argument: $kind),*) {
                // SAFETY: this function is compiled for these registers.
                unsafe { body::<T, T::Avx512>($($argument),*) }
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<T: Float>($($argument: $kind),*) {
                // SAFETY: this function is compiled for these registers.
                unsafe { body::<T, T::Avx2>($($argument),*) }
            }

            // SAFETY: an `Isa` exists only where the machine has it.
            unsafe {
                match isa.level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => avx512($($argument),*),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => avx2($($argument),*),
                    Level::Portable => body::<T, T::Portable>($($argument),*),
                }
            }
        }
    };
}

/// Loads a register from at most as many elements as it has lanes. The other lanes are zero.
///
/// # Safety
/// The machine has the instruction set of `V`.
#[inline(always)]
unsafe fn load<V: Vector>(x: &[V::Element]) -> V {
    // SAFETY: the elements are those of the slice.
    unsafe { if x.len() == V::LANES { V::load(x.as_ptr()) } else { V::load_partial(x.as_ptr(), x.len()) } }
}

/// The number of registers that are computed at once.
const WIDTH: usize = 2;

vectors! {
    /// The results of windows over a channel. With `flipped`, the windows meet the elements of the filter in reverse
    /// order.
    fn correlate<T, V>(
        channel: Channel, source: &[T], filter: &[T], flipped: bool, accumulate: bool, out: &mut [T],
    ) {
        let mut taps = [(T::ZERO, 0); TAPS];
        let taps = &mut taps[..filter.len()];
        for (k, tap) in taps.iter_mut().enumerate() {
            *tap = (filter[if flipped { filter.len() - 1 - k } else { k }], channel.met(k));
        }
        let mut copy = [T::ZERO; COPY];
        for tile in 0..channel.tiles() {
            let tile = channel.tile(tile);
            // SAFETY: the machine has these registers.
            unsafe { channel.copy::<T, V>(source, &tile, &mut copy) };
            let [rows, columns] = tile;
            for (row, y) in rows.enumerate() {
                let out = &mut out[y * channel.result.width..][columns.clone()];
                for (block, out) in out.chunks_mut(WIDTH * V::LANES).enumerate() {
                    let met = &copy[row * channel.row() + block * WIDTH * V::LANES..];
                    // SAFETY: the machine has these registers; they load and store what is inside of slices.
                    unsafe {
                        let mut sums = [V::splat(T::ZERO); WIDTH];
                        if accumulate {
                            for (sum, out) in sums.iter_mut().zip(out.chunks(V::LANES)) {
                                *sum = load(out);
                            }
                        }
                        for &(weight, at) in &*taps {
                            let (weight, met) = (V::splat(weight), &met[at..][..WIDTH * V::LANES]);
                            for (k, sum) in sums.iter_mut().enumerate() {
                                *sum = weight.mul_add(V::load(met.as_ptr().add(k * V::LANES)), *sum);
                            }
                        }
                        for (sum, out) in sums.into_iter().zip(out.chunks_mut(V::LANES)) {
                            sum.store_partial(out.as_mut_ptr(), out.len());
                        }
                    }
                }
            }
        }
    }
}

vectors! {
    /// Adds to each element of a filter the products of the gradients of its windows with the elements that it meets.
    fn correlate_filter<T, V>(channel: Channel, source: &[T], grad: &[T], out: &mut [T]) {
        let mut copy = [T::ZERO; COPY];
        for tile in 0..channel.tiles() {
            let tile = channel.tile(tile);
            // SAFETY: the machine has these registers.
            unsafe { channel.copy::<T, V>(source, &tile, &mut copy) };
            let [rows, columns] = tile;
            for (tap, out) in out.iter_mut().enumerate() {
                let met = &copy[channel.met(tap)..];
                let mut parts = [T::ZERO; LANES];
                // SAFETY: the machine has these registers; they load and store what is inside of slices.
                unsafe {
                    let mut sums = [V::splat(T::ZERO); WIDTH];
                    for (row, y) in rows.clone().enumerate() {
                        let grads = &grad[y * channel.result.width..][columns.clone()];
                        let met = &met[row * channel.row()..][..grads.len()];
                        let blocks = grads.chunks(WIDTH * V::LANES).zip(met.chunks(WIDTH * V::LANES));
                        for (grads, met) in blocks {
                            let registers = grads.chunks(V::LANES).zip(met.chunks(V::LANES));
                            for (sum, (grads, met)) in sums.iter_mut().zip(registers) {
                                *sum = load::<V>(grads).mul_add(load(met), *sum);
                            }
                        }
                    }
                    for (sum, part) in sums.into_iter().zip(parts.chunks_exact_mut(V::LANES)) {
                        sum.store(part.as_mut_ptr());
                    }
                }
                *out += total(parts);
            }
        }
    }
}
