//! `_` behind the first dimension.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, _>| mean(x));
    //~                                            ^ batch-position
}
