//! Sequences of sequences where sequences are wanted, and the other way round.

fn main() {
    let _net = paddle::network!(|text: Seq<Seq<i64>>, words: Seq<i64>, y: Tensor<i64, _>| {
        let length = |x: Seq<i64>| sequence_length(x);
        let nested = |x: Seq<Seq<i64>>| sequence_length(x);
        let a = length(text);
        //~            ^^^^ declared-type
        let b = nested(words);
        //~            ^^^^^ declared-type
        let c = sequence_length(text) + y;
        //~                             ^ row-spaces
        (a, b, c)
    });
}
