//! Views: dense values that are read in another order, or in part.

/// The largest number of axes after merging. No program comes near it.
pub(super) const MOST_AXES: usize = 16;

#[derive(Clone, Copy, Default)]
struct Axis {
    extent: usize,
    /// The distance between elements: 0 if all are the same element, negative if the axis goes backward.
    stride: isize,
}

/// The positions of a value's elements in another value: for each axis, a number of elements and a distance.
#[derive(Clone, Copy, Default)]
pub(super) struct View {
    /// Outermost first. Neighbours are merged where possible.
    axes: [Axis; MOST_AXES],
    rank: usize,
    offset: usize,
}

impl View {
    /// A view of the element at `offset`.
    pub(super) fn at(offset: usize) -> View {
        View { offset, ..View::default() }
    }

    /// Adds an axis inside of all others.
    pub(super) fn axis(self, extent: usize, stride: usize) -> View {
        self.steps(extent, stride as isize)
    }

    /// Adds an axis inside of all others, which may stay or go backward.
    pub(super) fn steps(mut self, extent: usize, stride: isize) -> View {
        if extent == 1 && self.rank > 0 {
            return self;
        }
        if let Some(last) = self.rank.checked_sub(1).map(|last| &mut self.axes[last]) {
            if last.extent == 1 {
                *last = Axis { extent, stride };
                return self;
            }
            if last.stride == extent as isize * stride {
                *last = Axis { extent: last.extent * extent, stride };
                return self;
            }
        }
        self.axes[self.rank] = Axis { extent, stride };
        self.rank += 1;
        self
    }

    /// Copies elements `first..first + out.len()` of the view of `x`.
    pub(super) fn copy<T: Copy>(&self, x: &[T], first: usize, out: &mut [T]) {
        let Some((last, outer)) = self.axes[..self.rank].split_last() else {
            return out.copy_from_slice(&x[self.offset..][..out.len()]);
        };
        let (mut done, mut column, mut row) = (0, first % last.extent.max(1), first / last.extent.max(1));
        while done < out.len() {
            let count = (last.extent - column).min(out.len() - done);
            let (mut start, mut rest) = (self.offset as isize + column as isize * last.stride, row);
            for axis in outer.iter().rev() {
                start += (rest % axis.extent) as isize * axis.stride;
                rest /= axis.extent;
            }
            // A view is inside of its value, so no position is negative.
            let (out, start) = (&mut out[done..done + count], start as usize);
            match last.stride {
                1 => out.copy_from_slice(&x[start..][..count]),
                0 => out.fill(x[start]),
                stride @ 2.. => {
                    let x = x[start..].iter().step_by(stride as usize);
                    out.iter_mut().zip(x).for_each(|(out, x)| *out = *x);
                }
                stride => {
                    let x = x[..=start].iter().rev().step_by(stride.unsigned_abs());
                    out.iter_mut().zip(x).for_each(|(out, x)| *out = *x);
                }
            }
            (done, column, row) = (done + count, 0, row + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_view() {
        let x: Vec<usize> = (0..200).collect();
        let cases: [&[(usize, isize)]; 10] = [
            &[(3, 0), (4, 1)],
            &[(2, 10), (3, 0), (2, -1), (2, 0)],
            &[(2, 50), (4, -3)],
            &[],
            &[(6, 1)],
            &[(2, 12), (3, 4), (4, 1)],
            &[(3, 1), (4, 3)],
            &[(2, 1), (1, 7), (3, 20), (5, 4)],
            &[(1, 9), (5, 2)],
            &[(4, 10), (1, 1)],
        ];
        for axes in cases {
            let view = axes.iter().fold(View::at(100), |view, &(extent, stride)| view.steps(extent, stride));
            let mut all = vec![100];
            for &(extent, stride) in axes {
                all = all.iter().flat_map(|at| (0..extent as isize).map(move |i| at + i * stride)).collect();
            }
            for first in 0..all.len() {
                for end in first..=all.len() {
                    let mut out = vec![0; end - first];
                    view.copy(&x, first, &mut out);
                    let expected: Vec<usize> = all[first..end].iter().map(|&at| at as usize).collect();
                    assert_eq!(out, expected, "{axes:?} from {first}");
                }
            }
        }
    }
}
