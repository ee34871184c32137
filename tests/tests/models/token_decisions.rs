//! A decision for each token of a sequence: tokens take their own ways, and come back in order.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|tokens: Seq<Tensor<f32, 4>>, weight: Tensor<f32, _, 1>| {
        let size = sum(square(tokens), axis = 1, keep_dim = true);
        let h = if size > 1.2 { fc(tokens, 3, param = "large") } else { fc(tokens, 3, param = "small") };
        let pooled = sequence_pool(h, sqrt);
        (mean(square(pooled * weight)), h)
    });
    vec![crate::model(net)]
}
