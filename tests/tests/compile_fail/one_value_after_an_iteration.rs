//! A state that becomes one value for all rows.

fn main() {
    let _net = paddle::network!(|xs: Seq<f32>, y: Tensor<f32, _>| {
        let mut s = y;
        for x in xs {
            s = mean(s + x);
        //~     ^^^^^^^^^^^ one-value
        }
        s
    });
}
