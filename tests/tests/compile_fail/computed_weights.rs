fn main() {
    let _ = paddle::network!(|x: Tensor<f32, _, 4>, image: Tensor<f32, _, 1, 8, 8>, k: Tensor<f32, 3, 2>| {
        // Of another shape.
        let a = fc(x, 2, w = k);
        //~                  ^ shape
        // With rows.
        let b = fc(x, 2, b = fc(x, 2));
        //~                  ^^^^^^^^ shape
        // Of another element type.
        let c = layer_norm(x, scale = cast(x, i64));
        //~                           ^^^^^^^^^^^^ element-type
        // Beside what a parameter would begin with.
        let d = conv2d(image, 2, 3, w = ones([2, 1, 3, 3]), init = constant(0.5));
        //~                                                        ^^^^^^^^^^^^^ constant
        // Of several inputs each has its own.
        let e = fc([x, x], 2, w = ones([4, 2]));
        //~                       ^^^^^^^^^^^^ shape
        // Under a name of another library.
        let f = fc(x, 2, kernel = ones([4, 2]));
        //~              ^^^^^^ unknown-argument
        // A bias that there is not.
        let g = fc(x, 2, bias = false, b = ones(2));
        //~                                ^^^^^^^ constant
        // A parameter by itself, and a table.
        let h = parameter([4], w = ones(4));
        //~                    ^ unknown-argument
        let i = embedding(argmax(x, axis = 1), [4, 2], w = ones([4, 2]));
        //~                                            ^ unknown-argument
        // One of two statistics.
        let j = batch_norm(x, mean = ones(4));
        //~                          ^^^^^^^ constant
        (a, b, c, d, e, f, g, h, i, j)
    });
}
