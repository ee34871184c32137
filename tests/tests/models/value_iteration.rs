//! Planning by value iteration: the best of the actions' values, over and over, until it settles.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|reward: Tensor<f32, 6, 1>, left: Tensor<f32, 6, 6>, right: Tensor<f32, 6, 6>, discount: Tensor<f32>| {
        const LIMIT: i64 = 40;
        let discount = clip(discount, 0.0, 0.5);
        let (left, right) = (softmax(left), softmax(right));
        let mut value = reward;
        let mut change = 1.0;
        let mut sweep = 0i64;
        while change > 1e-4 && sweep < LIMIT {
            let best = elementwise_max(matmul(left, value), matmul(right, value));
            let next = reward + discount * best;
            change = max(abs(next - value));
            value = next;
            sweep += 1;
        }
        value
    });
    vec![crate::model(net)]
}
