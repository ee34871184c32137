//! Elements behind the last, ranges of nothing, places that are no whole numbers.

const SIZES: [usize; 2] = [8, 16];

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3, 4>, n: Tensor<i64>| {
        let behind = x[(.., 3)];
        //~                 ^ shape
        let reversed = x[(.., .., 3..1)];
        //~                       ^^^^ shape
        let half = x[(.., 0.5)];
        //~               ^^^ constant
        let array = [1.0, 2.0, 3.0][1..5];
        //~                         ^^^^ constant
        let far = x[(.., 9223372036854775807)];
        //~              ^^^^^^^^^^^^^^^^^^^ shape
        let farther = x[(.., 0..=9223372036854775807)];
        //~                  ^^^^^^^^^^^^^^^^^^^^^^^ shape
        let pairs = x[(.., n, n)];
        //~                   ^ not-supported
        let size = fc(x, crate::SIZES[n]);
        //~                           ^ static
        sum(behind) + sum(reversed) + sum(half) + sum(array[0] * x) + sum(size) + sum(far + farther) + sum(pairs)
    });
}
