//! Gradients of filters by tiles: for each filter, and each value that results meet, the sum over all results.
//!
//! Like others, they are sums of parts, whose number depends on the sizes alone.
#![allow(unsafe_code, reason = "tiles, and images through raw pointers")]

use std::mem::MaybeUninit;
use std::ops::Range;

use paddle_core::memory::OutOfMemory;

use super::Memory;
use super::strip::{Buffer, Places, Strip, Strips};
use crate::cpu::amx::{BLOCK, Configured, DEPTH, Lines, Packed, Part, Row, TILE};
use crate::cpu::kernel::Machine;
use crate::cpu::ops::conv2d::Sizes;
use crate::cpu::ops::conv2d::axis::Geometry;
use crate::cpu::ops::conv2d::filters::add_parts;
use crate::cpu::ops::conv2d::gradient::parts;
use crate::cpu::pairs::Pair;
use crate::cpu::shared::Shared;

/// The most tiles of results that are packed at once, for one row of tiles: with what they are multiplied with, they fill half
/// of the first-level cache.
const AT_ONCE: usize = 8;
/// The tiles of gradients that are multiplied before others are packed: a part of the second-level cache.
const GRADIENTS: usize = 128;

/// Packed gradients of results, as rows of a left factor.
#[repr(align(64))]
struct Left(MaybeUninit<[Pair; GRADIENTS * TILE]>);

/// Sums of products of images and gradients of results.
struct FilterGradient<'a> {
    strips: Strips,
    source: &'a [f32],
    grad: &'a [f32],
    filters: usize,
}

impl FilterGradient<'_> {
    /// The elements of a row of a part, which has a row for each filter: the values of all tiles.
    fn row(&self) -> usize {
        self.strips.tiles() * DEPTH
    }

    /// The tiles of results that are packed at once.
    fn at_once(&self) -> usize {
        (GRADIENTS / (self.filters.div_ceil(BLOCK) * 2)).min(AT_ONCE)
    }

    /// Computes the part of some strips, of which there is one at least.
    ///
    /// # Safety
    /// The machine has tiles, and `to` is valid for writing a part.
    unsafe fn part(&self, strips: Range<usize>, to: *mut f32) {
        let (mut buffer, mut left, mut right) = (Buffer::new(), Left(MaybeUninit::uninit()), Packed::new());
        let tiles = [left.0.as_mut_ptr().cast::<Pair>(), right.tiles()];
        let (first, chunk) = (strips.start, self.at_once() * DEPTH);
        // SAFETY: the caller's.
        unsafe {
            let in_use = Configured::new();
            for index in strips {
                let strip = self.strips.strip(index);
                self.strips.round(self.source, &strip, buffer.values());
                for start in (0..strip.results()).step_by(chunk) {
                    let results = start..strip.results().min(start + chunk);
                    let add = index > first || start > 0;
                    self.add(&in_use, (&strip, buffer.values()), results, tiles, (to, add));
                }
            }
        }
    }

    /// Computes what some results of a strip contribute, or adds it.
    ///
    /// # Safety
    /// As for [`part`](Self::part); the values are those of the strip, and the tiles have room for so many results.
    unsafe fn add(
        &self,
        in_use: &Configured,
        (strip, values): (&Strip, *const u16),
        results: Range<usize>,
        [left, right]: [*mut Pair; 2],
        (to, add): (*mut f32, bool),
    ) {
        let (row, depth) = (self.row(), results.len().div_ceil(DEPTH));
        let start = self.grad[(self.strips.first_result(strip) + results.start) * self.filters..].as_ptr();
        let lines = Lines { start, line: 1, inner: self.filters, lines: self.filters, depth: results.len() };
        let mut places = [Places::NONE; AT_ONCE];
        for (place, first) in places.iter_mut().zip(results.clone().step_by(DEPTH)) {
            *place = self.strips.places(strip, first..results.end.min(first + DEPTH));
        }
        let band = |filter: usize| filter / BLOCK * depth * 2 * TILE;
        // SAFETY: the caller's. The results of a strip are neighbours.
        unsafe {
            for filter in (0..self.filters).step_by(BLOCK) {
                lines.pack(filter, 0..depth, (Row::Lines, Part::First), left.add(band(filter)));
            }
            for tile in 0..self.strips.tiles() {
                let of_tile = self.strips.of_tile(strip, tile);
                for (at, places) in places[..depth].iter().enumerate() {
                    places.pack_columns(values, of_tile, right.add(at * 2 * TILE));
                }
                for filter in (0..self.filters).step_by(BLOCK) {
                    let c = to.add(filter * row + tile * DEPTH);
                    let size = [BLOCK.min(self.filters - filter), BLOCK];
                    in_use.block([left.add(band(filter)), right], depth, (c, row), size, add);
                }
            }
        }
    }
}

impl Sizes {
    /// Computes the gradients of the filters by tiles, with the same exceptions as forward, and that of very many filters.
    pub(in super::super) fn grad_filter_in_bf16(
        &self,
        machine: &Machine,
        memory: &Memory,
        [input, grad]: [&[f32]; 2],
        out: &mut [f32],
    ) -> Result<bool, OutOfMemory> {
        let axes = self.geometry().map(Geometry::forward);
        let Some(strips) = Strips::new(axes, self.images(), self.results()) else { return Ok(false) };
        let of = FilterGradient { strips, source: input, grad, filters: self.filters };
        if !self.fills_tiles() || strips.count() == 0 || of.at_once() == 0 {
            return Ok(false);
        }
        let elements = self.filters * of.row();
        let count = parts(strips.count(), elements);
        memory.gradients.lend(count * elements, |parts| {
            let to = Shared(parts.as_mut_ptr());
            machine.team.run(count, &|part| {
                let strips = part * strips.count() / count..(part + 1) * strips.count() / count;
                // SAFETY: there is an `Isa` with tiles only where the machine has them. Each part is one thread's.
                unsafe { of.part(strips, to.at(part * elements)) };
            });
            add_parts(machine.isa, &machine.team, parts, elements);
            let (inner, out) = (self.filter.len(), Shared(out.as_mut_ptr()));
            machine.team.run_if(elements > 1 << 14, strips.tiles(), &|tile| {
                let (met, count) = strips.met(tile, self.filter.width, inner);
                for filter in 0..self.filters {
                    let from = &parts[filter * of.row() + tile * DEPTH..][..count];
                    let to = filter * self.channels * inner;
                    for (sum, at) in from.iter().zip(met) {
                        // SAFETY: each element of a filter is a value of one tile.
                        unsafe { *out.at(to + at as usize) = *sum };
                    }
                }
            });
        })?;
        Ok(true)
    }
}
