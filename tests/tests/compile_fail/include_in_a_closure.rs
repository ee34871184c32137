//! A model where a value stands.

use paddle::network;

fn main() {
    let _ = network!(|image: Tensor<f32, _, 1, 6, 6>| include_model!("../included/small"));
    //~                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ not-of-the-language
}
