//! Gradients of images as products that are scattered: what a result contributes to the elements of its window.
//!
//! For each element of the filters, a product of the filters and the gradients has a column for each result. It is added
//! to the elements that the results meet. This takes as many multiply-adds as the convolution itself, also where most
//! elements at the border meet no more than a part of the filter, and it needs no whole registers of channels.
#![allow(unsafe_code, reason = "calls the matrix product")]

use std::ops::Range;

use super::correlate::Stack;
use super::{Shared, Sizes};
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::Machine;
use crate::cpu::matmul::{Operand, Product};
use crate::cpu::number::Float;

/// The most rows of a product.
const ROWS: usize = 128;
/// The most columns of a product.
const COLUMNS: usize = 128;
/// About so many multiply-adds take as long as adding one element of a product to an image.
const ADDITION: usize = 8;

impl Sizes {
    /// About how many multiply-adds this takes for one image and group.
    pub(super) fn cost_of_scattering(&self) -> usize {
        let products = self.channels * self.filter.len() * self.output.len();
        products.saturating_mul(self.filters + ADDITION)
    }

    /// Computes the gradients of the images.
    pub(super) fn scatter<T: Float>(&self, machine: &Machine, filter: &[T], grad: &[T], out: &mut [T]) {
        let Machine { team, isa } = machine;
        let (taps, results, plane) = (self.filter.len(), self.output.len(), self.input.len());
        let at_once = (ROWS / taps).clamp(1, self.channels);
        let blocks = self.channels.div_ceil(at_once);
        let out = Shared(out.as_mut_ptr());
        team.run(self.images * self.groups * blocks, &|index| {
            let (planes, block) = (index / blocks, index % blocks);
            let channels = block * at_once..self.channels.min((block + 1) * at_once);
            let filter = &filter[planes % self.groups * self.filters * self.channels * taps..];
            let grad = &grad[planes * self.filters * results..][..self.filters * results];
            let mut product = Stack::<{ ROWS * COLUMNS * size_of::<f64>() }>::new();
            let product = (&raw mut product).cast::<T>();
            // SAFETY: these planes of the output belong to this index alone.
            let out = unsafe {
                let start = out.at((planes * self.channels + channels.start) * plane);
                std::slice::from_raw_parts_mut(start, channels.len() * plane)
            };
            out.fill(T::ZERO);
            let rows = channels.len() * taps;
            for (first, row) in (0..results)
                .step_by(COLUMNS)
                .flat_map(|first| (0..rows).step_by(ROWS).map(move |row| (first, row)))
            {
                let (count, rows) = (COLUMNS.min(results - first), row..rows.min(row + ROWS));
                let factors = Product {
                    k: self.filters,
                    a: Operand {
                        start: filter[channels.start * taps + row..].as_ptr(),
                        row: 1,
                        column: self.channels * taps,
                    },
                    b: Operand { start: grad[first..].as_ptr(), row: results, column: 1 },
                    c: product,
                    c_row: count,
                    accumulate: false,
                };
                // SAFETY: the product has room; A and B are inside of the filters and of the gradients.
                let product = unsafe {
                    factors.compute(*isa, 0..rows.len(), 0..count);
                    std::slice::from_raw_parts(product, rows.len() * count)
                };
                add(*isa, *self, [rows, first..first + count], product, out);
            }
        });
    }
}

dispatch! {
    /// Adds a product to the elements that some results meet. Its rows are some of those that there are for each channel and
    /// element of the filter.
    fn add<const FUSED: bool, T: Float>(
        isa, sizes: Sizes, part: [Range<usize>; 2], product: &[T], out: &mut [T],
    ) {
        let ([rows, results], taps, width) = (part, sizes.filter.len(), sizes.output.width);
        let first = (results.start / width, results.start % width);
        for (row, product) in rows.zip(product.chunks_exact(results.len())) {
            let (out, tap) = (&mut out[row / taps * sizes.input.len()..][..sizes.input.len()], row % taps);
            let (ky, kx) = (tap / sizes.filter.width, tap % sizes.filter.width);
            // The first result whose window's element is inside of a line.
            let (right, stride) = (kx * sizes.dilations[1], sizes.strides[1]);
            let inside = sizes.padding[1].saturating_sub(right).div_ceil(stride);
            let ((mut y, mut x), mut rest) = (first, product);
            while !rest.is_empty() {
                let (product, behind) = rest.split_at((width - x).min(rest.len()));
                let outside = inside.saturating_sub(x).min(product.len());
                let start = (right + (x + outside) * stride).saturating_sub(sizes.padding[1]);
                let below = y * sizes.strides[0] + ky * sizes.dilations[0];
                (y, x, rest) = (y + 1, 0, behind);
                let Some(line) = below.checked_sub(sizes.padding[0]).filter(|&y| y < sizes.input.height) else {
                    continue;
                };
                let line = &mut out[line * sizes.input.width..][..sizes.input.width];
                let Some(line) = line.get_mut(start..) else { continue };
                let product = &product[outside..];
                if stride == 1 {
                    for (to, from) in line.iter_mut().zip(product) {
                        *to += *from;
                    }
                } else {
                    for (to, from) in line.iter_mut().step_by(stride).zip(product) {
                        *to += *from;
                    }
                }
            }
        }
    }
}
