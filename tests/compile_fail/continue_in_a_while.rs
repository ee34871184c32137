//! `continue` in a loop of the program.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let (mut h, mut i) = (x, 0);
        while i < 3 {
            i += 1;
            h = h * 2.0;
            continue;
         //~^^^^^^^^ not-supported
        }
        mean(h)
    });
}
