//! A loop collects a value that is one for all rows.

fn main() {
    let _net = paddle::network!(|xs: Seq<f32>| {
        for x in xs {
            mean(x)
        //~ ^^^^^^^ one-value
        }
    });
}
