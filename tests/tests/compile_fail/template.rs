//! A brace without the other one, in a name for parameters.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let mut h = x;
        for i in 0..3 {
            h = fc(h, 13 + i, param = "block{i");
            //~                       ^^^^^^^^^ name-template
        }
        mean(h)
    });
}
