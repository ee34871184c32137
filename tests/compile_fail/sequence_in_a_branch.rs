//! A sequence of rows that split.

fn main() {
    let _net = paddle::network!(|x: Seq<f32>, y: Tensor<f32, _>| {
        if y > 0.0 {
            sequence_pool(x, sum)
            //~           ^ not-supported
        } else {
            y
        }
    });
}
