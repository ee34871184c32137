//! `sequence_concat` and its gradient: each token of the joined sequences is one of the first sequence or of the second.

use paddle_core::ops::{SequenceConcat, SequenceConcatGrad};
use paddle_core::plan::Unsupported;

use super::Compile;
use crate::gpu::form::{Unsigned, each, otherwise, scalar, when};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sequences::{check, of_token, tokens};
use crate::gpu::tensor::Call;
use crate::messages::made_lengths;

/// The offsets of the first sequences, of the second, and of both together.
const OFFSETS: [usize; 3] = [3, 4, 5];

/// A kernel that fails at the first sequence that is not as long as those that it is made of.
fn checked(call: &Call<'_>) -> Kernel {
    let kernel = check(call, OFFSETS[2], |row| {
        let [x, y, both] = OFFSETS.map(|offsets| {
            let (first, end) = tokens(&call.input(offsets), row);
            end - first
        });
        both.is_not(x + y)
    });
    let of = OFFSETS.map(|offsets| (call.input_number(offsets), call.shape(offsets).to_vec()));
    kernel.explain(move |evidence, _| {
        let [x, y, both] = of.each_ref().map(|(number, shape)| evidence.offsets(*number, shape));
        let length = |row: usize| x[row + 1] - x[row] + y[row + 1] - y[row];
        made_lengths(&both, length, "the tokens of").expect_err("a sequence that the device found")
    })
}

impl Compile for SequenceConcat {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.out_shape(0).to_vec();
        Ok(checked(&call).stage(Grid::Items(shape.clone()), || {
            let ([x, y], out) = ([0, 1].map(|k| call.input(k)), call.output(0));
            let [of_x, of_y, of_both] = OFFSETS.map(|offsets| call.input(offsets));
            each(out.elements(), |index| {
                let width = scalar(&shape[1..]);
                let token = index / width;
                let column = index - token * width;
                let row = of_token(&of_both, token);
                let place = token - tokens(&of_both, row).0;
                let (first, end) = tokens(&of_x, row);
                when(place.less(end - first), || out.copy(index, &x, (first + place) * width + column));
                otherwise(|| {
                    let from = (tokens(&of_y, row).0 + (place - (end - first))) * width + column;
                    when(from.less(y.elements()), || out.copy(index, &y, from));
                });
            });
        }))
    }
}

impl Compile for SequenceConcatGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let mut kernel = checked(&call);
        for (k, &own) in OFFSETS[..2].iter().enumerate() {
            let shape = call.out_shape(k).to_vec();
            kernel = kernel.stage(Grid::Items(shape.clone()), || {
                let (grad, out) = (call.input(2), call.output(k));
                let [of_x, own, of_both] = [OFFSETS[0], own, OFFSETS[2]].map(|offsets| call.input(offsets));
                each(out.elements(), |index| {
                    let width = scalar(&shape[1..]);
                    let token = index / width;
                    let row = of_token(&own, token);
                    let before = if k == 0 {
                        Unsigned::of(0)
                    } else {
                        let (first, end) = tokens(&of_x, row);
                        end - first
                    };
                    let place = before + (token - tokens(&own, row).0);
                    let from = (tokens(&of_both, row).0 + place) * width + (index - token * width);
                    when(from.less(grad.elements()), || out.copy(index, &grad, from));
                });
            });
        }
        Ok(kernel)
    }
}
