//! A closure that calls itself.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let deep = |z| deep(fc(z, 1));
        //~            ^^^^ recursion
        mean(deep(x) - y)
    });
}
