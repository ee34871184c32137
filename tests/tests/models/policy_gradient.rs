//! An actor and its critic: the log-probability of what was done, weighted by how much better it was than expected.

use paddle::attribute::network;

#[network]
pub mod actor_critic {
    const ACTIONS: usize = 3;

    fn body(state: Tensor<f32, _, 4>) -> _ {
        let hidden = fc(state, 16, act = tanh);
        let (logits, value) = (fc(hidden, ACTIONS, param = "actor"), fc(hidden, 1, param = "critic"));
        (logits, value)
    }

    pub fn cost(
        state: Tensor<f32, _, 4>,
        action: Tensor<i64, _, 1>,
        reward: Tensor<f32, _, 1>,
        baseline: Tensor<f32, _, 1>,
    ) -> (Tensor<f32>, Tensor<f32>, Tensor<f32>) {
        let (logits, value) = body(state);
        let advantage = reward - baseline;
        let actor = mean(softmax_with_cross_entropy(logits, action) * advantage);
        let critic = mean(square(value - reward));
        (actor + 0.5 * critic, actor, critic)
    }

    pub fn act(state: Tensor<f32, _, 4>) -> Tensor<f32, _, ACTIONS> {
        let (logits, _) = body(state);
        softmax(logits)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(actor_critic::cost()), crate::model(actor_critic::act())]
}
