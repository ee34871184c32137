//! A part of a tuple by its number.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let pair = (x, 1);
        fc(pair[0], 1)
        //~^^^^ static
    });
}
