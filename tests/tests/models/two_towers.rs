//! A recommender of two towers: what a user has watched, and what an item is, as vectors of length one.

use paddle::attribute::network;

#[network]
pub mod towers {
    const ITEMS: usize = 300;
    const DIM: usize = 8;

    fn normalise(x: Tensor<f32, _, D>) -> Tensor<f32, _, D> {
        x * rsqrt(sum(square(x), axis = 1, keep_dim = true) + 1e-6)
    }

    fn items(ids: _) -> _ {
        embedding(ids, [ITEMS, DIM], param = "item")
    }

    fn user_tower(watched: Seq<i64>, age: Tensor<f32, _, 1>) -> _ {
        let history = sequence_pool(items(watched), average);
        normalise(fc(fc([history, age], 16, act = relu), DIM))
    }

    fn item_tower(item: Tensor<i64, _>) -> _ {
        normalise(fc(items(item), DIM))
    }

    pub fn cost(watched: Seq<i64>, age: Tensor<f32, _, 1>, item: Tensor<i64, _>, clicked: Tensor<f32, _, 1>) -> _ {
        let similarity = sum(user_tower(watched, age) * item_tower(item), axis = [1], keep_dim = true);
        let logit = 5.0 * similarity;
        mean(softplus(logit) - clicked * logit)
    }

    pub fn user(watched: Seq<i64>, age: Tensor<f32, _, 1>) -> _ {
        user_tower(watched, age)
    }

    pub fn item(item: Tensor<i64, _>) -> Tensor<f32, _, DIM> {
        item_tower(item)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(towers::cost()), crate::model(towers::user()), crate::model(towers::item())]
}
