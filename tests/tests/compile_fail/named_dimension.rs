//! A dimension that is named twice, and has two sizes.

use paddle::attribute::network;

#[network]
pub mod sums {
    fn add(x: Tensor<f32, _, D>, y: Tensor<f32, _, D>) -> Tensor<f32, _, D> {
        x + y
    }

    pub fn both(x: Tensor<f32, _, 4>, y: Tensor<f32, _, 3>) -> _ {
        add(x, y)
        //~    ^ declared-type
    }
}

fn main() {}
