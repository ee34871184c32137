//! Labels that do not fit the sequences that they are of.

fn main() {
    let _net = paddle::network!(|x: Seq<Tensor<f32, 4>>, tags: Seq<i64>, score: Seq<f32>, row: Tensor<i64, _, 1>| {
        let a = linear_chain_crf(x, row);
        //~                         ^^^ row-spaces
        let b = linear_chain_crf(x, score);
        //~                         ^^^^^ element-type
        let c = linear_chain_crf(score, tags);
        //~                      ^^^^^ shape
        let d = linear_chain_crf(x, one_hot(tags, 4));
        //~                         ^^^^^^^^^^^^^^^^ shape
        let e = crf_decoding(tags);
        //~                  ^^^^ shape
        let f = crf_decoding(fc(row, 4));
        //~                     ^^^ element-type
        let g = warpctc(x, tags, blank = 4);
        //~                              ^ constant
        let h = warpctc(x, row);
        //~                ^^^ row-spaces
        let i = warpctc(score, tags);
        //~             ^^^^^ shape
        (a, b, c, d, e, f, g, h, i)
    });
}
