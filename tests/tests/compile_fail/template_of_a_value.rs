//! A value of the network in a name for parameters.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let h = fc(x, 13);
        mean(fc(h, 1, param = "block{h}"))
        //~                   ^^^^^^^^^^ static
    });
}
