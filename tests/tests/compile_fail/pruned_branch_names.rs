//! A name that does not exist, in a branch that is not taken.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        if true { mean(x) } else { mean(z) }
        //~                             ^ unknown-variable
    });
}
