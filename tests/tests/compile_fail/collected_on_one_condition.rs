//! Values of a `while` whose condition is one for all rows.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _>| {
        let mut n = 0;
        let mut y = x;
        let ys = while n < 3 {
            n += 1;
            y = y * 2.0;
            y
        //~ ^ not-supported
        };
        ys
    });
}
