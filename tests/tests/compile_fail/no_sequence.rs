//! Rows where sequences are wanted.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>| {
        sequence_pool(fc(x, 3), average)
        //~           ^^^^^^^^ row-spaces
    });
}
