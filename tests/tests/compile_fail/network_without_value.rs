//! A network without a result.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let _y = fc(x, 1);
    });
 //~^ no-value
}
