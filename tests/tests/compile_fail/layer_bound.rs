//! A layer bound to a name; that the name cannot be called is no second mistake.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let f = relu;
        //~     ^^^^ not-a-value
        f(x)
    });
}
