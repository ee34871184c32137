//! An assignment to a variable that does not exist.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut sum = y;
        smu = sum + fc(x, 1);
     //~^^^ unknown-variable
        mean(sum)
    });
}
