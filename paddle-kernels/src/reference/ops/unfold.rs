//! `unfold` and its gradient.

use paddle_core::ops::{Unfold, UnfoldGrad};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// Calls `element` with each place of the result that has an element of the images, and with that element.
fn elements(op: &Unfold, images: &[usize], mut element: impl FnMut(usize, usize)) {
    let [above, left, below, right] = op.paddings;
    let (before, behind) = ([above, left], [below, right]);
    let size = [images[2], images[3]].map(|size| size as i64);
    let starts = |axis: usize| {
        let reach = op.dilations[axis] * (op.kernel_sizes[axis] - 1) + 1;
        (-before[axis]..=size[axis] + behind[axis] - reach).step_by(op.strides[axis] as usize)
    };
    let mut at = 0;
    for channel in 0..images[0] * images[1] {
        for down in 0..op.kernel_sizes[0] {
            for across in 0..op.kernel_sizes[1] {
                for row in starts(0).map(|start| start + down * op.dilations[0]) {
                    for column in starts(1).map(|start| start + across * op.dilations[1]) {
                        if (0..size[0]).contains(&row) && (0..size[1]).contains(&column) {
                            element(at, channel * images[2] * images[3] + (row * size[1] + column) as usize);
                        }
                        at += 1;
                    }
                }
            }
        }
    }
}

impl Evaluate for Unfold {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let x = call.read(0).floats();
        let mut out = vec![0.0; call.output_shape(0).iter().product()];
        elements(self, &call.shape(0), |at, from| out[at] = x[from]);
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}

impl Evaluate for UnfoldGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (grad, images) = (call.read(1).floats(), call.output_shape(0));
        let mut sums = vec![0.0; images.iter().product()];
        elements(&self.0, &images, |at, to| sums[to] += grad[at]);
        Ok(vec![Values::round(call.output_dtype(0), sums)])
    }
}
