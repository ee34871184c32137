//! Branches of two shapes.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = if y > 0.0 {
            fc(x, 2)
        } else {
            fc(x, 1)
         //~^^^^^^^^ branch-change
        };
        mean(price)
    });
}
