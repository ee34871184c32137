//! `uniform_random`, `gaussian_random`, `truncated_gaussian_random`. The numbers are those of every backend.

use paddle_core::ops::{GaussianRandom, TruncatedGaussianRandom, UniformRandom};
use paddle_core::plan::Unsupported;

use super::Compile;
use crate::gpu::form::{Float, Long, each};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::random::{near_normal, normal, position_of_row, uniform};
use crate::gpu::tensor::Call;

/// Compiles what draws each element by its position.
fn compile(call: Call<'_>, draw: impl Fn(Long, u64) -> Float) -> Kernel {
    let shape = call.out_shape(0).to_vec();
    Kernel::new().stage(Grid::Items(shape.clone()), || {
        let (out, numbers) = (call.output(0), (call.inputs() > 0).then(|| call.input(0)));
        each(out.elements(), |index| {
            let at = match &numbers {
                None => Long::of_unsigned(index),
                Some(numbers) => position_of_row(numbers, index, &shape[1..]),
            };
            out.set(index, draw(at, call.group.random_stream));
        });
    })
}

impl Compile for UniformRandom {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(compile(call, |at, stream| uniform(at, stream, self.min, self.max)))
    }
}

impl Compile for GaussianRandom {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(compile(call, |at, stream| normal(at, stream, self.mean, self.std)))
    }
}

impl Compile for TruncatedGaussianRandom {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(compile(call, |at, stream| near_normal(at, stream, self.mean, self.std)))
    }
}
