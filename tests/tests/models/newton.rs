//! Newton's iteration for square roots, of one number and of many, until it does not move.

use paddle::attribute::network;

#[network]
pub mod newton {
    const TOLERANCE: f64 = 1e-9;

    /// Of one number.
    pub fn root(a: Tensor<f64>) -> (Tensor<f64>, Tensor<i64>) {
        let a = abs(a) + 0.5;
        let mut x = a;
        let mut iterations = 0i64;
        while abs(x * x - a) > TOLERANCE && iterations < 50 {
            x = (x + a / x) / 2;
            iterations += 1;
        }
        (x, iterations)
    }

    /// Of all rows, until the worst is good enough.
    pub fn roots(a: Tensor<f64, _, 3>) -> Tensor<f64, _, 3> {
        let a = square(a) + 1.0;
        let mut x = a;
        let mut worst = 1.0f64;
        while worst > TOLERANCE {
            x = (x + a / x) * 0.5;
            worst = mean(abs(x * x - a));
        }
        x
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(newton::root()), crate::model(newton::roots())]
}
