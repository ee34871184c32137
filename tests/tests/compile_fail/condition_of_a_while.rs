//! A condition that is neither one truth value nor one per row.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let mut h = x;
        while h < 10.0 { h *= 2.0; }
        //~   ^^^^^^^^ condition
        h
    });
}
