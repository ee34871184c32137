//! A path to something that is no size.

use paddle::network;

const RATE: f32 = 0.5;

fn main() {
    let _ = network!(|x: Tensor<f32, _, self::RATE>| relu(x));
    //~                                 ^^^^^^^^^^ rustc
}
