//! A loop that neither assigns nor gives anything.

fn main() {
    let _net = paddle::network!(|xs: Seq<f32>, y: Tensor<f32, _>| {
        for x in xs {
    //~ ^^^ not-of-the-language
            let z = x * 2.0;
        }
        y
    });
}
