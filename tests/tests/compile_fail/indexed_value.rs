//! A row by its number, a token by its number, more axes than there are, and a mask.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, words: Seq<i64>| {
        let first = x[0];
        //~           ^ shape
        let second = x[(.., 0, 1)];
        //~                    ^ shape
        let word = words[0];
        //~              ^ shape
        (first + second, word, x[x > 0.0])
        //~                      ^^^^^^^ element-type
    });
}
