fn main() {
    let _ = paddle::network!(|x: Tensor<f32, _, 3>, words: Seq<i64>| {
        // With rows, or of an unknown number.
        let a = own_rows(x);
        //~              ^ row-spaces
        let b = own_rows(all_rows(x));
        //~              ^^^^^^^^^^^ shape
        // Rows that do not belong together.
        let c = own_rows(zeros([2, 3])) + x;
        //~                               ^ row-spaces
        let d = own_rows(zeros([2, 3])) + own_rows(zeros([4, 3]));
        //~                               ^^^^^^^^^^^^^^^^^^^^^^^ row-spaces
        let e = sequence_unpad(own_rows(zeros([2, 3])), words);
        //~                                             ^^^^^ row-spaces
        let f = non_max_suppression(x, x);
        //~                         ^ shape
        let g = pad(x, 1, value = f32::INFINTY);
        //~                       ^^^^^^^^^^^^ no-such-number
        let h = x * std::f32::consts::PHI + i64::NAN;
        //~         ^^^^^^^^^^^^^^^^^^^^^ no-such-number
        //~                                 ^^^^^^^^ no-such-number
        let i = put_along_axis(x, one_hot(row_numbers(x), 3), x);
        //~                       ^^^^^^^^^^^^^^^^^^^^^^^^^^ element-type
        let j = put_along_axis(x, row_numbers(x), x);
        //~                       ^^^^^^^^^^^^^^ shape
        let k = put_along_axis(x, cast(x, i64), sum(x, axis = 1, keep_dim = true));
        //~                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shape
        let l = put_along_axis(x, cast(x, i64), x, axis = 0);
        //~                                               ^ shape
        let m = put_along_axis(sum(x, axis = 1), row_numbers(x), sum(x, axis = 1));
        //~                    ^^^^^^^^^^^^^^^^ shape
        (a, b, c, d, e, f, g, h, i, j, k, l, m)
    });
}
