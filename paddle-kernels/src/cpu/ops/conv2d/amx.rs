//! Convolutions in bf16 by the tiles of AMX: see [`crate::cpu::amx`]. A row of the left factor is what a result meets of an
//! image, a row of the right one is what a value is multiplied with in all filters.
//!
//! Threads take strips of results. They round the part of the images that a strip meets, with zeros around it, once ([`strip`]);
//! what the results meet are runs of neighbouring values there, which are copied to tiles. The sum of a result is in the order
//! of its taps and their channels, whatever the strip.
#![allow(unsafe_code, reason = "tiles, and images through raw pointers")]

mod filters;
mod gradient;
mod strip;

use paddle_core::memory::OutOfMemory;

use self::filters::PackedFilters;
use self::strip::{Buffer, Strips};
use super::axis::{Axis, Geometry};
use super::{Conv2dGradKind, Pass, Sizes};
use crate::cpu::amx::{BLOCK, Configured, MOST_TILES, Packed, TILE};
use crate::cpu::epilogue::Finish;
use crate::cpu::images::Images;
use crate::cpu::kernel::Machine;
use crate::cpu::pairs::Pair;
use crate::cpu::scratch::Scratch;
use crate::cpu::shared::Shared;

/// With fewer channels, phases of gradients are no faster by tiles.
const FEWEST_OF_PHASES: usize = 64;

/// What kernels by tiles keep from one launch to the next.
#[derive(Default)]
pub(super) struct Memory {
    filters: Scratch<Pair>,
    gradients: Scratch<f32>,
}

/// Sums of products of images and filters, for the results along two axes.
struct StripSums<'a> {
    strips: Strips,
    source: &'a [f32],
    filters: &'a [Pair],
    results: Images,
    out: Shared<f32>,
}

impl StripSums<'_> {
    /// Computes all results. As soon as neighbouring results are final, `finish` is called with their elements.
    fn run(&self, machine: &Machine, finish: Finish<'_>) {
        machine.team.run(self.strips.count(), &|index| {
            let strip = self.strips.strip(index);
            let mut buffer = Buffer::new();
            // SAFETY: there is an `Isa` with tiles only where the machine has them. A strip's results are its own.
            unsafe {
                self.strips.round(self.source, &strip, buffer.values());
                self.multiply(&strip, buffer.values());
            }
            if self.strips.is_dense() {
                let channels = self.results.channels;
                let first = self.strips.first_result(&strip) * channels;
                // SAFETY: these results are the strip's own, and are final.
                unsafe { finish.part(self.out.at(0), first..first + strip.results() * channels) };
            }
        });
    }

    /// # Safety
    /// The machine has tiles, `values` are those of the strip, and nobody else touches its results.
    unsafe fn multiply(&self, strip: &strip::Strip, values: *const u16) {
        let (tiles, channels, count) = (self.strips.tiles(), self.results.channels, strip.results());
        if tiles == 0 {
            for result in 0..count {
                let to = self.strips.result(strip, result) * channels;
                // SAFETY: the caller's.
                unsafe { self.out.at(to).write_bytes(0, channels) };
            }
            return;
        }
        let mut packed = Packed::new();
        let left = packed.tiles();
        // SAFETY: the caller's. There is room for the most tiles; filters have as many tiles for each block of channels.
        unsafe {
            let in_use = Configured::new();
            for block in (0..count).step_by(BLOCK) {
                let rows = BLOCK.min(count - block);
                let places = self.strips.places(strip, block..block + rows);
                let dense = self.strips.is_dense().then(|| self.strips.first_result(strip) + block);
                for first in (0..tiles).step_by(MOST_TILES) {
                    let chunk = first..tiles.min(first + MOST_TILES);
                    self.strips.pack_rows(strip, values, &places, chunk.clone(), left);
                    for channel in (0..channels).step_by(BLOCK) {
                        let right = self.filters[(channel / BLOCK * tiles + first) * 2 * TILE..].as_ptr();
                        let size = [rows, BLOCK.min(channels - channel)];
                        let (factors, depth, add) = ([left.cast_const(), right], chunk.len(), first > 0);
                        match dense {
                            Some(at) => {
                                let to = self.out.at(at * channels + channel);
                                in_use.block(factors, depth, (to, channels), size, add);
                            }
                            None => {
                                let to = |row| {
                                    self.out.at(self.strips.result(strip, block + row) * channels + channel)
                                };
                                in_use.rows(factors, depth, to, size, add);
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Sizes {
    /// Whether tiles multiply what this is: images with the channels as the fastest axis, in one group, and filters whose elements
    /// have numbers of 32 bits.
    fn fills_tiles(&self) -> bool {
        let elements = self.filters * self.channels * self.filter.len();
        self.groups == 1 && self.last == [true; 2] && i32::try_from(elements).is_ok()
    }

    /// Whether tiles are faster than numbers as they are, if they multiply what this is.
    pub(super) fn repays_tiles(&self, pass: Pass) -> bool {
        let (images, results) = (self.images(), self.results());
        let is_full = |axes, source, results| Strips::new(axes, source, results).filter(Strips::fill_tiles);
        match pass {
            Pass::Forward | Pass::Grad(Conv2dGradKind::Filter) => {
                is_full(self.geometry().map(Geometry::forward), images, results).is_some()
            }
            // Phases pack filters of their own, and write results one by one.
            Pass::Grad(Conv2dGradKind::Input) => self.phases().all(|axes| {
                let is_repaid = |strips: Strips| strips.is_dense() || results.channels >= FEWEST_OF_PHASES;
                is_full(axes, results, images).is_some_and(is_repaid)
            }),
        }
    }

    /// Computes the results by tiles, unless a strip would be too large, or images are laid out otherwise: then it returns
    /// false.
    pub(super) fn forward_in_bf16(
        &self,
        machine: &Machine,
        (memory, version): (&Memory, Option<u64>),
        [input, filter]: [&[f32]; 2],
        (out, finish): (&mut [f32], Finish<'_>),
    ) -> Result<bool, OutOfMemory> {
        let axes = self.geometry().map(Geometry::forward);
        let (source, results) = (self.images(), self.results());
        let Some(strips) = Strips::new(axes, source, results).filter(|_| self.fills_tiles()) else {
            return Ok(false);
        };
        let inner = self.filter.len();
        let filters = PackedFilters { strips, width: self.filter.width, outer: self.filters };
        let pack = |to: &mut [Pair]| filters.pack(&machine.team, filter, [self.channels * inner, inner], to);
        memory.filters.lend_made(filters.len(), version, pack, |packed| {
            let out = Shared(out.as_mut_ptr());
            StripSums { strips, source: input, filters: packed, results, out }.run(machine, finish);
        })?;
        Ok(true)
    }

    /// Computes the gradients of the images by tiles, with the same exceptions.
    pub(super) fn grad_input_in_bf16(
        &self,
        machine: &Machine,
        memory: &Memory,
        [filter, grad]: [&[f32]; 2],
        out: &mut [f32],
    ) -> Result<bool, OutOfMemory> {
        let (source, results) = (self.results(), self.images());
        let strips = |axes: [Axis; 2]| Strips::new(axes, source, results);
        if !self.fills_tiles() || self.phases().any(|axes| strips(axes).is_none()) {
            return Ok(false);
        }
        let outer = self.filter.len();
        let inner = self.channels * outer;
        let out = out.as_mut_ptr();
        for strips in self.phases().filter_map(strips) {
            let filters = PackedFilters { strips, width: self.filter.width, outer: self.channels };
            let pack = |to: &mut [Pair]| filters.pack(&machine.team, filter, [outer, inner], to);
            // Filters are packed anew for each phase.
            memory.filters.lend_made(filters.len(), None, pack, |packed| {
                StripSums { strips, source: grad, filters: packed, results, out: Shared(out) }
                    .run(machine, Finish::default());
            })?;
        }
        Ok(true)
    }
}
