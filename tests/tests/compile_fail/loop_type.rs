//! A loop that changes the element type of its state.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut h = 0;
        let mut i = 0;
        while i < 3 {
            h = mean(fc(x, 1) - y);
            //~ ^^^^^^^^^^^^^^^^^^ loop-change
            i += 1;
        }
        h
    });
}
