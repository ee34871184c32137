//! One parameter at two shapes.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let hidden = fc(x, 4, param = "D");
        let price = fc(hidden, 1, param = "D");
        //~         ^^^^^^^^^^^^^^^^^^^^^^^^^^ parameter-conflict
        mean(price - y)
    });
}
