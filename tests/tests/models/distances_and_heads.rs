//! Losses of distances, attention of several heads, filters along signals, and numbers that are functions of sizes.

use paddle::attribute::network;

#[network]
pub mod metric {
    fn embed(x: Tensor<f32, _, 6>) -> Tensor<f32, _, 4> {
        fc(x, 4, act = tanh, param = "embed")
    }

    /// An anchor, something like it, and something else.
    pub fn triplet(a: Tensor<f32, _, 6>, p: Tensor<f32, _, 6>, n: Tensor<f32, _, 6>) -> Tensor<f32> {
        mean(triplet_loss(embed(a), embed(p), embed(n), margin = 0.5))
    }

    /// Two, and whether they belong together.
    pub fn pair(a: Tensor<f32, _, 6>, b: Tensor<f32, _, 6>, same: Tensor<f32, _, 1>) -> Tensor<f32> {
        let alike = sigmoid(same);
        mean(contrastive_loss(embed(a), embed(b), alike))
    }
}

#[network]
pub mod attention {
    const HEADS: usize = 2;

    fn block(x: Tensor<f32, _, T, D>, causal: bool) -> Tensor<f32, _, T, D> {
        let seen = layer_norm(x + multi_head_attention(x, x, x, HEADS, causal = causal));
        layer_norm(seen + fc(fc(seen, 2 * D, axis = -1, act = relu), D, axis = -1))
    }

    /// The next token of each place.
    pub fn next(x: Tensor<f32, _, T, 8>, y: Tensor<f32, _, T, 8>) -> Tensor<f32> {
        let seen = block(block(x, true, param = "first"), false, param = "second");
        mse_loss(seen, y) + l1_loss(seen, zeros_like(y) + ones(8))
    }
}

#[network]
pub mod signals {
    /// Filters along signals, twice.
    pub fn cost(x: Tensor<f32, _, 3, 16>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let edges = conv1d(x, 4, 3, padding = 1, act = relu);
        let more = conv1d(edges, 8, 3, stride = 2, groups = 2, dilation = 2);
        mse_loss(fc(max(more, axis = 2), 2) / sqrt(2), y)
    }

    /// Filters that look back alone, and pools of two kinds.
    pub fn back(x: Tensor<f32, _, 3, 16>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let seen = conv1d(x, 4, 3, dilation = 2, causal = true, act = relu);
        let pooled = pool1d(seen, 4, kind = avg, stride = 2, padding = 1) + pool1d(seen, 2);
        mse_loss(fc(pooled, 2, param = "answer"), y)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![
        crate::model(metric::triplet()),
        crate::model(metric::pair()),
        crate::model(attention::next()),
        crate::model(signals::cost()),
        crate::model(signals::back()),
    ]
}
