//! A user who was never seen has no taste: zeros, but whose?

use paddle::attribute::network;

// ANCHOR: mistake
#[network]
mod recommender {
    const USERS: usize = 2972;

    fn taste(user: Tensor<i64, _>) -> Tensor<f32, _, 8> {
        if user == 0 {
            zeros(8)
         //~^^^^^^^^ one-value
        } else {
            embedding(user, [USERS, 8])
        }
    }

    pub fn score(user: Tensor<i64, _>, item: Tensor<f32, _, 8>) -> Tensor<f32, _> {
        sum(taste(user) * item, axis = 1)
    }
}
// ANCHOR_END: mistake

fn main() {}
