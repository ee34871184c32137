//! An argument that has no effect beside another one, and numbers out of range.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>, y: Tensor<f32, _, 4>| {
        let hidden = fc(x, 8, bias = false, bias_init = constant(0.5));
        //~                                             ^^^^^^^^^^^^^ constant
        let norm = layer_norm(x, epsilon = -1.0);
        //~                                ^^^^ constant
        let loss = huber_loss(x, y, -2.0);
        //~                         ^^^^ constant
        mean(loss) + mean(norm) + mean(hidden)
    });
}
