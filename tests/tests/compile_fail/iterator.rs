//! What a `for` goes over is not an iterator.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let mut h = x;
        for i in (0..3).step_by(2) { h += i; }
        //~             ^^^^^^^^^^ method
        h
    });
}
