//! Sequences in step that belong to other rows.

fn main() {
    let _net = paddle::network!(|xs: Seq<f32>, other: Tensor<f32, N>| {
        let mut s = 0.0;
        for (x, y) in (xs, other) {
        //~                ^^^^^ shape
            s = s + x * y;
        }
        s
    });
}
