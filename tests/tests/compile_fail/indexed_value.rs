//! A row by its number, and more axes than there are.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let first = x[0];
        //~           ^ shape
        first + x[(.., 0, 1)]
        //~               ^ shape
    });
}
