//! Several heads of attention: products of many matrices, one for each row and head.

use paddle::attribute::network;

#[network]
pub mod attention {
    const PLACES: usize = 4;
    const HEADS: usize = 2;
    const DIM: usize = 3;

    fn project(x: Tensor<f32, _, PLACES, DIM>) -> Tensor<f32, _, HEADS, PLACES, DIM> {
        let heads = fc(x, HEADS * PLACES * DIM);
        reshape(heads, [HEADS, PLACES, DIM])
    }

    /// The mean of the heads, and where each looks.
    fn attend(x: Tensor<f32, _, PLACES, DIM>) -> Tensor<f32, _, PLACES, DIM> {
        let (query, key) = (project(x, param = "query"), project(x, param = "key"));
        let weights = tap(softmax(matmul(query, key, transpose_y = true) / 1.732), "weights");
        mean(matmul(weights, project(x, param = "value")), axis = 1)
    }

    pub fn cost(x: Tensor<f32, _, PLACES, DIM>, turn: Tensor<f32, DIM, DIM>, y: Tensor<f32, _>) -> Tensor<f32> {
        let h = matmul(x + attend(x, param = "heads"), turn);
        let each = matmul(h, transpose(turn, [1, 0]), transpose_x = false);
        let scores = fc(each, DIM);
        mean(square(matmul(scores, mean(turn, axis = 0)) - y))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(attention::cost())]
}
