//! Loop state that begins as a whole number and becomes a float.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut sum = 0;
        let mut i = 0;
        while i < 3 {
            sum = sum + mean(x - y);
            //~         ^^^^^^^^^^^ element-type
            i += 1;
        }
        sum
    });
}
