//! Parts of tuples, activations that are called, rows without dimensions beside rows with some, shapes of nothing, relative names.

use paddle::attribute::network;

#[network]
pub mod words {
    fn gated(x: _, size: usize, #[default = tanh] act: Activation, #[default = sigmoid] gate: Activation) -> (_, _) {
        let opened = gate(fc(x, size, param = ".gate"));
        (opened * act(fc(x, size, param = ".value")), opened)
    }

    fn tower(x: _) -> _ {
        let mut h = x;
        for i in 0..2 {
            h = gated(h, 4, param = "step{i}").0;
        }
        h
    }

    pub fn cost(x: Tensor<f32, _, 4>, weight: Tensor<f32, _>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let both = (tower(x), gated(x, 4, act = relu));
        let seen = both.0 * both.1.0 + (both.1).1;
        let price = fc(seen, 1);
        // One number for each row beside rows of one, and beside rows of four.
        let off = square(price - y) * weight;
        let score = reshape(price, []);
        mean(off) + mean(score * weight) + mean(seen * weight) / sqrt(4)
    }

    /// A `while` whose condition is `[_, 1]`, and a way out.
    pub fn search(x: Tensor<f32, _, 1>) -> Tensor<f32, _, 1> {
        let mut h = x;
        while h > 0.5 {
            h = 0.5 * h;
            if h < 0.7 {
                break;
            }
            h = h - 0.1;
        }
        h
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(words::cost()), crate::model(words::search())]
}
