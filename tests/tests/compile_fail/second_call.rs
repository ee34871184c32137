//! Sub-networks called again, without a word on whether their parameters are shared.

use paddle::attribute::network;

#[network]
pub mod siamese {
    fn embed(x: _, size: usize) -> _ {
        let hidden = fc(x, 16, act = relu);
        layer_norm(fc(hidden, size))
    }

    fn named(x: _) -> _ {
        fc(x, 8, param = "named")
    }

    fn relative(x: _) -> _ {
        lstm_unit(x, x, x, 4, param = ".cell")
    }

    pub fn distance(a: Tensor<f32, _, 4>, b: Tensor<f32, _, 4>) -> Tensor<f32> {
        let apart = embed(a, 8) - embed(b, 8) + embed(b, 8);
        //~                       ^^^^^^^^^^^ second-call
        let shared = named(a) - named(b);
        let told_apart = embed(a, 8, param = "a") - embed(b, 8, param = "b");
        let tower = |x| fc(x, 8, act = tanh);
        let closures = tower(a) - tower(b);
        //~                       ^^^^^^^^ second-call
        let (left, _) = relative(a);
        let right = if mean(a) > 0.0 { relative(b) } else { (b, b) };
        //~                            ^^^^^^^^^^^ second-call
        let (right, _) = right;
        let library = gru_unit(a, b, 4) - gru_unit(b, a, 4);
        mean(apart + shared + told_apart + closures) + mean(left - right + library)
    }
}

fn main() {}
