//! A value without rows as the state of a loop over rows.

fn main() {
    let _net = paddle::network!(|xs: Seq<f32>| {
        let mut s = mean(xs);
        //~         ^^^^^^^^ one-value
        for x in xs {
            s = s + x;
        }
        s
    });
}
