//! Losses that are given something else than they take, of the right type.

#![deny(deprecated)]

use paddle::attribute::network;

#[network]
pub mod losses {
    fn logits(x: _) -> _ {
        fc(x, 10)
    }

    pub fn cost(x: Tensor<f32, _, 4>, label: Tensor<i64, _, 1>, y: Tensor<f32, _, 10>) -> Tensor<f32> {
        let p = softmax(logits(x));
        let twice = softmax_with_cross_entropy(p, label);
        //~                                    ^ meaning
        let column = reshape(p, [2, 5]);
        let again = softmax(column);
        //~                 ^^^^^^ meaning
        let none = cross_entropy(logits(x, param = "other"), label);
        //~                      ^^^^^^^^^^^^^^^^^^^^^^^^^^ meaning
        let q = fc(x, 10, act = sigmoid);
        let sigmoids = sigmoid_cross_entropy_with_logits(q, y);
        //~                                              ^ meaning
        let tangents = bce_loss(fc(x, 10, act = tanh), y);
        //~                     ^^^^^^^^^^^^^^^^^^^^^ meaning
        let chances = kldiv_loss(p, y);
        //~                      ^ meaning
        let logarithms = cross_entropy(log_softmax(logits(x, param = "third")), label);
        //~                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ meaning
        let right = cross_entropy(p, label) + softmax_with_cross_entropy(identity(p), label);
        let also = kldiv_loss(log(p), y) + bce_loss(q, y);
        mean(twice + none + logarithms + right) + mean(sigmoids + tangents + chances + also) + mean(again)
    }
}

fn main() {}
