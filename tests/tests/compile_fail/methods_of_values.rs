//! Methods that sequences and arrays have, of something else.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>, words: Seq<i64>| {
        let length = x.len();
        //~            ^^^^^ method
        let reversed = x.rev();
        //~              ^^^^^ method
        let mut sum = 0;
        for (word, _) in words.zip(x) {
            //~                    ^ method
            sum += word;
        }
        (length, reversed, sum)
    });
}
