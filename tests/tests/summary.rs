//! The table of a model, as users print it.

use paddle::attribute::network;
use paddle::{Options, summary, summary_with};

#[network]
mod pair {
    fn tower(x: _) -> _ {
        let hidden = fc(x, 8, act = relu, param = "tower");
        batch_norm(hidden, param = "norm")
    }

    pub fn cost(x: Tensor<f32, _, 4>, y: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let wide = tower(x);
        let logits = if mean(wide) < 0.5 { fc(wide, 3, param = "few") } else { fc(wide, 3, param = "many") };
        let cost = mean(softmax_with_cross_entropy(logits, y));
        (cost, accuracy(softmax(logits), y))
    }

    pub fn vector(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 8> {
        tower(x)
    }
}

#[test]
fn two_networks_that_share_parameters() {
    let summary = summary((&pair::cost(), &pair::vector())).unwrap();
    let expected = "\
cost
  x                             f32[_, 4]  input
  y                             i64[_, 1]  input
  hidden                        f32[_, 8]  matmul_v2 elementwise_add relu  tower.w tower.b
  wide                          f32[_, 8]  batch_norm                      norm.scale norm.shift norm.mean norm.variance
  reduce_mean                   f32[]      reduce_mean
  less_than                     bool[]     less_than
  logits                        f32[_, 3]  if
    elementwise_add_1           f32[_, 3]  matmul_v2 elementwise_add       few.w few.b
    elementwise_add_2           f32[_, 3]  matmul_v2 elementwise_add       many.w many.b
  softmax_with_cross_entropy_1  f32[_, 1]  softmax_with_cross_entropy
  cost                          f32[]      reduce_mean
  softmax                       f32[_, 3]  softmax
  accuracy                      f32[]      top_k_v2 accuracy

vector
  x           f32[_, 4]  input
  hidden      f32[_, 8]  matmul_v2 elementwise_add relu  tower.w tower.b
  batch_norm  f32[_, 8]  batch_norm                      norm.scale norm.shift norm.mean norm.variance

  parameter      type       elements  cost     vector
  few.b          f32[3]     3         trained  -
  few.w          f32[8, 3]  24        trained  -
  many.b         f32[3]     3         trained  -
  many.w         f32[8, 3]  24        trained  -
  norm.mean      f32[8]     8         moved    used
  norm.scale     f32[8]     8         trained  used
  norm.shift     f32[8]     8         trained  used
  norm.variance  f32[8]     8         moved    used
  tower.b        f32[8]     8         trained  used
  tower.w        f32[4, 8]  32        trained  used
126 elements in 10 parameters";
    assert_eq!(summary.to_string(), expected);
    // Those that both networks have count once.
    assert_eq!(summary.elements(), (4 * 8 + 8) + 4 * 8 + 2 * (8 * 3 + 3));
}

/// Numbers from nowhere are a layer, constants are none; a network without parameters has no lines for them.
#[test]
fn noise_and_constants() {
    #[network]
    mod noise {
        pub fn noise(x: Tensor<f32, _, 2>) -> Tensor<f32, _, 2> {
            dropout(x, 0.5) * 2.0
        }
    }
    let table = summary(&noise::noise()).unwrap().to_string();
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 7, "{table}");
    assert!(lines[2].trim_start().starts_with("dropout"), "{table}");
    assert_eq!(lines[6], "0 elements in 0 parameters");
}

/// What a table says of a parameter.
fn said(table: &str, parameter: &str) -> Vec<String> {
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(parameter)).unwrap();
    line.rsplit(']').next().unwrap().split_whitespace().skip(1).map(str::to_string).collect()
}

#[test]
fn what_is_not_trained_is_not_said_to_be() {
    let (cost, vector) = (pair::cost(), pair::vector());
    let (frozen, free) = (Options::default().freeze(pair::params::norm), Options::default());
    let table = summary_with((&cost, &vector), [&frozen, &free]).unwrap().to_string();
    // Statistics, too: none is moved.
    for parameter in ["norm.scale", "norm.shift", "norm.mean", "norm.variance"] {
        assert_eq!(said(&table, parameter), ["frozen", "used"], "{parameter}");
    }
    assert_eq!(said(&table, "tower.w"), ["trained", "used"]);
    assert_eq!(said(&table, "few.w"), ["trained", "-"]);

    #[network]
    mod partly {
        pub fn cost(x: Tensor<f32, _, 4>) -> Tensor<f32> {
            let fixed = fc(x, 4, lr = 0.0);
            let slow = fc(fixed, 4, lr = 0.1);
            mean(square(fc(slow, 1)))
        }
    }
    let table = summary(&partly::cost()).unwrap().to_string();
    assert_eq!(
        ["fixed.w", "slow.w", "fc.w"].map(|name| said(&table, name)[0].clone()),
        ["used", "trained", "trained"]
    );
}
