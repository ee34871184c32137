//! Sizes that rustc knows, in the networks of a module.

use paddle::attribute::network;

pub const WIDTH: usize = 30;

#[network]
pub mod models {
    pub fn one(x: Tensor<f32, _, super::WIDTH>) -> Tensor<f32, _, 1> {
        fc(x, 1, param = "D")
    }

    pub fn same(x: Tensor<f32, _, { super::WIDTH / 2 * 2 }>) -> Tensor<f32, _, 1> {
        fc(x, 1, param = "D")
    }

    pub fn other(x: Tensor<f32, _, { super::WIDTH + 2 }>) -> Tensor<f32, _, 1> {
        fc(x, 1, param = "D")
    }
}

fn main() {}
