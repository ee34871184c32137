//! A pattern that leaves parts out.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let (a, ..) = (x, -x, x);
        //~ ^^^^^^^ not-of-the-language
        a
    });
}
