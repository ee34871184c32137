//! A sequence where a tensor is declared.

fn main() {
    let _net = paddle::network!(|words: Seq<i64>| {
        let first = |ids: Tensor<i64, _>| ids;
        first(words)
        //~   ^^^^^ declared-type
    });
}
