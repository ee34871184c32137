//! A declared type that depends on a value, which is another one.

use paddle::network;

const WIDTH: usize = 5;

fn main() {
    let _ = network!(|x: Tensor<f32, _, self::WIDTH>| {
        let y: Tensor<f32, _, { 2 * (self::WIDTH / 2) }> = relu(x);
        //~                                                ^^^^^^^ declared-type
        y
    });
}
