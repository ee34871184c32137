//! Values that differ along another axis than that along which they are joined, and ids that are no ids.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 2, 3>, y: Tensor<f32, _, 4, 3>| {
        let both = concat([x, y], axis = 2);
        //~                   ^ shape
        embedding(y, [10, 3])
        //~       ^ element-type
    });
}
