//! Attention of each row over a memory that all rows share: products, a softmax, a product.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(
        |query: Tensor<f32, _, 8>, keys: Tensor<f32, 8, 5>, values: Tensor<f32, 5, 6>, y: Tensor<f32, _, 6>| {
            let q = fc(query, 8);
            let scores = matmul(q, keys) / 2.828;
            let weights = softmax(scores);
            let read = matmul(weights, values);
            (mean(square(read - y)), weights, read)
        }
    );
    vec![crate::model(net)]
}
