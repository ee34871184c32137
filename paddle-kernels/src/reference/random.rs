//! `uniform_random`, `gaussian_random`: the generator is that of every backend.

use paddle_core::ops::{GaussianRandom, UniformRandom};
use paddle_core::program::DType;

use super::call::Call;
use super::values::Values;
use crate::random::Draws;

pub(super) fn uniform(op: &UniformRandom, call: &Call<'_>) -> Values {
    let draws = Draws::new(call.launch.seed, call.group.stream);
    let elements = 0..call.output_shape(0).iter().product::<usize>() as u64;
    match call.output_dtype(0) {
        DType::F32 => Values::F32(elements.map(|i| draws.uniform_f32(i, op.min, op.max)).collect()),
        dtype => Values::round(dtype, elements.map(|i| draws.uniform(i, op.min, op.max)).collect()),
    }
}

pub(super) fn gaussian(op: &GaussianRandom, call: &Call<'_>) -> Values {
    let draws = Draws::new(call.launch.seed, call.group.stream);
    let elements = 0..call.output_shape(0).iter().product::<usize>() as u64;
    Values::round(call.output_dtype(0), elements.map(|i| draws.gaussian(i, op.mean, op.std)).collect())
}
