//! A parameter of a cost that ends in a number without derivative.

use paddle::attribute::network;

#[network]
pub mod line {
    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let scores = fc(x, 4);
        //~          ^^^^^^^^ no-gradient
        let best = cast(argmax(scores, axis = 1, keep_dim = true), f32);
        mean(square(fc(best, 1) - y))
    }

    /// Whether it is right: that is no cost.
    pub fn right(x: Tensor<f32, _, 13>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        accuracy(softmax(fc(x, 4, param = "scores")), label)
    }
}

fn main() {}
