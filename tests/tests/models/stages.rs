//! Nested loops at compile time, and values as items.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let nested = network!(|x: Tensor<f32, _, 4>| {
        let mut h = x;
        for stage in 0..2 {
            for layer in 0..stage + 1 {
                h = fc(h, 4, param = "stage{stage}.layer{layer}");
            }
        }
        for _ in [(); 2] {
            h = fc(h, 4, act = tanh, param = "shared");
        }
        h
    });
    let text = nested.program().unwrap().to_string();
    assert_eq!(text.matches("parameter ").count(), 8, "{text}");
    let values = network!(|x: Tensor<f32, _, 4>, y: Tensor<f32, _, 4>| {
        let mut sum = 0.0 * x;
        for value in [x, y, x * y] {
            sum += value;
        }
        sum
    });
    vec![crate::model(nested), crate::model(values)]
}
