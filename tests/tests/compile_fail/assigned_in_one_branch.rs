//! A variable that only one branch assigns.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price;
        if y > 0.0 {
            price = fc(x, 1);
        }
        mean(price)
        //~  ^^^^^ unassigned
    });
}
