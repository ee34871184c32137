//! An argument that has a position is not missing when it is given by its name.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        fc(x, size = 8)
        //~   ^^^^ unknown-argument
    });
}
