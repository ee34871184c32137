//! A value that no memory has room for, and a number that no type has.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 2>| {
        let table = zeros([4611686018427387904, 8]);
        //~               ^^^^^^^^^^^^^^^^^^^^^^^^ shape
        let y = x * 99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999;
        //~         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ constant
        sum(table) + y
    });
}
