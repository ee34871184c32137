//! Wrong calls of layers that make sequences.

fn main() {
    let _net = paddle::network!(|x: Seq<f32>, y: Seq<Tensor<f32, 2>>, z: Tensor<f32, _, 3>, n: Tensor<i64, _>| {
        let a = sequence_slice(x, 0.5, n);
        //~                       ^^^ row-spaces
        let b = sequence_slice(z, 0, n);
        //~                    ^ row-spaces
        let c = sequence_concat([x, y]);
        //~                         ^ shape
        let d = sequence_filter(x, x);
        //~                        ^ row-spaces
        let e = sequence_pad(z, 4);
        //~                  ^ row-spaces
        let f = sequence(n);
        //~              ^ shape
        let g = sequence_gather(x, x);
        //~                     ^ element-type
        let h = sequence_range(3);
        //~                    ^ row-spaces
        (a, b, c, d, e, f, g, h)
    });
}
