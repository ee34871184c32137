//! Q-learning: the value of what was done, against the reward and the best that can follow, by a frozen copy.

use paddle::attribute::network;

#[network]
pub mod deep_q {
    const ACTIONS: usize = 4;
    const DISCOUNT: f32 = 0.9;

    fn q(state: Tensor<f32, _, 6>) -> Tensor<f32, _, ACTIONS> {
        let hidden = fc(state, 12, act = relu);
        // A dueling head.
        let value = fc(hidden, 1);
        let advantage = fc(hidden, ACTIONS);
        value + advantage - mean(advantage, axis = 1, keep_dim = true)
    }

    pub fn cost(
        state: Tensor<f32, _, 6>,
        action: Tensor<f32, _, ACTIONS>,
        reward: Tensor<f32, _>,
        next: Tensor<f32, _, 6>,
        done: Tensor<bool, _>,
    ) -> Tensor<f32> {
        let taken = sum(q(state, param = "online") * action, axis = 1);
        let target = if done {
            reward
        } else {
            reward + DISCOUNT * max(q(next, param = "frozen"), axis = 1)
        };
        mean(square(taken - target))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(deep_q::cost())]
}
