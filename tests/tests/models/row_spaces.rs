//! Several kinds of rows in one network: users of the batch, and items that all of them share.

use paddle::attribute::network;

#[network]
pub mod market {
    fn taste(user: Tensor<f32, _, 4>) -> Tensor<f32, _, 3> {
        fc(user, 3, act = tanh)
    }

    fn traits(item: Tensor<f32, N, 5>) -> Tensor<f32, N, 3> {
        fc(item, 3, act = tanh)
    }

    /// How far tastes and traits are from their centres: one number for each kind of rows, summed.
    pub fn cost(user: Tensor<f32, _, 4>, item: Tensor<f32, ITEMS, 5>, stock: Tensor<f32, ITEMS, 1>) -> Tensor<f32> {
        let (taste, traits) = (taste(user), traits(item) * stock);
        mean(square(taste)) + mean(square(traits)) + square(mean(taste) - mean(traits))
    }

    /// Items on their own.
    pub fn vectors(item: Tensor<f32, ITEMS, 5>) -> Tensor<f32, ITEMS, 3> {
        let known = traits(item);
        let size = fc(known, 1, param = "size");
        if size > 0.0 { known } else { -known }
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(market::cost()), crate::model(market::vectors())]
}
