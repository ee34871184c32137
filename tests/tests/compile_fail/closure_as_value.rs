//! The name of a closure as an argument.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let wide = |x| fc(x, 8);
        mean(x + wide)
        //~      ^^^^ not-a-value
    });
}
