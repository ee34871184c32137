//! The state of a loop has other rows than the loop.

fn main() {
    let _net = paddle::network!(|xs: Seq<f32>, other: Tensor<f32, N>| {
        let mut s = other;
        //~         ^^^^^ row-spaces
        for x in xs {
            s = s + x;
        }
        s
    });
}
