//! A variable that is read before it is assigned.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price;
        let error = price - y;
        //~         ^^^^^ unassigned
        price = fc(x, 1);
        mean(error + price)
    });
}
