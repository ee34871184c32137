//! Layers that find elements: numbers of another type, more than there are, other rows.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>, order: Tensor<f32, _, 2>, id: Tensor<i64, _, 2>| {
        let by_floats = gather(x, order);
        //~                       ^^^^^ element-type
        let (best, places) = top_k(x, 4);
        //~                           ^ constant
        let hot = one_hot(x, 5);
        //~               ^ element-type
        let table = scatter([[1.0, 2.0], [3.0, 4.0]], [0], [[1.0, 2.0, 3.0]]);
        //~                                                ^^^^^^^^^^^^^^^^^ shape
        let rows = gather_nd(x, id);
        //~                  ^ row-spaces
        (by_floats, best, places, hot, table, rows)
    });
}
