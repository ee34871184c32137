//! A loop whose values are collected, and that rows leave in the middle.

fn main() {
    let _net = paddle::network!(|xs: Seq<f32>| {
        for x in xs {
            if x > 1.0 {
                break;
            }
            x * 2.0
        //~ ^^^^^^^ not-supported
        }
    });
}
