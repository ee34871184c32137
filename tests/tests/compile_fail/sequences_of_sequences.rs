//! Sequences of sequences where sequences are wanted.

fn main() {
    let _net = paddle::network!(|text: Seq<Seq<Tensor<f32, 3>>>| {
        sequence_pool(lstm(text, 4), last)
        //~                ^^^^ declared-type
    });
}
