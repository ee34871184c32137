//! `conv2d`, its gradients and its transpose.

use paddle_core::ops::{Conv2d, Conv2dGrad, Conv2dGradKind, Conv2dTranspose};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// Calls `term` for each product of an element of the images and an element of the filters: with the positions of both,
/// and with that of the element of the result to which the product is added.
fn products(conv: &Conv2d, shapes: [&[usize]; 3], mut term: impl FnMut([usize; 3])) {
    let [input, filter, output] = shapes;
    let window = conv.window([filter[2] as i64, filter[3] as i64]);
    let before = [0, 1].map(|axis| window.around(axis, input[2 + axis])[0]);
    // The element of the image; `None` if it is in the padding.
    let element = |axis: usize, position: usize, tap: usize| {
        let padded = position * window.stride[axis] as usize + tap * window.dilation[axis] as usize;
        padded.checked_sub(before[axis]).filter(|&at| at < input[2 + axis])
    };
    let filters_of_group = filter[0] / conv.groups as usize;
    for image in 0..output[0] {
        for m in 0..output[1] {
            let first_channel = m / filters_of_group * filter[1];
            for y in 0..output[2] {
                for x in 0..output[3] {
                    for c in 0..filter[1] {
                        for i in 0..filter[2] {
                            for j in 0..filter[3] {
                                if let (Some(at_y), Some(at_x)) = (element(0, y, i), element(1, x, j)) {
                                    let channel = image * input[1] + first_channel + c;
                                    term([
                                        (channel * input[2] + at_y) * input[3] + at_x,
                                        ((m * filter[1] + c) * filter[2] + i) * filter[3] + j,
                                        ((image * output[1] + m) * output[2] + y) * output[3] + x,
                                    ]);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Evaluate for Conv2d {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (input, filter, shape) = (call.read(0).floats(), call.read(1).floats(), call.output_shape(0));
        let mut output = vec![0.0; shape.iter().product()];
        products(self, [&call.shape(0), &call.shape(1), &shape], |[i, f, o]| {
            output[o] += input[i] * filter[f]
        });
        Ok(vec![Values::round(call.output_dtype(0), output)])
    }
}

impl Evaluate for Conv2dTranspose {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (input, filter, shape) = (call.read(0).floats(), call.read(1).floats(), call.output_shape(0));
        let mut output = vec![0.0; shape.iter().product()];
        // The roles are exchanged: the convolution's images are the result, and its result is the input.
        let shapes = [&shape[..], &call.shape(1), &call.shape(0)];
        products(&self.conv(), shapes, |[o, f, i]| output[o] += input[i] * filter[f]);
        Ok(vec![Values::round(call.output_dtype(0), output)])
    }
}

impl Evaluate for Conv2dGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let shapes = [0, 1, 2].map(|k| call.shape(k));
        let shapes = [&shapes[0][..], &shapes[1], &shapes[2]];
        let grad = call.read(2).floats();
        let mut sums = vec![0.0; shapes[self.of as usize].iter().product()];
        match self.of {
            Conv2dGradKind::Input => {
                let filter = call.read(1).floats();
                products(&self.conv, shapes, |[i, f, o]| sums[i] += filter[f] * grad[o]);
            }
            Conv2dGradKind::Filter => {
                let input = call.read(0).floats();
                products(&self.conv, shapes, |[i, f, o]| sums[f] += input[i] * grad[o]);
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), sums)])
    }
}
