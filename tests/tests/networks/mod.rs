//! Networks for the tests, as program texts.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of them")]

use paddle::core::text;
use paddle::{Dynamic, Network, Row};

pub fn network<R: Row + 'static>(text: &str) -> Network<Dynamic<R>> {
    Network::from_program(text::parse(text).unwrap()).unwrap()
}

/// `mean(square(x · w + b - y))`, and the mean of the prediction as a metric.
pub const LINE: &str = "program {
  rows _
  parameter w: f32[3, 1] = fill_constant(value=0.0)
  parameter b: f32[1] = fill_constant(value=0.0)
  block 0 (x: f32[_, 3], y: f32[_, 1]) {
    product: f32[_, 1] = matmul_v2(x, w)
    price: f32[_, 1] = elementwise_add(product, b)
    error: f32[_, 1] = elementwise_sub(price, y)
    square: f32[_, 1] = square(error)
    cost: f32[] = reduce_mean(square)
    average: f32[] = reduce_mean(price)
    return cost, average
  }
}";

/// The prediction of [`LINE`] alone.
pub const LINE_PRICE: &str = "program {
  rows _
  parameter w: f32[3, 1] = fill_constant(value=0.0)
  parameter b: f32[1] = fill_constant(value=0.0)
  block 0 (x: f32[_, 3]) {
    product: f32[_, 1] = matmul_v2(x, w)
    price: f32[_, 1] = elementwise_add(product, b)
    return price
  }
}";

/// Networks whose sizes no vector and no tile divides.
#[paddle::attribute::network]
pub mod awkward {
    /// Two hidden layers, and softmax cross-entropy of class ids.
    pub fn mlp(x: Tensor<f32, _, 37>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        let hidden = fc(x, 71, act = relu);
        let deep = fc(hidden, 45, act = tanh);
        let logits = fc(deep, 7);
        mean(softmax_with_cross_entropy(logits, y))
    }

    /// Sequences of different lengths, a layer for each token.
    pub fn ragged(a: Seq<Tensor<f32, 5>>, b: Seq<Tensor<f32, 5>>) -> Tensor<f32> {
        let (a, b) = (fc(a, 70, param = "token", act = tanh), fc(b, 70, param = "token", act = tanh));
        let nearest = sequence_pool(a, max) * sequence_pool(b, average);
        mean(square(fc(nearest + sequence_pool(a, sqrt) - sequence_pool(b, last), 7)))
    }

    /// A branch per row, both sides with parameters, then a loop of as many rounds as is fed.
    pub fn control(x: Tensor<f32, _, 13>, switch: Tensor<f32, _, 1>, rounds: Tensor<i64>) -> Tensor<f32> {
        let mut h = if switch > 0.5 { fc(x, 13, act = tanh, param = "yes") } else { fc(x, 13, param = "no") };
        let mut i = 0;
        while i < rounds {
            h = fc(h, 13, act = tanh, param = "round");
            i += 1;
        }
        mean(square(h))
    }
}
