//! A model that is not there. What calls its network is no mistake.

use paddle::attribute::network;

#[network]
pub mod resnet {
    include_model!("models/resnet18");
    //~            ^^^^^^^^^^^^^^^^^ model

    pub fn likely(x: Tensor<f32, _, 3, 8, 8>) -> _ {
        max(predict(x), axis = 1)
    }
}

fn main() {}
