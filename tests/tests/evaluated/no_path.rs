//! A path to nothing: rustc says what it always says, once.

use paddle::network;

fn main() {
    let _ = network!(|x: Tensor<f32, _, crate::WIDTH>| {
        //~                                    ^^^^^ rustc
        const HALF: usize = crate::WIDTH / 2;
        //~                        ^^^^^ rustc
        let y: Tensor<f32, _, HALF> = relu(x);
        y
    });
}
