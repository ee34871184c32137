//! Names that are bound together have to be told apart.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let (a, a) = (x, -x);
        //~     ^ duplicate
        let f = |b, b| b + a;
        //~         ^ duplicate
        f(x, x)
    });
}
