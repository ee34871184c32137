//! Gradients of images as products that are scattered: what a result contributes to the elements of its window.
//!
//! A product of the gradients and the filters has a row for each result, and in it a run of channels for each element of
//! the filter. The runs are added to the elements of the window, whose channels are neighbours. This takes as many
//! multiply-adds as the convolution itself, also where most elements at the border meet no more than a part of the filter,
//! and it needs no whole registers of channels.
#![allow(unsafe_code, reason = "calls the matrix product")]

use std::ops::Range;

use paddle_core::memory::OutOfMemory;

use super::Sizes;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::Machine;
use crate::cpu::matmul::{Operand, Product};
use crate::cpu::number::Float;
use crate::cpu::scratch::Scratch;
use crate::cpu::shared::Shared;
use crate::cpu::stack;
use crate::cpu::transpose::transpose;

/// The most rows of a product.
const ROWS: usize = 64;
/// The most columns of a product.
const COLUMNS: usize = 512;
/// About so many multiply-adds take as long as adding one element of a product to an image.
const ADDITION: usize = 4;

impl Sizes {
    /// About how many multiply-adds this takes for one image and group.
    pub(super) fn cost_of_scattering(&self) -> usize {
        let products = self.channels * self.filter.len() * self.output.len();
        products.saturating_mul(self.filters + ADDITION)
    }

    /// Computes the gradients of the images.
    pub(super) fn scatter<T: Float>(
        &self,
        machine: &Machine,
        (scratch, version): (&Scratch<T>, Option<u64>),
        [filter, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<(), OutOfMemory> {
        let (images, turned) = (self.images(), if self.last[0] { 0 } else { out.len() });
        let packed = filter.len();
        let pack = |packed: &mut [T]| {
            let (inner, taps) = (self.channels * self.filter.len(), self.filter.len());
            for (from, to) in filter.chunks_exact(inner).zip(packed.chunks_exact_mut(inner)) {
                // SAFETY: a filter has an element for each channel and tap.
                unsafe {
                    transpose(from.as_ptr(), taps, to.as_mut_ptr(), self.channels, taps, self.channels)
                };
            }
        };
        scratch.lend_made(packed + turned, version, pack, |memory| {
            let (packed, turned) = memory.split_at_mut(packed);
            match self.last[0] {
                true => self.scatter_to(machine, packed, grad, out),
                false => {
                    self.scatter_to(machine, packed, grad, turned);
                    images.turned().turn(&machine.team, turned, out);
                }
            }
        })
    }

    /// Computes the gradients of images with the channels as the fastest axis. In `filter`, the channels are the fastest
    /// axis too.
    fn scatter_to<T: Float>(&self, machine: &Machine, filter: &[T], grad: &[T], out: &mut [T]) {
        let Machine { team, isa, .. } = machine;
        let (columns, results) = (self.filter.len() * self.channels, self.output.len());
        let (channels, image) = (self.groups * self.channels, self.images().image());
        let ([channel, element], of_results) = (self.results().distances(), self.results().image());
        // Of a product, whole elements of filters are computed at once, or some channels of one element.
        let taps = (COLUMNS / self.channels).clamp(1, self.filter.width);
        let parts =
            || (0..self.channels).step_by(COLUMNS).map(|part| part..self.channels.min(part + COLUMNS));
        let widest = COLUMNS.min(taps * self.channels);
        let bytes = ROWS.min(results) * widest * size_of::<T>();
        let shared = Shared(out.as_mut_ptr());
        team.run(self.images * self.groups, &|index| {
            let (index, group) = (index / self.groups, index % self.groups);
            let filter = &filter[group * self.filters * columns..][..self.filters * columns];
            let grad = &grad[index * of_results + group * self.filters * channel..];
            let out = shared.at(index * image + group * self.channels);
            stack::lend([bytes], &mut |[product]: [*mut T; 1]| {
                for at in 0..self.input.len() {
                    // SAFETY: these channels of the output belong to this index alone.
                    unsafe { out.add(at * channels).write_bytes(0, self.channels) };
                }
                for first in (0..results).step_by(ROWS) {
                    let rows = first..results.min(first + ROWS);
                    for (ky, part) in
                        (0..self.filter.height).flat_map(|ky| parts().map(move |part| (ky, part)))
                    {
                        for kx in (0..self.filter.width).step_by(taps) {
                            let kxs = kx..self.filter.width.min(kx + taps);
                            let (width, tap) = (kxs.len() * part.len(), ky * self.filter.width + kx);
                            let factors = Product {
                                k: self.filters,
                                a: Operand {
                                    start: grad[rows.start * element..].as_ptr(),
                                    row: element,
                                    column: channel,
                                },
                                b: Operand {
                                    start: filter[tap * self.channels + part.start..].as_ptr(),
                                    row: columns,
                                    column: 1,
                                },
                                c: product,
                                c_row: width,
                                accumulate: false,
                            };
                            let of_part = Sizes { channels: part.len(), ..*self };
                            // SAFETY: the product has room, as it has no more rows and columns than the constants say; A and B are
                            // inside of the gradients and of the filters; these channels of the output belong to this index alone.
                            unsafe {
                                factors.compute(*isa, 0..rows.len(), 0..width);
                                let out = out.add(part.start);
                                add(*isa, of_part, channels, rows.clone(), (ky, kxs), product, out);
                            }
                        }
                    }
                }
            });
        });
    }
}

dispatch! {
    /// Adds the rows of a product, for some results and for neighbouring elements of one line of the filters, to the elements
    /// that they meet, which are `apart`.
    ///
    /// # Safety
    /// `product` has these rows, and nobody else uses these channels of the image that begins at `out`.
    unsafe fn add<const FUSED: bool, T: Float>(
        isa, sizes: Sizes, apart: usize, results: Range<usize>, taps: (usize, Range<usize>), product: *const T, out: *mut T,
    ) {
        let ((ky, kxs), width, channels) = (taps, sizes.output.width, sizes.channels);
        let of_row = kxs.len() * channels;
        for (row, result) in results.enumerate() {
            let (y, x) = (result / width, result % width);
            let down = (y * sizes.strides[0] + ky * sizes.dilations[0]).checked_sub(sizes.padding[0]);
            let Some(down) = down.filter(|&down| down < sizes.input.height) else { continue };
            let right = |kx: usize| (x * sizes.strides[1] + kx * sizes.dilations[1]).checked_sub(sizes.padding[1]);
            let product = product.wrapping_add(row * of_row);
            let inside = |kx: &usize| right(*kx).is_some_and(|right| right < sizes.input.width);
            let (mut from, mut end) = (kxs.start, kxs.end);
            while from < end && !inside(&from) {
                from += 1;
            }
            while from < end && !inside(&(end - 1)) {
                end -= 1;
            }
            let Some(first) = right(from).filter(|_| from < end) else { continue };
            let product = product.wrapping_add((from - kxs.start) * channels);
            let to = out.wrapping_add((down * sizes.input.width + first) * apart);
            // Neighbouring elements of one group are one run.
            let (runs, run) = match sizes.dilations[1] == 1 && sizes.groups == 1 {
                true => (1, (end - from) * channels),
                false => (end - from, channels),
            };
            for at in 0..runs {
                let to = to.wrapping_add(at * sizes.dilations[1] * apart);
                let product = product.wrapping_add(at * channels);
                // SAFETY: the caller's.
                let (to, product) = unsafe {
                    (std::slice::from_raw_parts_mut(to, run), std::slice::from_raw_parts(product, run))
                };
                for (to, product) in to.iter_mut().zip(product) {
                    *to += *product;
                }
            }
        }
    }
}
