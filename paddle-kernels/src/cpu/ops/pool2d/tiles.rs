//! Maxima in planes that windows of one size cut, and their gradients: lanes are windows, so channels are not brought side by side.
#![allow(unsafe_code, reason = "threads share what is written")]

use std::ops::{Range, RangeInclusive};
use std::slice;

use paddle_core::ops::{Padding, Pool2d, PoolKind};

use super::blocks::{Pass, Pooling};
use super::columns::WINDOWS;
use crate::cpu::epilogue::Finish;
use crate::cpu::images::Images;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::number::Float;
use crate::team::Team;

/// About so many elements are pooled at a time.
const PIECE: usize = 1 << 14;

/// Planes, and the height and width of windows.
#[derive(Clone, Copy)]
struct Tiles {
    size: [usize; 2],
    window: [usize; 2],
}

/// Whether windows may cut planes, and be narrow enough for their maxima to be computed here.
pub(super) fn may_be_tiles(op: &Pool2d) -> bool {
    let cuts = op.ksize == op.strides && op.paddings == Padding::Explicit([0; 4]);
    cuts && op.pooling_type == PoolKind::Max && WIDTHS.contains(&(op.ksize[1] as usize))
}

/// The widths of windows for which there are kernels.
const WIDTHS: RangeInclusive<usize> = 1..=3;
/// Fewer windows in a row do not fill lanes.
const FEWEST: usize = 8;

impl<T: Float> Pooling<T> {
    /// Computes the pooling of planes, if it is that of maxima, and windows are narrow and enough in a row; otherwise the result is false.
    pub(super) fn run_on_tiles(&self, isa: Isa, team: &Team, finish: Finish<'_>) -> bool {
        let Some(window) = self.tile().filter(|window| WIDTHS.contains(&window[1])) else { return false };
        if self.pool.op.pooling_type != PoolKind::Max || self.pool.output[1] < FEWEST {
            return false;
        }
        let tiles = Tiles { size: self.images.size, window };
        let [plane, results] = [self.images, self.results].map(Images::plane);
        let (planes, at_once) = (self.images.count * self.images.channels, PIECE.div_ceil(plane));
        team.run(planes.div_ceil(at_once), &|piece| {
            let some = piece * at_once..planes.min((piece + 1) * at_once);
            let [of_images, of_results] = [plane, results].map(|plane| some.start * plane..some.end * plane);
            // SAFETY: images and results have these planes, and those that are written are this piece's own.
            unsafe {
                let read = |from: *const T, part: &Range<usize>| {
                    slice::from_raw_parts(from.add(part.start), part.len())
                };
                let write = |to: *mut T, part: &Range<usize>| {
                    slice::from_raw_parts_mut(to.add(part.start), part.len())
                };
                match self.pass {
                    Pass::Forward { x, out } => {
                        maxima(isa, tiles, read(x, &of_images), write(out, &of_results));
                        finish.part(out, of_results);
                    }
                    Pass::Backward { x, grad, out, .. } => {
                        let from = [read(x, &of_images), read(grad, &of_results)];
                        gradients(isa, tiles, from, write(out, &of_images));
                        finish.part(out, of_images);
                    }
                }
            }
        });
        true
    }

    /// Height and width of the windows, if these cut planes.
    fn tile(&self) -> Option<[usize; 2]> {
        let of_axis = |axis: usize| {
            let (input, output) = (self.pool.input[axis], self.pool.output[axis]);
            let size = input / output.max(1);
            let is_tile = |at: usize| {
                self.pool.op.covered(axis, input, output, at).elements == (at * size..(at + 1) * size)
            };
            (size > 0 && size * output == input && (0..output).all(is_tile)).then_some(size)
        };
        Some([of_axis(0)?, of_axis(1)?])
    }
}

dispatch! {
    fn maxima<const FUSED: bool, T: Float>(isa, tiles: Tiles, x: &[T], out: &mut [T]) {
        match tiles.window[1] {
            1 => maxima_of::<T, 1>(tiles, x, out),
            2 => maxima_of::<T, 2>(tiles, x, out),
            _ => maxima_of::<T, 3>(tiles, x, out),
        }
    }
}

dispatch! {
    fn gradients<const FUSED: bool, T: Float>(isa, tiles: Tiles, from: [&[T]; 2], out: &mut [T]) {
        match tiles.window[1] {
            1 => gradients_of::<T, 1>(tiles, from, out),
            2 => gradients_of::<T, 2>(tiles, from, out),
            _ => gradients_of::<T, 3>(tiles, from, out),
        }
    }
}

/// The maxima of windows that are `WIDTH` elements wide.
#[inline(always)]
fn maxima_of<T: Float, const WIDTH: usize>(tiles: Tiles, x: &[T], out: &mut [T]) {
    let Tiles { size: [_, width], window: [height, _] } = tiles;
    // Planes are rows of windows behind each other.
    for (x, out) in x.chunks_exact(height * width).zip(out.chunks_exact_mut(width / WIDTH)) {
        for (y, row) in x.chunks_exact(width).enumerate() {
            for (largest, window) in out.iter_mut().zip(row.as_chunks::<WIDTH>().0) {
                for (at, &seen) in window.iter().enumerate() {
                    *largest = if (y == 0 && at == 0) || seen > *largest { seen } else { *largest };
                }
            }
        }
    }
}

/// The gradients of images, by windows that are `WIDTH` elements wide.
#[inline(always)]
fn gradients_of<T: Float, const WIDTH: usize>(tiles: Tiles, [x, grad]: [&[T]; 2], out: &mut [T]) {
    let Tiles { size: [_, width], window: [height, _] } = tiles;
    let rows = x.chunks_exact(height * width).zip(out.chunks_exact_mut(height * width));
    for ((x, out), grad) in rows.zip(grad.chunks_exact(width / WIDTH)) {
        for (number, grad) in grad.chunks(WINDOWS).enumerate() {
            let first = number * WINDOWS * WIDTH;
            let of_windows = first..first + grad.len() * WIDTH;
            let (mut largest, mut place) = ([T::ZERO; WINDOWS], [T::ZERO; WINDOWS]);
            for (y, row) in x.chunks_exact(width).enumerate() {
                let windows = row[of_windows.clone()].as_chunks::<WIDTH>().0;
                for ((largest, place), window) in largest.iter_mut().zip(&mut place).zip(windows) {
                    for (at, &seen) in window.iter().enumerate() {
                        // The first element that is the largest stays; nothing is larger than one that is no number.
                        let is_larger = (y == 0 && at == 0) || seen > *largest;
                        *largest = if is_larger { seen } else { *largest };
                        *place = if is_larger { T::of((y * WIDTH + at) as f64) } else { *place };
                    }
                }
            }
            for (y, row) in out.chunks_exact_mut(width).enumerate() {
                let windows = row[of_windows.clone()].as_chunks_mut::<WIDTH>().0;
                for ((window, place), grad) in windows.iter_mut().zip(&place).zip(grad) {
                    for (at, out) in window.iter_mut().enumerate() {
                        let is_place = *place == T::of((y * WIDTH + at) as f64);
                        *out = if is_place { *grad } else { T::ZERO };
                    }
                }
            }
        }
    }
}
