//! Initialisers and options of parameters.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>| {
        let a = fc(x, 4, param = "D", init = xavier());
        let b = fc(x, 4, param = "D", init = normal(0.0, 0.02));
        //~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ parameter-conflict
        let c = fc(x, 4, init = uniform(1.0, -1.0));
        //~                     ^^^^^^^^^^^^^^^^^^ constant
        let d = fc(x, 4, clip = 0);
        //~                     ^ constant
        a + b + c + d
    });
}
