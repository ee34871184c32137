//! Loops that would not end.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 1>, n: Tensor<i64>| {
        let (mut h, mut left, mut tries) = (x, n, 0);
        while n > 0 {
           //~^^^^^ unchanging-condition
            h = tanh(h);
            left -= 1;
        }
        while h > 0.5 || x > 0.5 {
           //~^^^^^^^^^^^^^^^^^^ unchanging-condition
            h = h;
            tries += 1;
        }
        while bernoulli(x) > 0.5 {
            h = h - 1.0;
        }
        while x > 0.0 {
            h = tanh(h);
            if h < 0.1 { break; }
        }
        h + cast(tries, f32)
    });
}
