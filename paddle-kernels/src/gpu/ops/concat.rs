//! `concat`, `split`: each part is copied by a stage of its own.

use paddle_core::ops::{Concat, Split};
use paddle_core::plan::{Extent, Unsupported};

use super::Compile;
use crate::gpu::form::{Unsigned, each, scalar};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Tensor};

/// The elements of a value behind the axis, from the axis on, and in front of it.
fn inner(shape: &[Extent], axis: usize) -> Unsigned {
    scalar(&shape[axis + 1..])
}

/// For an element of a part, the element of the whole: parts before it take up `before` along the axis.
fn in_whole(index: Unsigned, part: &[Extent], whole: &[Extent], axis: usize, before: &[Extent]) -> Unsigned {
    let inner = inner(part, axis);
    let run = scalar(&part[axis..]);
    let outer = index / run;
    let start = before.iter().fold(Unsigned::of(0), |sum, &extent| sum + scalar(&[extent]));
    outer * scalar(&whole[axis..]) + start * inner + (index - outer * run)
}

fn copy(part: &Tensor, whole: &Tensor, axis: usize, before: &[Extent], to_whole: bool) {
    each(part.elements(), |index| {
        let other = in_whole(index, &part.shape, &whole.shape, axis, before);
        match to_whole {
            true => whole.copy(other, part, index),
            false => part.copy(index, whole, other),
        }
    });
}

impl Compile for Concat {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let axis = self.axis as usize;
        let mut before = Vec::new();
        let mut kernel = Kernel::new();
        for k in 0..call.inputs() {
            kernel = kernel.stage(Grid::Items(call.shape(k).to_vec()), || {
                copy(&call.input(k), &call.output(0), axis, &before, true);
            });
            before.push(call.shape(k)[axis]);
        }
        Ok(kernel)
    }
}

impl Compile for Split {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let axis = self.axis as usize;
        let mut before = Vec::new();
        let mut kernel = Kernel::new();
        for k in 0..self.sections.len() {
            kernel = kernel.stage(Grid::Items(call.out_shape(k).to_vec()), || {
                copy(&call.output(k), &call.input(0), axis, &before, false);
            });
            before.push(call.out_shape(k)[axis]);
        }
        Ok(kernel)
    }
}
