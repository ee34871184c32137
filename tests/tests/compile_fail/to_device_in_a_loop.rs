//! A value that is brought to a device within a loop, which is on one device.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, n: Tensor<i64>| {
        let (mut h, mut i) = (x, 0);
        while i < n {
            h = to_device(tanh(h), 1);
            //~                    ^ constant
            i += 1;
        }
        mean(h)
    });
}
