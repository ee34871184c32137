//! Networks of another crate, whose parameters the tests share.

use paddle::attribute::network;
use paddle::operator::{Inputs, Operator, Output, Sample};

/// A generator and what tells its work from the real thing.
#[network]
pub mod gan {
    fn discriminate(x: _) -> Tensor<f32, _, 1> {
        let hidden = fc(x, 4, param = "D.hidden", act = tanh, init = normal(0.0, 0.1));
        fc(hidden, 1, param = "D.out", lr = 0.5)
    }

    /// Whether samples are told apart.
    pub fn d0(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(discriminate(x) - y))
    }

    /// Whether generated ones are taken for real.
    pub fn d1(noise: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let x = fc(noise, 3, param = "G.type");
        mean(square(discriminate(x) - y))
    }

    /// Which samples are more than one half real: it can be run, but not trained.
    pub fn decide(x: Tensor<f32, _, 3>) -> Tensor<bool, _, 1> {
        discriminate(x) > 0.5
    }
}

/// How wide hidden layers are; what is exported reads it from this crate's root.
pub const WIDTH: usize = 6;

/// Parts for the networks of other crates.
#[network]
pub mod parts {
    use crate::gan::d0;

    /// How many classes there are.
    pub const CLASSES: usize = 3;

    fn wide(x: _, #[default = relu] act: Activation) -> _ {
        fc(x, crate::WIDTH, act = act)
    }

    /// Logits of classes.
    #[layer]
    pub fn classify(x: Tensor<f32, _, D>) -> Tensor<f32, _, CLASSES> {
        fc(wide(wide(x), act = tanh, param = "wider"), CLASSES)
    }

    /// A layer: the sum of `x` and something of the same size.
    pub fn around(x: Tensor<f32, _, D>, #[default = 1.0] factor: f32) -> _ {
        x + factor * fc(wide(x), D)
    }

    /// What another module of this crate computes.
    pub fn told_apart(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        d0(x, y) * 2.0
    }
}

/// An operator for the networks of other crates, and a layer that hides another one.
#[network]
pub mod operators {
    /// The sums of neighbours: half as many numbers.
    #[operator(row_wise)]
    pub fn halves(x: Tensor<f32, _, D>) -> Tensor<f32, _, { D / 2 }>;

    #[operator(row_wise)]
    pub fn twice(x: Tensor<f32, _, D>) -> Tensor<f32, _, { 2 * D }>;

    /// A row three times.
    #[layer]
    pub fn thrice(x: _) -> _ {
        concat([x, twice(x)], axis = 1)
    }
}

impl Operator for operators::halves {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, mut y) = (inputs.get::<f32>(0)?, output.get::<f32>()?);
        for (x, mut y) in x.rows().into_iter().zip(y.rows_mut()) {
            (0..y.len()).for_each(|i| y[i] = x[2 * i] + x[2 * i + 1]);
        }
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, mut y) = (inputs.get::<f64>(0)?, output.get::<f64>()?);
        (0..y.len()).for_each(|i| y[[0, i]] = x[[0, 2 * i]] + x[[0, 2 * i + 1]]);
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        vec![op.clone().rows(0, &[4]), op.clone().rows(3, &[4]), op.rows(3, &[5])]
    }
}

impl Operator for operators::twice {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, mut y) = (inputs.get::<f32>(0)?, output.get::<f32>()?);
        for (x, mut y) in x.rows().into_iter().zip(y.rows_mut()) {
            (0..y.len()).for_each(|i| y[i] = x[i % x.len()]);
        }
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, mut y) = (inputs.get::<f64>(0)?, output.get::<f64>()?);
        (0..y.len()).for_each(|i| y[[0, i]] = x[[0, i % x.len()]]);
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        vec![op.rows(2, &[3])]
    }
}

/// What is configured here, whoever uses it.
#[network]
pub mod configured {
    #[cfg(feature = "wide")]
    const SIZE: usize = 8;
    #[cfg(not(feature = "wide"))]
    const SIZE: usize = 4;

    pub fn layer(x: Tensor<f32, _, 3>) -> _ {
        #[cfg(feature = "wide")]
        let x = x * 2.0;
        fc(x, SIZE)
    }
}
