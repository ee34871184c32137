//! The losses of the table, and those of the library, each as a metric of one network.

use paddle::attribute::network;

/// Scores, probabilities and directions.
#[network]
pub mod losses {
    fn score(x: Tensor<f32, _, 6>) -> Tensor<f32, _, 3> {
        fc(x, 3, act = stanh, param = "score")
    }

    /// Of scores, for labels of any size.
    pub fn distances(x: Tensor<f32, _, 6>, y: Tensor<f32, _, 3>) -> _ {
        let score = score(x);
        let huber = mean(huber_loss(score, y, 0.5));
        let smooth = mean(smooth_l1(score, y, sigma = 2.0));
        let squared = mean(squared_l2_distance(score, y));
        let angle = mean(cos_sim(score, y));
        let fixed = mean(huber_loss(stop_gradient(score), y, 1.0));
        (huber + smooth + squared - angle + fixed, huber, smooth, squared, angle)
    }

    /// Of scores and probabilities, for truth values.
    pub fn chances(x: Tensor<f32, _, 6>, y: Tensor<f32, _, 3>) -> _ {
        let label = cast(y > 0.0, f32);
        let score = score(x);
        let hinge = mean(hinge_loss(score, label));
        let modified = mean(modified_huber_loss(score, label));
        let logits = mean(sigmoid_cross_entropy_with_logits(score, label, ignore_index = 2));
        let chance = sigmoid(score);
        let binary = mean(bce_loss(chance, label));
        let logs = mean(log_loss(chance, label, epsilon = 0.001));
        let smoothed = mean(kldiv_loss(log(softmax(score)), label_smooth(softmax(y), epsilon = 0.2)));
        (hinge + modified + logits + binary + logs + smoothed, hinge, modified, logits, binary, logs)
    }

    /// Of the order of two scores.
    pub fn order(x: Tensor<f32, _, 6>, y: Tensor<f32, _, 6>) -> Tensor<f32> {
        let (left, right) = (score(x), score(y));
        let side = sign(sum(x - y, axis = 1, keep_dim = true));
        mean(margin_rank_loss(side, left, right)) + mean(margin_rank_loss(-side, left, right, margin = 0.3))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![
        crate::model(losses::distances()),
        crate::model(losses::chances()),
        crate::model(losses::order()),
    ]
}
