//! A denoising autoencoder: dropout on what it sees, and what it should have seen as the target.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 14>| {
        const RATE: f32 = 0.2;
        let seen = dropout(x, RATE, mode = downgrade_in_infer);
        let code = fc(seen, 6, act = elu);
        let back = fc(dropout(code, 0.5), 14);
        mean(square(back - x))
    });
    vec![crate::model(net)]
}
