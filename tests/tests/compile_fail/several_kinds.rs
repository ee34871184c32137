//! Mistakes of words, names and shapes: none hides another.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>, z: Tensor<f32, _, 2>| {
        let hidden = fc(x, 8, atc = relu);
        //~                   ^^^ unknown-argument
        let price = fc(hidden, 3);
        let _seen = dbg!(price);
        //~         ^^^^^^^^^^^ macro
        mean(price - z) + mean(square_root(y))
        //~          ^ shape
        //~                    ^^^^^^^^^^^ unknown-layer
    });
}
