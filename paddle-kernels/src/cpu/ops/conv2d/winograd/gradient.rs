//! Gradients of filters by tiles: the transpose of the results in all factors.
//!
//! The tiles are cut into parts, whose number depends on the shapes alone. Each part has sums of its own at all points, which
//! are added up in their order.
#![allow(unsafe_code, reason = "computes with vectors")]

use super::transform::{FilterGradient, Input, Memory, Patch, Room, Spread, transform};
use super::{ALL, MOST_TAPS, MOST_WIDTH, POINTS, Tiling};
use crate::cpu::epilogue::InRegisters;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
use crate::cpu::ops::conv2d::filters::{Filters, add_parts};
use crate::cpu::shared::Shared;
use crate::cpu::stack;
use crate::cpu::transpose::transpose;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// The most bytes of the values of tiles of the source and of the gradients.
const BYTES: usize = 384 * 1024;
/// The most tiles that are added up at once.
const TILES: usize = 32;

/// Gradients of filters.
pub(in super::super) struct TileGradient<'a, T> {
    pub(in super::super) tiling: Tiling,
    pub(in super::super) source: &'a [T],
    /// The gradients of the results.
    pub(in super::super) grad: &'a [T],
    /// The sums of each part: for each group, point and inner channel, the outer channels.
    pub(in super::super) parts: *mut T,
}

// SAFETY: threads write sums that do not overlap.
unsafe impl<T: Sync> Sync for TileGradient<'_, T> {}

/// The bytes of the values of a tile of the source and of the gradients.
fn tile_bytes<T>(filters: Filters) -> usize {
    let Filters { inner, lanes, .. } = filters;
    ALL * (inner.next_multiple_of(lanes) + filters.width_of_all()) * size_of::<T>()
}

/// How many tiles are added up at once.
fn at_once<T>(filters: Filters) -> usize {
    (BYTES / tile_bytes::<T>(filters).max(1)).min(TILES)
}

impl Tiling {
    /// In how many parts gradients of filters are summed; none if the tiles would need
    /// too much memory.
    pub(in super::super) fn parts<T>(&self) -> Option<usize> {
        let at_once = at_once::<T>(self.filters);
        /// A part adds up tiles about so many times: its sums are written once more.
        const TIMES: usize = 4;
        let elements = self.filters.groups * self.filters.group();
        (at_once >= 4)
            .then(|| super::super::gradient::parts(self.tiles().div_ceil(TIMES * at_once), elements))
    }
}

impl<T: Float> TileGradient<'_, T> {
    /// Computes the sums of `parts` parts.
    pub(in super::super) fn run(&self, isa: Isa, team: &Team, parts: usize) {
        let Filters { groups, .. } = self.tiling.filters;
        let tiles = self.tiling.tiles();
        team.run(groups * parts, &|index| {
            let (part, group) = (index / groups, index % groups);
            let tiles = [part, part + 1].map(|part| part * tiles / parts);
            // SAFETY: each index has sums of its own.
            let to = unsafe { self.parts.add(index * self.tiling.filters.group()) };
            let most = at_once::<T>(self.tiling.filters).min(tiles[1] - tiles[0]);
            stack::lend([most * tile_bytes::<T>(self.tiling.filters)], &mut |[values]| {
                on_registers(isa, Part { of: self, group, tiles, values, to });
            });
        });
    }
}

/// The sums of one part and group.
struct Part<'a, T> {
    of: &'a TileGradient<'a, T>,
    group: usize,
    tiles: [usize; 2],
    /// Memory for the values of the tiles.
    values: *mut T,
    to: *mut T,
}

impl<T: Float> Work<T> for Part<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's; nobody else uses these sums.
        unsafe {
            match self.of.tiling.taps {
                3 => self.compute::<V, 4>(),
                _ => self.compute::<V, 2>(),
            }
        }
    }
}

impl<T: Float> Part<'_, T> {
    /// # Safety
    /// The machine has the instruction set of `V`; a tile has `STEP` by `STEP` results; nobody else uses the sums.
    #[inline(always)]
    unsafe fn compute<V: Vector<Element = T>, const STEP: usize>(&self) {
        let TileGradient { tiling, source, grad, .. } = self.of;
        let Tiling { filters, images, results, .. } = tiling;
        let (depth, width) = (filters.inner.next_multiple_of(V::LANES), filters.width_of_all());
        let at_once = at_once::<T>(*filters).min(self.tiles[1] - self.tiles[0]).max(1);
        let values = self.values;
        // SAFETY: the values of the tiles have room; images and gradients are valid.
        unsafe {
            let grads = values.add(ALL * at_once * depth);
            for first in (self.tiles[0]..self.tiles[1]).step_by(at_once) {
                let count = at_once.min(self.tiles[1] - first);
                for tile in 0..count {
                    let (image, start, result) = tiling.tile(first + tile);
                    let from = source[image * images.image() + self.group * filters.inner..].as_ptr();
                    let patch = Patch::<T, POINTS>::new(*images, from, filters.inner, start);
                    patch.values::<V, Input>(values.add(tile * depth), count * depth);
                    let from = grad[image * results.image() + self.group * filters.outer..].as_ptr();
                    let start = result.map(|at| at as isize);
                    let patch = Patch::<T, STEP>::new(*results, from, filters.outer, start);
                    patch.values::<V, Spread>(grads.add(tile * width), count * width);
                }
                for point in 0..ALL {
                    let sums = Sums {
                        values: values.add(point * count * depth),
                        depth,
                        grads: grads.add(point * count * width),
                        width,
                        tiles: count,
                        to: self.to.add(point * filters.inner * width),
                        is_first: first == self.tiles[0],
                    };
                    sums.add::<V>(filters.inner);
                }
            }
        }
    }
}

/// The sums at one point over some tiles.
#[derive(Clone, Copy)]
struct Sums<T> {
    /// For each tile, the values of the source.
    values: *const T,
    /// The distance of neighbouring tiles in the values.
    depth: usize,
    /// For each tile, the values of the gradients.
    grads: *const T,
    /// The distance of neighbouring tiles in the gradients, and of neighbouring inner channels in the sums.
    width: usize,
    tiles: usize,
    /// For each inner channel, the outer channels.
    to: *mut T,
    /// Whether there are no sums yet.
    is_first: bool,
}

/// Whether there are registers for two of a tile's vectors at once.
const fn is_wide<V: Vector>() -> bool {
    V::REGISTERS >= 32
}

impl<T: Float> Sums<T> {
    /// Adds the products of all inner and outer channels, of which there are some tiles.
    ///
    /// # Safety
    /// The operands are valid; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn add<V: Vector<Element = T>>(self, inner: usize) {
        // SAFETY: the caller's.
        unsafe {
            let mut lane = 0;
            while lane < self.width {
                let pair = is_wide::<V>() && self.width - lane >= 2 * V::LANES;
                let mut channel = 0;
                while channel < inner {
                    let rest = inner - channel;
                    channel += match (pair, rest) {
                        // The compiler makes no copies for registers that the constant excludes.
                        (true, 12..) if const { is_wide::<V>() } => self.block::<V, 12, 2>(channel, lane),
                        (true, 8..) if const { is_wide::<V>() } => self.block::<V, 8, 2>(channel, lane),
                        (true, 4..) if const { is_wide::<V>() } => self.block::<V, 4, 2>(channel, lane),
                        (true, _) if const { is_wide::<V>() } => self.block::<V, 1, 2>(channel, lane),
                        (_, 16..) if const { is_wide::<V>() } => self.block::<V, 16, 1>(channel, lane),
                        (_, 8..) => self.block::<V, 8, 1>(channel, lane),
                        (_, 4..) => self.block::<V, 4, 1>(channel, lane),
                        _ => self.block::<V, 1, 1>(channel, lane),
                    };
                }
                lane += V::LANES * if pair { 2 } else { 1 };
            }
        }
    }

    /// Adds the products of `RUN` inner channels and `WIDTH` registers of outer ones. Returns the number of inner channels.
    ///
    /// # Safety
    /// As for [`Self::add`].
    #[inline(always)]
    unsafe fn block<V: Vector<Element = T>, const RUN: usize, const WIDTH: usize>(
        self,
        channel: usize,
        lane: usize,
    ) -> usize {
        // SAFETY: the caller's.
        unsafe {
            let to = self.to.add(channel * self.width + lane);
            let mut sums = [[V::splat(T::ZERO); WIDTH]; RUN];
            if !self.is_first {
                for (run, sums) in sums.iter_mut().enumerate() {
                    for (w, sum) in sums.iter_mut().enumerate() {
                        *sum = V::load(to.add(run * self.width + w * V::LANES));
                    }
                }
            }
            let (mut value, mut grad) = (self.values.add(channel), self.grads.add(lane));
            for _ in 0..self.tiles {
                let mut grads = [V::splat(T::ZERO); WIDTH];
                for (w, register) in grads.iter_mut().enumerate() {
                    *register = V::load(grad.add(w * V::LANES));
                }
                for (run, sums) in sums.iter_mut().enumerate() {
                    let value = V::splat(*value.add(run));
                    for (grad, sum) in grads.iter().zip(sums) {
                        *sum = value.mul_add(*grad, *sum);
                    }
                }
                value = value.add(self.depth);
                grad = grad.add(self.width);
            }
            for (run, sums) in sums.iter().enumerate() {
                for (w, sum) in sums.iter().enumerate() {
                    sum.store(to.add(run * self.width + w * V::LANES));
                }
            }
        }
        RUN
    }
}

impl Tiling {
    /// Adds up the sums of all parts, and transforms them to gradients of the filters.
    pub(in super::super) fn unpack<T: Float>(
        &self,
        isa: Isa,
        team: &Team,
        parts: &mut [T],
        filters: &mut [T],
    ) {
        add_parts(isa, team, parts, self.filters.groups * self.filters.group());
        let Filters { groups, inner, outer, .. } = self.filters;
        let (step, to) = (outer * inner * self.taps * self.taps, Shared(filters.as_mut_ptr()));
        let sums = &parts[..groups * self.filters.group()];
        team.run(groups * inner, &|index| {
            let (group, channel) = (index / inner, index % inner);
            let sums = &sums[group * self.filters.group() + channel * self.filters.width_of_all()..];
            let to = to.at(group * step + channel * self.taps * self.taps);
            on_registers(isa, Unpacking { of: self, sums, to });
        });
    }
}

/// The gradients of the filters of one inner channel.
struct Unpacking<'a, T> {
    of: &'a Tiling,
    sums: &'a [T],
    to: *mut T,
}

impl<T: Float> Work<T> for Unpacking<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's; nobody else uses these filters.
        unsafe {
            match self.of.taps {
                3 => self.compute::<V, 3>(),
                _ => self.compute::<V, 5>(),
            }
        }
    }
}

impl<T: Float> Unpacking<'_, T> {
    /// # Safety
    /// The machine has the instruction set of `V`; filters have `TAPS` by `TAPS` elements; nobody else uses these.
    #[inline(always)]
    unsafe fn compute<V: Vector<Element = T>, const TAPS: usize>(&self) {
        let Filters { inner, outer, .. } = self.of.filters;
        let distance = inner * self.of.filters.width_of_all();
        let mut elements = [T::ZERO; MOST_TAPS * MOST_WIDTH];
        for lane in (0..outer).step_by(V::LANES) {
            // SAFETY: the sums have whole registers of outer channels; the filters have `count` of them.
            unsafe {
                let start = self.sums[lane..].as_ptr();
                let from = Memory { start, distances: [POINTS * distance, distance] };
                let to = Room {
                    start: elements.as_mut_ptr(),
                    distances: [TAPS * V::LANES, V::LANES],
                    size: [TAPS; 2],
                    endings: InRegisters::NONE.load_all(0, V::LANES),
                    first: 0,
                };
                transform::<V, FilterGradient, POINTS, TAPS>(&from, &to);
                let (step, count) = (inner * TAPS * TAPS, V::LANES.min(outer - lane));
                transpose(elements.as_ptr(), V::LANES, self.to.add(lane * step), step, count, TAPS * TAPS);
            }
        }
    }
}
