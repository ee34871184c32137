//! Interpolation of images whose channels are the fastest axis: those of a place are computed side by side.

use super::{PIECE, Place, Sizes};
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::Machine;
use crate::cpu::number::Float;
use crate::cpu::pieces::pieces;

pub(super) fn forward<T: Float>(machine: &Machine, sizes: &Sizes, x: &[T], out: &mut [T]) {
    let of_row = sizes.output.size[1] * sizes.output.channels;
    let rows = PIECE.div_ceil(of_row.max(1));
    pieces(&machine.team, out, rows * of_row, &|index, out| {
        for (at, out) in out.chunks_exact_mut(of_row.max(1)).enumerate() {
            let row = index * rows + at;
            let [image, y] = [row / sizes.output.size[0], row % sizes.output.size[0]];
            let x = &x[image * sizes.input.image()..][..sizes.input.image()];
            of_row_of_results(machine.isa, sizes, y, x, out);
        }
    });
}

dispatch! {
    /// Computes row `y` of the results of an image.
    fn of_row_of_results<const FUSED: bool, T: Float>(isa, sizes: &Sizes, y: usize, x: &[T], out: &mut [T]) {
        let ([down, across], channels) = (sizes.along, sizes.input.channels);
        let of_row = sizes.input.size[1] * channels;
        let row = Place::<T>::of(&down, y);
        let [above, below] = [row.first, row.second].map(|row| &x[row * of_row..][..of_row]);
        for (at, out) in out.chunks_exact_mut(channels.max(1)).enumerate() {
            let place = Place::<T>::of(&across, at);
            along(&place, above, channels, |at, value| out[at] = value);
            if !row.is_on() {
                let [of_above, of_below] = row.weights;
                along(&place, below, channels, |at, value| out[at] = of_above * out[at] + of_below * value);
            }
        }
    }
}

/// Calls `with` with the channels at a place of a line. An element of weight 0 may be infinite.
#[inline(always)]
fn along<T: Float>(place: &Place<T>, line: &[T], channels: usize, mut with: impl FnMut(usize, T)) {
    let first = &line[place.first * channels..][..channels];
    if place.is_on() {
        for (at, first) in first.iter().enumerate() {
            with(at, *first);
        }
    } else {
        let second = &line[place.second * channels..][..channels];
        let [of_first, of_second] = place.weights;
        for (at, (first, second)) in first.iter().zip(second).enumerate() {
            with(at, of_first * *first + of_second * *second);
        }
    }
}

pub(super) fn backward<T: Float>(machine: &Machine, sizes: &Sizes, grad: &[T], out: &mut [T]) {
    let of_row = sizes.input.size[1] * sizes.input.channels;
    let beside = sizes.output.size[0].div_ceil(sizes.input.size[0].max(1)).max(1);
    let rows = PIECE.div_ceil((of_row * beside).max(1));
    pieces(&machine.team, out, rows * of_row, &|index, out| {
        for (at, out) in out.chunks_exact_mut(of_row.max(1)).enumerate() {
            let row = index * rows + at;
            let [image, row] = [row / sizes.input.size[0], row % sizes.input.size[0]];
            let grad = &grad[image * sizes.output.image()..][..sizes.output.image()];
            gradients_of_row(machine.isa, sizes, row, grad, out);
        }
    });
}

dispatch! {
    /// Computes the gradients of a row of an image, from those of the results that lie beside it.
    fn gradients_of_row<const FUSED: bool, T: Float>(isa, sizes: &Sizes, at: usize, grad: &[T], out: &mut [T]) {
        let ([down, across], channels) = (sizes.along, sizes.input.channels);
        let [height, columns] = sizes.output.size;
        out.fill(T::ZERO);
        // Places move down with their rows, so those beside this one are neighbours.
        let (mut low, mut high) = (0, height);
        while low < high {
            let middle = low + (high - low) / 2;
            if Place::<T>::of(&down, middle).second < at { low = middle + 1 } else { high = middle }
        }
        for y in low..height {
            let row = Place::<T>::of(&down, y);
            if row.first > at {
                break;
            }
            let mut weight = T::ZERO;
            for (beside, of_row) in [row.first, row.second].into_iter().zip(row.weights) {
                if beside == at {
                    weight += of_row;
                }
            }
            if weight == T::ZERO {
                continue;
            }
            let grad = &grad[y * columns * channels..][..columns * channels];
            for (x, grad) in grad.chunks_exact(channels.max(1)).enumerate() {
                let place = Place::<T>::of(&across, x);
                for (beside, of_column) in [place.first, place.second].into_iter().zip(place.weights) {
                    if of_column != T::ZERO {
                        let weight = weight * of_column;
                        let out = &mut out[beside * channels..][..channels];
                        for (out, grad) in out.iter_mut().zip(grad) {
                            *out += weight * *grad;
                        }
                    }
                }
            }
        }
    }
}
