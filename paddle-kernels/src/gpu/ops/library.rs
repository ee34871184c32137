//! Operators for which a device may have a library. It computes the result, and the epilogue takes that from memory; where the
//! kernel is our own, the epilogue is a part of it.

use paddle_core::plan::Precision;

use super::elementwise::finish;
use crate::gpu::form::{Float, Register, Unsigned, each};
use crate::gpu::kernel::{Grid, Kernel, LibraryCall};
use crate::gpu::tensor::{Call, Element, Tensor, Words};
use crate::gpu::tiles::bits_of_bf16;

/// Stores an element of a result, by its index.
pub(super) type Store<'a> = &'a dyn Fn(Unsigned, Float);

/// The number of the operand that a library writes: the result, or what the epilogue takes.
pub(super) fn result(call: Call<'_>) -> usize {
    match call.group.epilogue.is_empty() {
        true => call.output_number(0),
        false => call.scratch_number(0),
    }
}

/// The numbers of two factors as a library takes them: in bf16 they are rounded before.
pub(super) fn factors(call: Call<'_>, of: [usize; 2]) -> [usize; 2] {
    match call.group.precision {
        Precision::F32 | Precision::Bf16x3 => of.map(|k| call.input_number(k)),
        Precision::Bf16 => [call.scratch_number(1), call.scratch_number(2)],
    }
}

/// How a library takes factors in bf16.
#[derive(Clone, Copy)]
pub(super) enum Rounded {
    /// Two in a word.
    Packed,
    /// As numbers in single precision.
    Single,
}

/// Compiles an operator: by the library, if there is one for it, or by a kernel of our own, which `own` adds. `of` are the numbers of the
/// factors among the inputs.
pub(super) fn compile(
    call: Call<'_>,
    library: Option<LibraryCall>,
    (of, rounded): ([usize; 2], Rounded),
    own: impl Fn(Kernel, Store<'_>) -> Kernel,
) -> Kernel {
    let Some(library) = library else {
        return own(Kernel::new(), &|index, sum| finish(&call, index, Element::Float(sum)));
    };
    let ty = call.group.ty(call.op.outputs[0]);
    let is_alone = call.group.epilogue.is_empty();
    let mut kernel = Kernel::new().scratch(match is_alone {
        true => Vec::new(),
        false => ty.shape.clone(),
    });
    if call.group.precision == Precision::Bf16 {
        kernel = round(kernel, call, of, rounded);
    }
    let number = result(call);
    kernel = own(kernel, &|index, sum| Tensor::new(number, ty).set(index, sum)).by_library(library);
    match is_alone {
        true => kernel,
        false => kernel.stage(Grid::Items(ty.shape.clone()), || {
            let sums = Tensor::new(number, ty);
            each(sums.elements(), |index| finish(&call, index, sums.load(index)));
        }),
    }
}

/// Rounds the factors.
fn round(mut kernel: Kernel, call: Call<'_>, of: [usize; 2], rounded: Rounded) -> Kernel {
    for (number, k) in of.into_iter().enumerate() {
        let shape = call.shape(k).to_vec();
        kernel = kernel.scratch(shape.clone()).stage(Grid::Items(shape), || {
            let (from, u) = (call.input(k), Unsigned::of);
            let to = Words::of(call.scratch_number(1 + number));
            match rounded {
                Rounded::Single => {
                    each(from.elements(), |at| to.set(at, bits_of_bf16(from.float(at))));
                }
                Rounded::Packed => each((from.elements() + u(1)) / u(2), |word| {
                    let (first, second) = (word + word, word + word + u(1));
                    let there = second.less(from.elements());
                    let upper = from.float(Unsigned::choose(there, second, first));
                    to.set(word, (bits_of_bf16(from.float(first)) >> u(16)) | bits_of_bf16(upper));
                }),
            }
        });
    }
    kernel
}
