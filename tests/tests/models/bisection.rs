//! Cube roots by bisection: each row moves its own bound, in a loop that all of them share.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 1>| {
        let (mut low, mut high) = (-square(x) - 1.0, square(x) + 1.0);
        let mut i = 0;
        while i < 12 {
            let middle = (low + high) / 2.0;
            if middle * middle * middle < x {
                low = middle;
            } else {
                high = middle;
            }
            i += 1;
        }
        let root = (low + high) / 2.0;
        let miss = mean(abs(root * root * root - x));
        (root, miss)
    });
    vec![crate::model(net)]
}
