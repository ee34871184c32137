//! An assignment to a captured variable.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut sum = y;
        let add = |z| {
            sum = sum + z;
         //~^^^ assign
            sum
        };
        mean(add(fc(x, 1)))
    });
}
