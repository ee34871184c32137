//! A closure with too many arguments.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let line = |x| fc(x, 1);
        mean(square(line(x, y)))
        //~                 ^ argument-count
    });
}
