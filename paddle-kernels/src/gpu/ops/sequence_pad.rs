//! `sequence_pad`, `sequence_unpad`.

use paddle_core::ops::{SequencePad, SequenceUnpad};
use paddle_core::plan::{Extent, Unsupported};

use super::{Compile, constant};
use crate::gpu::form::{Unsigned, each, otherwise, scalar, when};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sequences::{self, of_token, tokens};
use crate::gpu::tensor::Call;
use crate::messages::enough_places;

/// A kernel that fails at the first sequence with more tokens than there are places.
fn check(call: &Call<'_>, offsets: usize, places: Extent) -> Kernel {
    let kernel = sequences::check(call, offsets, |sequence| {
        let (first, end) = tokens(&call.input(offsets), sequence);
        (end - first).greater(scalar(&[places]))
    });
    let (number, shape) = (call.input_number(offsets), call.shape(offsets).to_vec());
    kernel.explain(move |evidence, _| {
        let enough = enough_places(&evidence.offsets(number, &shape), places.get(evidence.sizes));
        enough.expect_err("a sequence that the device found")
    })
}

impl Compile for SequencePad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.out_shape(0).to_vec();
        Ok(check(&call, 1, shape[1]).stage(Grid::Items(shape.clone()), || {
            let (x, offsets, out) = (call.input(0), call.input(1), call.output(0));
            each(out.elements(), |index| {
                let (width, places) = (scalar(&shape[2..]), scalar(&shape[1..2]));
                let at = index / width;
                let row = at / places;
                let place = at - row * places;
                let (first, end) = tokens(&offsets, row);
                when(place.less(end - first), || {
                    out.copy(index, &x, (first + place) * width + (index - at * width))
                });
                otherwise(|| out.store(index, constant(self.pad_value, out.dtype)));
            });
        }))
    }
}

impl Compile for SequenceUnpad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, out_shape) = (call.shape(0).to_vec(), call.out_shape(0).to_vec());
        Ok(check(&call, 2, shape[1]).stage(Grid::Items(out_shape.clone()), || {
            let (x, offsets, out) = (call.input(0), call.input(2), call.output(0));
            each(out.elements(), |index| {
                let (width, places): (Unsigned, Unsigned) = (scalar(&shape[2..]), scalar(&shape[1..2]));
                let token = index / width;
                let row = of_token(&offsets, token);
                let place = token - tokens(&offsets, row).0;
                when(place.less(places), || {
                    out.copy(index, &x, (row * places + place) * width + (index - token * width));
                });
            });
        }))
    }
}
