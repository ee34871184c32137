//! Modules that import from modules that import: sub-networks, sizes, numbers and names of parameters.

use paddle::attribute::network;

/// What everything is made of.
#[network]
pub mod base {
    pub(crate) const HIDDEN: usize = 6;
    pub(crate) const SCALES: [f32; 2] = [0.5, 2.0];
    pub(crate) const NAME: &str = "shared";
    const INNER: usize = HIDDEN * 2;

    /// Others do not see it, and use it all the same.
    fn projection(x: _, size: usize) -> _ {
        fc(x, size)
    }

    pub fn tower(x: Tensor<f32, _, D>, #[default = INNER] size: usize) -> _ {
        relu(projection(x, size))
    }

    pub fn plain(x: Tensor<f32, _, 4>) -> Tensor<f32, _, HIDDEN> {
        projection(x, HIDDEN)
    }

    /// Several values, for others alone.
    pub fn pair(x: _, #[default = tanh] act: Activation) -> (_, _) {
        let a = fc(x, 2, act = act);
        (a, -a)
    }
}

/// What is made of it.
#[network]
pub mod middle {
    use super::base::{NAME, SCALES, pair, tower as floor};

    pub fn stacked(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 2> {
        let (a, b) = pair(x, act = relu);
        let mut h = floor(x);
        for (i, scale) in [(0, SCALES[0]), (1, SCALES[1])] {
            h = floor(h * scale, size = 3, param = "floor{i}");
        }
        fc([a, b, h], 2, param = NAME)
    }
}

/// What is trained.
#[network]
pub mod top {
    use super::base::{HIDDEN, plain};
    use super::middle::stacked;

    const OUT: usize = HIDDEN / 3;

    pub fn cost(x: Tensor<f32, _, 4>, y: Tensor<f32, _, OUT>) -> (Tensor<f32>, Tensor<f32>) {
        let (first, second) = (stacked(x), fc(plain(x), OUT));
        let gap = mean(abs(first - second));
        (mean(square(first + second - y)), gap)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let cost = crate::model(top::cost());
    assert!(cost.parameter_names().contains(&"shared.w2"), "{:?}", cost.parameter_names());
    vec![cost, crate::model(middle::stacked()), crate::model(base::plain())]
}
