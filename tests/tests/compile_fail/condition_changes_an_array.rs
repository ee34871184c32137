//! Arrays that a branch changes keep their length.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 1>| {
        let mut pair = [x, -x];
        if x > 0.0 { pair = [x]; }
        //~                 ^^^ branch-change
        pair[0]
    });
}
