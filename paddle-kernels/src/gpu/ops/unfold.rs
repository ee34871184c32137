//! `unfold` and its gradient: a thread for each element of the result.

use paddle_core::ops::{Unfold, UnfoldGrad};
use paddle_core::plan::{Extent, Unsupported};

use super::Compile;
use crate::gpu::form::{Float, Unsigned, Variable, each, for_each, otherwise, scalar, when};
use crate::gpu::index::position;
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::Call;

/// How windows slide along an axis.
struct Axis {
    size: Extent,
    window: u32,
    stride: u32,
    dilation: u32,
    before: u32,
    behind: u32,
}

impl Axis {
    fn of(op: &Unfold, axis: usize, images: &[Extent]) -> Axis {
        Axis {
            size: images[2 + axis],
            window: op.kernel_sizes[axis] as u32,
            stride: op.strides[axis] as u32,
            dilation: op.dilations[axis] as u32,
            before: op.paddings[axis] as u32,
            behind: op.paddings[2 + axis] as u32,
        }
    }

    /// The number of windows.
    fn windows(&self) -> Unsigned {
        let reach = self.dilation * (self.window - 1) + 1;
        let room = scalar(&[self.size]) + Unsigned::of(self.before + self.behind) - Unsigned::of(reach);
        room / Unsigned::of(self.stride) + Unsigned::of(1)
    }

    /// The element that a place of a window covers. In front of the first one it wraps around, and is too large.
    fn covered(&self, window: Unsigned, place: Unsigned) -> Unsigned {
        let padded = window * Unsigned::of(self.stride) + place * Unsigned::of(self.dilation);
        padded - Unsigned::of(self.before)
    }
}

impl Compile for Unfold {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let images = call.shape(0).to_vec();
        let [y, x] = [0, 1].map(|axis| Axis::of(self, axis, &images));
        let places = [y.window, x.window].map(|size| Extent::Fixed(size as usize));
        Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let (from, out) = (call.input(0), call.output(0));
            each(out.elements(), |index| {
                let across = x.windows();
                let windows = y.windows() * across;
                let line = index / windows;
                let window = index - line * windows;
                // The first place counts the channels of all images.
                let place = position(line, &[images[1], places[0], places[1]]);
                let down = window / across;
                let row = y.covered(down, place[1]);
                let column = x.covered(window - down * across, place[2]);
                let (height, width) = (scalar(&[y.size]), scalar(&[x.size]));
                when(row.less(height) & column.less(width), || {
                    out.copy(index, &from, (place[0] * height + row) * width + column);
                });
                otherwise(|| out.clear(index));
            });
        }))
    }
}

impl Compile for UnfoldGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let images = call.out_shape(0).to_vec();
        let [y, x] = [0, 1].map(|axis| Axis::of(&self.0, axis, &images));
        Ok(Kernel::new().stage(Grid::Items(images.clone()), || {
            let (grad, out, u) = (call.input(1), call.output(0), Unsigned::of);
            each(out.elements(), |index| {
                let (height, width) = (scalar(&[y.size]), scalar(&[x.size]));
                let line = index / width;
                let channel = line / height;
                let at = [line - channel * height, index - line * width];
                let across = x.windows();
                let windows = y.windows() * across;
                let sum = Variable::new(Float::constant(0.0));
                for_each(u(0), u(y.window), u(1), |down| {
                    for_each(u(0), u(x.window), u(1), |right| {
                        // The windows of which these places cover the element.
                        let window = |axis: &Axis, at: Unsigned, place: Unsigned| {
                            let (padded, reach) = (at + u(axis.before), place * u(axis.dilation));
                            let window = (padded - reach) / u(axis.stride);
                            let is_there = padded.greater_equal(reach) & window.less(axis.windows());
                            (window, is_there & axis.covered(window, place).is(at))
                        };
                        let ((row, has_row), (column, has_column)) =
                            (window(&y, at[0], down), window(&x, at[1], right));
                        when(has_row & has_column, || {
                            let line = (channel * u(y.window) + down) * u(x.window) + right;
                            sum.set(sum.get() + grad.float(line * windows + row * across + column));
                        });
                    });
                });
                out.set(index, sum.get());
            });
        }))
    }
}
