//! A loop that changes the shape of its state.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut h = x;
        let mut i = 0;
        while i < 3 {
            h = fc(h, 4);
            //~ ^^^^^^^^ loop-change
            i += 1;
        }
        mean(h - y)
    });
}
