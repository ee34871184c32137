//! `break` out of the loop around the innermost one.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _>| {
        let mut y = x;
        while y < 4.0 {
            y += 1.0;
            if y > 3.0 {
                break 'outer;
        //~     ^^^^^^^^^^^^ not-supported
            }
        }
        y
    });
}
