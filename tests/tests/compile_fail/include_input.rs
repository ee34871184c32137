//! A network in a file, called with pictures of another size.

use paddle::attribute::network;

#[network]
pub mod small {
    include_model!("../included/small");

    pub fn likely(image: Tensor<f32, _, 1, 8, 8>) -> Tensor<f32, _> {
        max(predict(image), axis = 1)
        //~         ^^^^^ declared-type
    }
}

fn main() {}
