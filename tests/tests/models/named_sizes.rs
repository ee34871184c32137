//! Sizes that are bound at run time, and arithmetic on sizes that are known.

use paddle::attribute::network;

#[network]
pub mod sizes {
    const HALF: usize = 4;
    const SHAPE: (usize, usize) = (HALF, 2 * HALF);

    pub fn dot(a: Tensor<f32, _, T>, b: Tensor<f32, _, T>) -> Tensor<f32, _, T> {
        a * b
    }

    pub fn rows(a: Tensor<f32, N, 4>, b: Tensor<f32, N, 4>) -> Tensor<f32, N, { HALF * 2 - 4 }> {
        a + b
    }

    pub fn pair(x: Tensor<f32, _, HALF>) -> Tensor<f32, _, { HALF + HALF }> {
        let (_, wide) = SHAPE;
        fc(x, wide)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(sizes::dot()), crate::model(sizes::rows()), crate::model(sizes::pair())]
}
