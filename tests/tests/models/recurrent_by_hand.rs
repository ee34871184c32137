//! A recurrent network over a fixed number of steps, which share their parameters by name.

use paddle::attribute::network;

#[network]
pub mod recurrent {
    const HIDDEN: usize = 8;

    /// One step of a gated recurrent unit.
    fn step(x: _, h: Tensor<f32, _, HIDDEN>) -> Tensor<f32, _, HIDDEN> {
        let update = fc([x, h], HIDDEN, act = sigmoid, param = "update");
        let reset = fc([x, h], HIDDEN, act = sigmoid, param = "reset");
        let candidate = fc([x, reset * h], HIDDEN, act = tanh, param = "candidate");
        (1.0 - update) * h + update * candidate
    }

    pub fn cost(
        monday: Tensor<f32, _, 5>,
        tuesday: Tensor<f32, _, 5>,
        wednesday: Tensor<f32, _, 5>,
        next: Tensor<f32, _, 5>,
    ) -> Tensor<f32> {
        let mut h = fc(monday, HIDDEN, act = tanh, param = "start");
        for day in [monday, tuesday, wednesday] {
            h = step(day, h);
        }
        mean(square(fc(h, 5, param = "out") - next))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let cost = crate::model(recurrent::cost());
    assert_eq!(cost.parameter_names()[2..5], ["update.w0", "update.w1", "update.b"]);
    vec![cost]
}
