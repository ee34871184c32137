//! Rows that are not those of the batch: the parts of a parameter, a list whose length a run decides, and boxes, the best of which are kept.

use crate::model::Model;

#[paddle::attribute::network]
mod model {
    const BOXES: usize = 6;

    /// Two halves of a matrix, each in a branch and a loop of its own.
    pub fn halves(x: Tensor<f32, _, 4>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let mut half = own_rows(parameter([2, 2], param = "half"));
        let mut n = 0;
        while sum(square(half), axis = 1) < 2.0 && n < 4 {
            half = 1.2 * half + 0.1 * own_rows(parameter([2, 2], param = "step", init = constant(0.5)));
            n += 1;
        }
        let bent = if sum(half, axis = 1) > 0.0 { half } else { -0.5 * half };
        mean(square(matmul(fc(x, 2), all_rows(bent)) - y))
    }

    /// The rows of the batch with a positive sum, as a list of unknown length, and a row for each two of them.
    pub fn chosen(x: Tensor<f32, _, 3>) -> _ {
        let _: Tensor<i64, N> = all_rows(row_numbers(x));
        let all = sequence(own_rows(reshape(all_rows(x), [1, N, 3])));
        let kept = sequence_filter(all, sum(all, axis = 1) > 0.0);
        let _: Tensor<i64, K> = all_rows(row_numbers(kept));
        let places = sequence_unpad(own_rows(reshape(arange(N), [1, N])), kept);
        let mut h = own_rows(zeros([1, 3]));
        let path = for row in kept {
            h = 0.5 * h + row;
            h
        };
        let most = f32::NEG_INFINITY * (ones([1]) - max(zeros([1 + K]), axis = 0, keep_dim = true));
        (all_rows(path), all_rows(places), matmul(x, all_rows(kept), transpose_y = true), isinf(most), sum(ones(K)))
    }

    fn around(points: _) -> _ {
        concat([points - 0.4, points + std::f32::consts::FRAC_PI_8], axis = 2)
    }

    /// Boxes around points: those of two classes that are kept.
    pub fn boxes(points: Tensor<f32, _, BOXES, 2>, scores: Tensor<f32, _, 2, BOXES>) -> _ {
        let boxes = around(points);
        let kept = non_max_suppression(boxes, scores, score_threshold = 0.2, overlap_threshold = 0.4, most = 3);
        let found = gather(boxes, reshape(maximum(kept, 0), [6]), axis = 1);
        let present = reshape(kept >= 0, [6, 1]);
        (kept, select(present, found, -1.0))
    }

    /// Those that are kept of any number of boxes.
    pub fn corners(points: Tensor<f32, _, M, 2>, scores: Tensor<f32, _, 2, M>) -> _ {
        let boxes = around(points);
        let kept = non_max_suppression(boxes, scores, score_threshold = 0.2, candidates = 4);
        gather(boxes, reshape(maximum(kept, 0), [8]), axis = 1)
    }

    /// Their scores, if no box is left out.
    pub fn decayed(points: Tensor<f32, _, BOXES, 2>, scores: Tensor<f32, _, 2, BOXES>) -> _ {
        decayed_scores(around(points), scores, gaussian = true, score_threshold = 0.2)
    }
}

pub(crate) fn networks() -> Vec<Model> {
    let [halves, chosen] = [crate::model(model::halves()), crate::model(model::chosen())];
    let [boxes, corners] = [crate::model(model::boxes()), crate::model(model::corners())];
    vec![halves, chosen, boxes, corners, crate::model(model::decayed())]
}
