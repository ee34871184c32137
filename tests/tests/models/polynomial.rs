//! Polynomial regression: powers by a loop that is decided while compiling, Horner's rule by another.

use paddle::attribute::network;

#[network]
pub mod polynomial {
    const DEGREE: usize = 4;
    const TRUTH: [f32; 4] = [1.0, -2.0, 0.5, 0.25];

    fn truth(x: _) -> _ {
        let mut y = 0.0 * x;
        for coefficient in TRUTH {
            y = y * x + coefficient;
        }
        y
    }

    fn fitted(x: Tensor<f32, _, 1>) -> Tensor<f32, _, 1> {
        let mut power = x;
        let mut sum = fc(x, 1, param = "power1");
        for i in 2..=DEGREE {
            power *= x;
            sum += fc(power, 1, param = "power{i}");
        }
        sum
    }

    /// Learns a polynomial that is known.
    pub fn cost(x: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(fitted(x) - truth(x)))
    }

    pub fn value(x: Tensor<f32, _, 1>) -> (Tensor<f32, _, 1>, Tensor<f32, _, 1>) {
        (fitted(x), truth(x))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(polynomial::cost()), crate::model(polynomial::value())]
}
