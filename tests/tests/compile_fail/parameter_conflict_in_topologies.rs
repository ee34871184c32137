//! One parameter at two shapes, and one with two options, in the networks of a module.

use paddle::attribute::network;

#[network]
pub mod line {
    fn price(x: _) -> _ {
        fc(x, 1, param = "D")
     //~^^^^^^^^^^^^^^^^^^^^^ parameter-conflict
    }

    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(price(x) - y))
    }

    pub fn predict(x: Tensor<f32, _, 10>) -> Tensor<f32, _, 1> {
        price(x)
    }

    pub fn other(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
        fc(x, 1, param = "D", init = constant(0.0)) + fc(x, 1, param = "E", lr = 0.5)
    }

    pub fn last(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
        fc(x, 1, param = "E", lr = 0.1)
     //~^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ parameter-conflict
    }
}

fn main() {}
