//! An element that the array does not have.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let sizes = [64, 128];
        fc(x, sizes[2])
        //~         ^ constant
    });
}
