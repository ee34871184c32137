//! The state of a loop changes its shape.

fn main() {
    let _net = paddle::network!(|xs: Seq<Tensor<f32, 3>>| {
        let mut h = zeros(4);
        for x in xs {
            h = fc([x, h], 5);
        //~     ^^^^^^^^^^^^^ loop-change
        }
        h
    });
}
