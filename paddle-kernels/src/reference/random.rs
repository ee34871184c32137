//! `uniform_random`, `gaussian_random`: the generator is that of every backend.

use paddle_core::ops::{GaussianRandom, TruncatedGaussianRandom, UniformRandom};
use paddle_core::program::DType;

use super::call::Call;
use super::values::Values;
use crate::random::Random;

fn random(call: &Call<'_>) -> Random {
    Random { seed: call.launch.seed, stream: call.group.stream }
}

fn positions(call: &Call<'_>) -> std::ops::Range<u64> {
    0..call.output_shape(0).iter().product::<usize>() as u64
}

pub(super) fn uniform(op: &UniformRandom, call: &Call<'_>) -> Values {
    let random = random(call);
    match call.output_dtype(0) {
        DType::F32 => Values::F32(positions(call).map(|at| random.uniform_f32(at, op.min, op.max)).collect()),
        dtype => Values::round(dtype, positions(call).map(|at| random.uniform(at, op.min, op.max)).collect()),
    }
}

pub(super) fn gaussian(op: &GaussianRandom, call: &Call<'_>) -> Values {
    let random = random(call);
    let values = positions(call).map(|at| op.mean + op.std * random.gaussian(at)).collect();
    Values::round(call.output_dtype(0), values)
}

pub(super) fn truncated_gaussian(op: &TruncatedGaussianRandom, call: &Call<'_>) -> Values {
    let random = random(call);
    let values = positions(call).map(|at| op.mean + op.std * random.truncated_gaussian(at)).collect();
    Values::round(call.output_dtype(0), values)
}
