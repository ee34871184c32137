//! A block of a transformer: attention over the places of a row, then two layers at each place, both normalised first.

use paddle::attribute::network;

#[network]
pub mod transformer {
    const PLACES: usize = 4;
    const DIM: usize = 6;

    fn project(x: Tensor<f32, _, PLACES, DIM>) -> Tensor<f32, _, PLACES, DIM> {
        reshape(fc(x, PLACES * DIM), [PLACES, DIM])
    }

    fn block(x: Tensor<f32, _, PLACES, DIM>) -> Tensor<f32, _, PLACES, DIM> {
        let before = layer_norm(x);
        let (query, key) = (project(before, param = "query"), project(before, param = "key"));
        let weights = softmax(matmul(query, key, transpose_y = true) / 2.449);
        let attended = x + matmul(weights, project(before, param = "value"));
        let within = layer_norm(attended, axis = 1, epsilon = 0.001, bias_init = constant(0.1), act = relu);
        attended + project(within, param = "out")
    }

    pub fn cost(x: Tensor<f32, _, PLACES, DIM>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let h = block(block(x, param = "first"), param = "second");
        let pooled = l2_normalize(mean(h, axis = 1));
        mean(softmax_with_cross_entropy(fc(pooled, 3), label))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(transformer::cost())]
}
