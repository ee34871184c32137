//! Names as Rust has them: keywords as raw identifiers, other alphabets, names of layers, one letter twice; and names of
//! parameters as other systems have them.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|r#type: Tensor<f32, _, 3>, größe: Tensor<f32, _, 1>| {
        let μ = mean(r#type);
        let σ = fc(r#type, 2);
        let mean = sum(σ - μ, axis = 1, keep_dim = true);
        let sum = mean * größe;
        let (x, x_) = (sum, sum * 2.0);
        let r#loop = fc(x + x_, 1);
        fc(r#loop, 1, param = ["fc_0", "0.b::0"])
    });
    let _: paddle::ParameterName = net.params._0.b__0;
    let model = crate::model(net);
    assert_eq!(model.parameter_names(), ["σ.w", "σ.b", "loop.w", "loop.b", "fc_0", "0.b::0"]);
    vec![model]
}
