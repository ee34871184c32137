//! Interpolation of images in row-major order.

use super::{COLUMNS, PIECE, Place, Sizes};
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::Machine;
use crate::cpu::number::Float;
use crate::cpu::pieces::pieces;

pub(super) fn forward<T: Float>(machine: &Machine, sizes: &Sizes, x: &[T], out: &mut [T]) {
    let [inputs, outputs] = [sizes.input, sizes.output].map(|images| images.plane());
    let planes = PIECE.div_ceil(outputs.max(1));
    pieces(&machine.team, out, planes * outputs, &|index, out| {
        of_planes(machine.isa, sizes, &x[index * planes * inputs..], out);
    });
}

dispatch! {
    /// Computes the results of some channels.
    fn of_planes<const FUSED: bool, T: Float>(isa, sizes: &Sizes, x: &[T], out: &mut [T]) {
        let ([down, across], [_, width], [height, columns]) = (sizes.along, sizes.input.size, sizes.output.size);
        let [inputs, outputs] = [sizes.input.plane(), sizes.output.plane()];
        for first in (0..columns).step_by(COLUMNS) {
            let count = COLUMNS.min(columns - first);
            let places = Place::<T>::some(&across, first, count);
            let places = &places[..count];
            for (x, out) in x.chunks_exact(inputs.max(1)).zip(out.chunks_exact_mut(outputs.max(1))) {
                // The rows of the image beside the row before, as wide as the result: neighbours share them.
                let mut lines = [[T::ZERO; COLUMNS]; 2];
                let mut of: [Option<usize>; 2] = [None; 2];
                for y in 0..height {
                    let row = Place::<T>::of(&down, y);
                    if of[1] == Some(row.first) {
                        lines.swap(0, 1);
                        of.swap(0, 1);
                    }
                    let wanted = [Some(row.first), (!row.is_on()).then_some(row.second)];
                    for ((line, of), wanted) in lines.iter_mut().zip(&mut of).zip(wanted) {
                        if let Some(wanted) = wanted.filter(|_| *of != wanted) {
                            let from = &x[wanted * width..][..width];
                            for (to, place) in line[..count].iter_mut().zip(places) {
                                *to = along(place, from);
                            }
                            *of = Some(wanted);
                        }
                    }
                    let out = &mut out[y * columns + first..][..count];
                    let [above, below] = lines.each_ref().map(|line| &line[..count]);
                    if row.is_on() {
                        out.copy_from_slice(above);
                    } else {
                        let [of_above, of_below] = row.weights;
                        for (out, (above, below)) in out.iter_mut().zip(above.iter().zip(below)) {
                            *out = of_above * *above + of_below * *below;
                        }
                    }
                }
            }
        }
    }
}

/// The element at a place of a line. An element of weight 0 may be infinite.
#[inline(always)]
fn along<T: Float>(place: &Place<T>, line: &[T]) -> T {
    let [first, second] = place.weights;
    if second == T::ZERO {
        line[place.first]
    } else {
        first * line[place.first] + second * line[place.second]
    }
}

pub(super) fn backward<T: Float>(machine: &Machine, sizes: &Sizes, grad: &[T], out: &mut [T]) {
    let [inputs, outputs] = [sizes.input, sizes.output].map(|images| images.plane());
    let planes = PIECE.div_ceil(outputs.max(1));
    pieces(&machine.team, out, planes * inputs, &|index, out| {
        gradients_of_planes(machine.isa, sizes, &grad[index * planes * outputs..], out);
    });
}

dispatch! {
    /// Computes the gradients of some channels. The results that lie beside a row of the image are added up first, so each
    /// column is gone through once for each row of the image.
    fn gradients_of_planes<const FUSED: bool, T: Float>(isa, sizes: &Sizes, grad: &[T], out: &mut [T]) {
        let ([down, across], [_, width], [height, columns]) = (sizes.along, sizes.input.size, sizes.output.size);
        let [inputs, outputs] = [sizes.input.plane(), sizes.output.plane()];
        out.fill(T::ZERO);
        for first in (0..columns).step_by(COLUMNS) {
            let count = COLUMNS.min(columns - first);
            let places = Place::<T>::some(&across, first, count);
            let places = &places[..count];
            for (out, grad) in out.chunks_exact_mut(inputs.max(1)).zip(grad.chunks_exact(outputs.max(1))) {
                // Places move down with their rows.
                let mut begin = 0;
                for (at, line) in out.chunks_exact_mut(width.max(1)).enumerate() {
                    let mut sums = [T::ZERO; COLUMNS];
                    let sums = &mut sums[..count];
                    let mut y = begin;
                    while y < height {
                        let row = Place::<T>::of(&down, y);
                        if row.first > at {
                            break;
                        }
                        if row.second < at {
                            begin = y + 1;
                        }
                        for (beside, weight) in [row.first, row.second].into_iter().zip(row.weights) {
                            if beside == at && weight != T::ZERO {
                                let grad = &grad[y * columns + first..][..count];
                                for (sum, grad) in sums.iter_mut().zip(grad) {
                                    *sum += weight * *grad;
                                }
                            }
                        }
                        y += 1;
                    }
                    for (sum, place) in sums.iter().zip(places) {
                        let [left, right] = place.weights;
                        line[place.first] += left * *sum;
                        if right != T::ZERO {
                            line[place.second] += right * *sum;
                        }
                    }
                }
            }
        }
    }
}
