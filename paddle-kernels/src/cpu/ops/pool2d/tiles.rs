//! Gradients of maxima in planes that windows of one size cut: lanes are windows, so channels are not brought side by side.
#![allow(unsafe_code, reason = "threads share the gradients")]

use paddle_core::ops::PoolKind;

use super::blocks::{Pass, Pooling};
use super::columns::WINDOWS;
use crate::cpu::epilogue::Finish;
use crate::cpu::images::Images;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::number::Float;
use crate::cpu::shared::Shared;
use crate::team::Team;

/// About so many elements are pooled at a time.
const PIECE: usize = 1 << 14;

/// Planes, and the height and width of windows.
#[derive(Clone, Copy)]
struct Tiles {
    size: [usize; 2],
    window: [usize; 2],
}

impl<T: Float> Pooling<T> {
    /// Computes the gradients, if they are those of maxima in planes, and the windows are two or three elements wide; otherwise the result
    /// is false.
    pub(super) fn run_on_tiles(&self, isa: Isa, team: &Team, finish: Finish<'_>) -> bool {
        let Pass::Backward { x, x_images, grad, out } = self.pass else { return false };
        let in_planes = ![self.images, self.results, x_images].iter().any(|images| images.last);
        let Some(window) = self.tile().filter(|window| (2..=3).contains(&window[1])) else { return false };
        if !in_planes || self.pool.op.pooling_type != PoolKind::Max {
            return false;
        }
        let tiles = Tiles { size: self.images.size, window };
        let [plane, results] = [self.images, self.results].map(Images::plane);
        let (planes, at_once) = (self.images.count * self.images.channels, PIECE.div_ceil(plane));
        let [x, grad] = [x, grad].map(|from| Shared(from.cast_mut()));
        let out = Shared(out);
        team.run(planes.div_ceil(at_once), &|piece| {
            let first = piece * at_once;
            let count = at_once.min(planes - first);
            // SAFETY: images and results have these planes, and those of `out` are this piece's own.
            unsafe {
                let part = |of: &Shared<T>, plane: usize| {
                    std::slice::from_raw_parts(of.at(first * plane).cast_const(), count * plane)
                };
                let to = std::slice::from_raw_parts_mut(out.at(first * plane), count * plane);
                gradients(isa, tiles, part(&x, plane), part(&grad, results), to);
                finish.part(out.at(0), first * plane..(first + count) * plane);
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
    fn gradients<const FUSED: bool, T: Float>(isa, tiles: Tiles, x: &[T], grad: &[T], out: &mut [T]) {
        match tiles.window[1] {
            2 => of_planes::<T, 2>(tiles, x, grad, out),
            _ => of_planes::<T, 3>(tiles, x, grad, out),
        }
    }
}

/// The gradients of planes, by windows that are `WIDTH` elements wide.
#[inline(always)]
fn of_planes<T: Float, const WIDTH: usize>(tiles: Tiles, x: &[T], grad: &[T], out: &mut [T]) {
    let Tiles { size: [_, width], window: [height, _] } = tiles;
    // Planes are rows of windows behind each other.
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
