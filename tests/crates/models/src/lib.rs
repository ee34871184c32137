//! Networks of another crate, whose parameters the tests share.

use paddle::attribute::network;

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
