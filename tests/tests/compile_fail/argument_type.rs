//! An argument that is not of the declared type.

use paddle::attribute::network;

#[network]
pub mod line {
    fn predict(x: Tensor<f32, _, 12>) -> _ {
        fc(x, 1)
    }

    pub fn cost(x: Tensor<f32, _, 13>) -> Tensor<f32> {
        mean(predict(x))
        //~          ^ declared-type
    }
}

fn main() {}
