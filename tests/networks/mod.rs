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

/// Two hidden layers of sizes that no vector or tile divides, and softmax cross-entropy of class ids.
pub const MLP: &str = "program {
  rows _
  parameter hidden.w: f32[37, 71] = uniform_random(min=-0.2, max=0.2)
  parameter hidden.b: f32[71] = fill_constant(value=0.0)
  parameter deep.w: f32[71, 45] = uniform_random(min=-0.2, max=0.2)
  parameter deep.b: f32[45] = fill_constant(value=0.0)
  parameter logits.w: f32[45, 7] = uniform_random(min=-0.2, max=0.2)
  parameter logits.b: f32[7] = fill_constant(value=0.0)
  block 0 (x: f32[_, 37], y: i64[_, 1]) {
    m1: f32[_, 71] = matmul_v2(x, hidden.w)
    a1: f32[_, 71] = elementwise_add(m1, hidden.b)
    hidden: f32[_, 71] = relu(a1)
    m2: f32[_, 45] = matmul_v2(hidden, deep.w)
    a2: f32[_, 45] = elementwise_add(m2, deep.b)
    deep: f32[_, 45] = tanh(a2)
    m3: f32[_, 7] = matmul_v2(deep, logits.w)
    logits: f32[_, 7] = elementwise_add(m3, logits.b)
    soft: f32[_, 7], loss: f32[_, 1] = softmax_with_cross_entropy(logits, y)
    cost: f32[] = reduce_mean(loss)
    return cost
  }
}";

/// A per-row `if` on the first column whose branches have parameters, then a `while` of as many rounds as `rounds`
/// says, then a mean of squares.
pub const CONTROL: &str = "program {
  rows _
  parameter yes.w: f32[13, 13] = uniform_random(min=-0.3, max=0.3)
  parameter no.w: f32[13, 13] = uniform_random(min=-0.3, max=0.3)
  parameter loop.w: f32[13, 13] = uniform_random(min=-0.3, max=0.3)
  block 0 (x: f32[_, 13], switch: f32[_, 1], rounds: i64[]) {
    half: f32[] = fill_constant(value=0.5)
    high: bool[_, 1] = greater_than(switch, half)
    chosen: f32[_, 13] = if(high) {
      block 1 on _.1 of _ {
        x_1: f32[_.1, 13] = gather_rows(x)
        p1: f32[_.1, 13] = matmul_v2(x_1, yes.w)
        t1: f32[_.1, 13] = tanh(p1)
        yield t1
      }
      block 2 on _.2 of _ {
        x_2: f32[_.2, 13] = gather_rows(x)
        p2: f32[_.2, 13] = matmul_v2(x_2, no.w)
        yield p2
      }
    }
    zero: i64[] = fill_constant(value=0)
    i_end: i64[], h_end: f32[_, 13] = while(zero, chosen) {
      block 3 (i: i64[], h: f32[_, 13]) {
        more: bool[] = less_than(i, rounds)
        yield more
      }
      block 4 (i_1: i64[], h_1: f32[_, 13]) {
        p3: f32[_, 13] = matmul_v2(h_1, loop.w)
        t3: f32[_, 13] = tanh(p3)
        next: i64[] = scale(i_1, bias=1.0)
        yield next, t3
      }
    }
    square: f32[_, 13] = square(h_end)
    cost: f32[] = reduce_mean(square)
    return cost
  }
}";
