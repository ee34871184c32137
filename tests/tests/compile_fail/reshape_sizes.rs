//! Two sizes that are what is left, and one that is none.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 12>| {
        let left = reshape(x, [-1, 3, -1]);
        //~                   ^^^^^^^^^^^ constant
        let none = reshape(x, [4, 0]);
        //~                       ^ argument-kind
        mean(left) + mean(none)
    });
}
