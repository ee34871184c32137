//! A closure assigned to another.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let mut f = |v| v + 1;
        { f = |v| v - 1; }
       //~^ assign
        f(x)
    });
}
