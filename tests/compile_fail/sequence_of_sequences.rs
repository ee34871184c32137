//! Sequences of sequences.

fn main() {
    let _net = paddle::network!(|x: Seq<Seq<i64>>| x);
    //~                                 ^^^^^^^^ not-supported
}
