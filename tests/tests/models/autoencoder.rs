//! An autoencoder: one network for its cost, one for codes, one from codes back.

use paddle::attribute::network;

#[network]
pub mod autoencoder {
    const SIZES: [usize; 3] = [24, 12, CODE];
    const CODE: usize = 3;

    /// Narrower from layer to layer.
    fn encoder(x: Tensor<f32, _, 30>) -> Tensor<f32, _, CODE> {
        let mut h = x;
        for (i, size) in [(0, SIZES[0]), (1, SIZES[1]), (2, SIZES[2])] {
            h = fc(h, size, act = tanh, param = "encoder{i}");
        }
        h
    }

    /// And wider again.
    fn decoder(code: Tensor<f32, _, CODE>) -> Tensor<f32, _, 30> {
        let mut h = code;
        for i in 0..2 {
            h = fc(h, SIZES[1 - i], act = tanh, param = "decoder{i}");
        }
        fc(h, 30, param = "decoder")
    }

    pub fn cost(x: Tensor<f32, _, 30>) -> (Tensor<f32>, Tensor<f32>) {
        let code = tap(encoder(x), "code");
        let error = mean(square_error_cost(decoder(code), x));
        let size = mean(abs(code));
        (error + 1e-3 * size, size)
    }

    pub fn encode(x: Tensor<f32, _, 30>) -> _ {
        encoder(x)
    }

    pub fn decode(code: Tensor<f32, _, CODE>) -> _ {
        decoder(code)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![
        crate::model(autoencoder::cost()),
        crate::model(autoencoder::encode()),
        crate::model(autoencoder::decode()),
    ]
}
