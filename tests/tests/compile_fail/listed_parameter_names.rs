//! A name for each parameter: too few, too many, none, one that is no name, and names for more than a layer.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, words: Seq<Tensor<f32, 2>>| {
        let a = fc(x, 2, param = ["a.w"]);
        //~                      ^^^^^^^ constant
        let b = fc(x, 2, bias = false, param = ["b.w", "b.b"]);
        //~                                    ^^^^^^^^^^^^^^ constant
        let c = fc(x, 2, param = ["", "c.b"]);
        //~                       ^^ parameter-name
        let d = fc(x, 2, param = []);
        //~                      ^^ argument-kind
        let e = gru(words, 2, param = ["e.w0", "e.w1"]);
        //~                           ^^^^^^^^^^^^^^^^ argument-kind
        (a, b, c, d, e)
    });
}
