//! One parameter at two shapes, in the calls of a `fn`.

use paddle::attribute::network;

#[network]
pub mod line {
    fn shared(x: _) -> _ {
        fc(x, 1, param = "D")
     //~^^^^^^^^^^^^^^^^^^^^^ parameter-conflict
    }

    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(shared(x) - shared(y))
    }
}

fn main() {}
