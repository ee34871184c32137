//! `uniform_random`, `gaussian_random`. All backends share the generator.

use paddle_core::ops::{GaussianRandom, TruncatedGaussianRandom, UniformRandom};
use paddle_core::program::DType;

use super::Evaluate;
use crate::random::Random;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

fn random(call: &Call<'_>) -> Random {
    Random { seed: call.launch.seed, stream: call.group.random_stream }
}

/// The positions of the elements in the stream. A row's elements follow its number.
fn positions(call: &Call<'_>) -> Vec<u64> {
    let count = call.output_shape(0).iter().product::<usize>();
    let numbers = match call.op.inputs.len() {
        0 => vec![0],
        _ => call.numbers(0),
    };
    let width = (count / numbers.len().max(1)) as u64;
    let of_row =
        |number: i64| (0..width).map(move |column| (number as u64).wrapping_mul(width).wrapping_add(column));
    numbers.into_iter().flat_map(of_row).collect()
}

impl Evaluate for UniformRandom {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let random = random(call);
        let out = match call.output_dtype(0) {
            DType::F32 => Values::F32(
                positions(call).into_iter().map(|at| random.uniform_f32(at, self.min, self.max)).collect(),
            ),
            dtype => Values::round(
                dtype,
                positions(call).into_iter().map(|at| random.uniform(at, self.min, self.max)).collect(),
            ),
        };
        Ok(vec![out])
    }
}

impl Evaluate for GaussianRandom {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let random = random(call);
        let values =
            positions(call).into_iter().map(|at| self.mean + self.std * random.gaussian(at)).collect();
        Ok(vec![Values::round(call.output_dtype(0), values)])
    }
}

impl Evaluate for TruncatedGaussianRandom {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let random = random(call);
        let values = positions(call)
            .into_iter()
            .map(|at| self.mean + self.std * random.truncated_gaussian(at))
            .collect();
        Ok(vec![Values::round(call.output_dtype(0), values)])
    }
}
