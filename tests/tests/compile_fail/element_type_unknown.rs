//! An element type that does not exist.

fn main() {
    let _net = paddle::network!(|x: Tensor<f23, _, 13>| mean(fc(x, 1)));
    //~                                    ^^^ unknown-element-type
}
