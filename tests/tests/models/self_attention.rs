//! One head of self-attention over a fixed number of places: scores by broadcasting, a softmax, a weighted sum.

use paddle::attribute::network;

#[network]
pub mod attention {
    const PLACES: usize = 4;
    const DIM: usize = 6;

    fn project(x: Tensor<f32, _, PLACES, DIM>) -> Tensor<f32, _, PLACES, DIM> {
        reshape(fc(x, PLACES * DIM), [PLACES, DIM])
    }

    fn attend(x: Tensor<f32, _, PLACES, DIM>) -> Tensor<f32, _, PLACES, DIM> {
        let (query, key, value) = (project(x, param = "query"), project(x, param = "key"), project(x, param = "value"));
        let scores = sum(reshape(query, [PLACES, 1, DIM]) * reshape(key, [1, PLACES, DIM]), axis = 3);
        let weights = tap(softmax(scores / 2.449), "weights");
        sum(reshape(weights, [PLACES, PLACES, 1]) * reshape(value, [1, PLACES, DIM]), axis = 2)
    }

    pub fn cost(x: Tensor<f32, _, PLACES, DIM>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let h = x + attend(x, param = "head");
        let turned = transpose(h, [0, 2, 1]);
        let pooled = max(turned, axis = 2);
        mean(softmax_with_cross_entropy(fc(pooled, 3), label))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(attention::cost())]
}
