//! An ensemble: members are named by an array, their predictions averaged, their disagreement a metric.

use paddle::attribute::network;

#[network]
pub mod ensemble {
    const MEMBERS: [&str; 3] = ["ada", "ben", "cleo"];

    fn member(x: Tensor<f32, _, 6>) -> Tensor<f32, _, 1> {
        let hidden = fc(x, 8, act = relu);
        fc(hidden, 1)
    }

    pub fn cost(x: Tensor<f32, _, 6>, y: Tensor<f32, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let mut cost = 0.0;
        let mut total = 0.0;
        let mut squares = 0.0;
        for name in MEMBERS {
            let vote = member(x, param = name);
            cost += mean(square(vote - y));
            total += vote;
            squares += square(vote);
        }
        let spread = mean(squares / 3.0 - square(total / 3.0));
        (cost, spread)
    }

    /// The mean of the votes.
    pub fn answer(x: Tensor<f32, _, 6>) -> Tensor<f32, _, 1> {
        (member(x, param = "ada") + member(x, param = "ben") + member(x, param = "cleo")) / 3.0
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(ensemble::cost()), crate::model(ensemble::answer())]
}
