//! A branch that changes the element type of a variable.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut price = y;
        if y > 0.0 {
            price = x > y;
            //~     ^^^^^ branch-change
        }
        mean(price)
    });
}
