//! The largest eigenvalue of a matrix by power iteration: a loop around a product.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|matrix: Tensor<f64, 4, 4>, start: Tensor<f64, 4, 1>, steps: Tensor<i64>| {
        let mut v = start;
        let mut value = 0.0f64;
        let mut i = 0;
        while i < steps {
            let w = matmul(matrix, v);
            value = sqrt(sum(square(w)) + 1e-12);
            v = w / value;
            i += 1;
        }
        (value, v)
    });
    vec![crate::model(net)]
}
