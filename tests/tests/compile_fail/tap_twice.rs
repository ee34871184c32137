//! Two taps of one name.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let mut h = x;
        for i in 0..2 {
            h = tap(fc(h, 13, param = "layer{i}"), "layer");
            //~                                    ^^^^^^^ constant
        }
        mean(h)
    });
}
