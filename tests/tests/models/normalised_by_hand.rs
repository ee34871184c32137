//! Layer and batch normalisation by hand: reductions along axes, with statistics of rows and of columns.

use paddle::attribute::network;

#[network]
pub mod by_hand {
    fn over_features(x: Tensor<f32, _, D>) -> Tensor<f32, _, D> {
        let centred = x - mean(x, axis = 1, keep_dim = true);
        centred * rsqrt(mean(square(centred), axis = 1, keep_dim = true) + 1e-5)
    }

    fn over_rows(x: Tensor<f32, _, D>) -> Tensor<f32, _, D> {
        let centred = x - mean(x, axis = 0);
        centred / sqrt(mean(square(centred), axis = 0) + 1e-3)
    }

    pub fn cost(x: Tensor<f32, _, 6>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let hidden = relu(over_features(fc(x, 8)));
        let out = fc(over_rows(hidden), 2);
        mean(square(out - y))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(by_hand::cost())]
}
