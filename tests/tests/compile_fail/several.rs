//! Several mistakes at once, each reported once.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let hidden = fc(x, 8, atc = relu);
        //~                   ^^^ unknown-argument
        let price = fc(hiden, 1);
        //~            ^^^^^ unknown-variable
        mean(squre(price - y))
        //~  ^^^^^ unknown-layer
    });
}
