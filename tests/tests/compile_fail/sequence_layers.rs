//! Tensors where sequences are wanted, and rows that are not those of the sequences.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>, other: Tensor<f32, N, 4>, words: Seq<i64>| {
        let a = sequence_expand(x, x + 1.0);
        //~                        ^^^^^^^ row-spaces
        let b = sequence_expand(other, words);
        //~                     ^^^^^ row-spaces
        let c = sequence_softmax(words);
        //~                      ^^^^^ element-type
        let d = sequence_align(words, x);
        //~                           ^ row-spaces
        let e = sequence_length(x);
        //~                     ^ row-spaces
        let f = sequence_conv(x, 8, 3);
        //~                   ^ row-spaces
        let g = sequence_conv(words, 8, 3);
        //~                   ^^^^^ element-type
        let h = sequence_window(words, 0);
        //~                            ^ constant
        let i = sequence_mask(cast(words, f32), 3);
        //~                   ^^^^^^^^^^^^^^^^ element-type
        (a, b, c, d, e, f, g, h, i)
    });
}
