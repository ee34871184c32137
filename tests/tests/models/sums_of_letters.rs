//! Sums of products that are written as letters: attention of several heads, a bilinear form, and matrices of each row.

use paddle::attribute::network;

#[network]
pub mod letters {
    const HEADS: usize = 2;

    /// Heads side by side, `[_, T, HEADS, D / HEADS]`.
    fn heads(x: Tensor<f32, _, T, D>) -> Tensor<f32, _, T, HEADS, { D / HEADS }> {
        reshape(fc(x, D, axis = -1), [T, HEADS, D / HEADS])
    }

    pub fn attention(x: Tensor<f32, _, T, 6>, y: Tensor<f32, _, T, 6>) -> Tensor<f32> {
        let (query, key, value) = (heads(x, param = "q"), heads(x, param = "k"), heads(x, param = "v"));
        let weights = softmax(einsum("bqhd,bkhd->bhqk", query, key));
        let seen = flatten(einsum("bhqk,bkhd->bqhd", weights, value), start_axis = 2);
        mse_loss(seen, y)
    }

    pub fn forms(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 4>, m: Tensor<f32, _, 3, 4>) -> Tensor<f32> {
        let form = einsum("bi,kij,bj->bk", x, parameter([2, 3, 4]), y);
        let outer = einsum("bi,bj->bij", x, y);
        let turned = einsum("...ij->...ji", m);
        let of_rows = if sum(form, axis = 1) > 0.0 { einsum("bij,bji->b", outer, turned) } else { sum(m, axis = [1, 2]) };
        mean(square(of_rows)) + mean(square(form))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(letters::attention()), crate::model(letters::forms())]
}
