//! A statement as a value.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut h = fc(x, 1);
        let g = { h = y; };
        //~     ^^^^^^^^^^ no-value
        mean(h - g)
    });
}
