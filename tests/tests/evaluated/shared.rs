//! One parameter in two sizes, as rustc finds out.

use paddle::network;

const WIDTH: usize = 5;

fn main() {
    let _ = network!(|x: Tensor<f32, _, crate::WIDTH>, y: Tensor<f32, _, 4>| {
        let first = fc(x, 2, param = "D");
        first + fc(y, 2, param = "D")
        //~     ^^^^^^^^^^^^^^^^^^^^^ parameter-conflict
    });
}
