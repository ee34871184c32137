//! A size that turns out to be none.

use paddle::network;

const WIDTH: usize = 5;

fn main() {
    let _ = network!(|x: Tensor<f32, _, { crate::WIDTH - 5 }>| relu(x));
    //~                                   ^^^^^^^^^^^^^^^^ constant
}
