//! A value that does not fit in a sub-network.

use paddle::network;

mod config {
    pub const WIDTH: usize = 30;
    pub const HEIGHT: usize = 7;
}

fn main() {
    let _ = network!(|x: Tensor<f32, _, config::WIDTH>, y: Tensor<f32, _, { config::HEIGHT * 4 + 1 }>| {
        let product = |a, b| a * b;
        //~                  ^^^^^ shape
        relu(product(x, y))
    });
}
