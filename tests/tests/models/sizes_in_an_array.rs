//! A tower whose sizes are an array; the state changes its shape from iteration to iteration.

use paddle::attribute::network;

#[network]
pub mod tower {
    const SIZES: [usize; COUNT] = [64, 32, LAST];
    const COUNT: usize = 3;
    const LAST: usize = 16;
    const RATES: [[f32; 2]; 3] = [[0.5; 2], [0.25, 0.125], [1.0, 1.0]];

    pub fn vector(x: Tensor<f32, _, 13>) -> Tensor<f32, _, LAST> {
        let mut h = x;
        for size in SIZES {
            h = fc(h, size, act = relu, param = "to{size}");
        }
        for i in 0..COUNT {
            if i > 0 && SIZES[i - 1] > 32 {
                h = h * RATES[i][1];
            }
        }
        h
    }

    pub fn pairs(x: Tensor<f32, _, 13>) -> _ {
        let mut h = x;
        for (size, rate) in [(8, 0.5), (4, 2.0)] {
            h = fc(h, size, param = "pair{size}") * rate;
        }
        h
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(tower::vector()), crate::model(tower::pairs())]
}
