//! Values that can be fetched by name, in sub-networks and unrolled loops.

use paddle::attribute::network;

#[network]
pub mod tapped {
    const NAMES: [&str; 2] = ["first", "second"];

    fn layer(x: _, i: _) -> _ {
        tap(fc(x, 4, act = tanh), NAMES[i])
    }

    /// The cost, and how large the last layer is.
    pub fn cost(x: Tensor<f32, _, 4>) -> (Tensor<f32>, Tensor<f32>) {
        let mut h = x;
        for i in 0..2 {
            h = layer(h, i, param = "layer{i}");
        }
        let cost = mean(h);
        (cost, tap(sum(h), "total"))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let model = crate::model(tapped::cost());
    let names: Vec<&str> = model.taps().iter().map(|tap| tap.name.as_str()).collect();
    assert_eq!(names, ["first", "second", "total"]);
    vec![model]
}
