//! Physics in double precision: an oscillator is integrated, and its energy returned with its state.

use paddle::attribute::network;

#[network]
pub mod oscillator {
    const STEP: f64 = 0.01;

    fn acceleration(position: _, stiffness: _) -> Tensor<f64, _, 1> {
        -stiffness * position
    }

    /// Leapfrog integration.
    pub fn simulate(
        position: Tensor<f64, _, 1>,
        velocity: Tensor<f64, _, 1>,
        stiffness: Tensor<f64>,
        steps: Tensor<i32>,
    ) -> (Tensor<f64, _, 1>, Tensor<f64, _, 1>, Tensor<f64>) {
        let (mut x, mut v) = (position, velocity);
        let mut i = 0i32;
        while i < steps {
            v += acceleration(x, stiffness) * (STEP / 2.0);
            x += v * STEP;
            v += acceleration(x, stiffness) * (STEP / 2.0);
            i += 1;
        }
        let energy = mean(0.5 * square(v) + 0.5 * stiffness * square(x));
        (x, v, energy)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(oscillator::simulate())]
}
