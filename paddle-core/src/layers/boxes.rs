//! Layers that choose among boxes: `non_max_suppression`, `decayed_scores`.

use super::Call;
use crate::ops::{DecayedScores, NonMaxSuppression};
use crate::program::{BuildError, VarId};

/// Passes the layers of boxes to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_box_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Scores of boxes that are lower the more better ones overlap, `[_, classes, M]`; no box has to be left out: Wang
            /// et al., "SOLOv2" (2020). For a box that has the overlap `o` with a better one, and for the largest overlap `m`
            /// of that one with those before it, the factor is `(1 - o) / (1 - m)`, or `exp(sigma (m² - o²))`; the least of
            /// them counts.
            decayed_scores(boxes: Value "The corners of each box, `x1, y1, x2, y2`: `[_, M, 4]`.",
                           scores: Value "A score of each box for each class: `[_, classes, M]`.";
                   score_threshold: Number = 0.1 "Boxes are considered whose score is above this.",
                   least: Number = 0.0 "The least result, and that of boxes that are not considered.",
                   candidates: Int = -1 "The most boxes of a class that are considered, those with the highest scores; -1 for all.",
                   gaussian: Flag = false "Whether factors are exponentials.",
                   sigma: Number = 2.0 "How fast exponentials fall.",
                   normalized: Flag = true "Whether `x2, y2` is the first point outside of a box, and not the last pixel within.")
                => decayed_scores;

            /// The boxes of each class that are kept: in the order of their scores, a box is kept unless it overlaps one that
            /// was kept before it. The result is i64 `[_, classes, K]`, the numbers of the boxes that are kept, and -1 in the
            /// places behind them; `K` is the least of `M`, `candidates` and `most`. The overlap of two boxes is the area that
            /// they share, divided by the area that at least one of them covers.
            non_max_suppression(boxes: Value "The corners of each box, `x1, y1, x2, y2`: `[_, M, 4]`.",
                                scores: Value "A score of each box for each class: `[_, classes, M]`.";
                   score_threshold: Number = 0.1 "Boxes are considered whose score is above this.",
                   overlap_threshold: Number = 0.3 "Boxes whose overlap is above this are not kept both.",
                   eta: Number = 1.0 "While `overlap_threshold` is above 0.5, it is multiplied by this with each box that is kept.",
                   candidates: Int = -1 "The most boxes of a class that are considered, those with the highest scores; -1 for all.",
                   most: Int = -1 "The most boxes of a class that are kept; -1 for all.",
                   normalized: Flag = true "Whether `x2, y2` is the first point outside of a box, and not the last pixel within.",
                   empty_overlap: Flag = true "Whether boxes without an area overlap each other.")
                => non_max_suppression;
        }
    };
}

with_box_layers!(layers);

fn decayed_scores(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("boxes")?, call.value("scores")?];
    let op = DecayedScores {
        score_threshold: call.number("score_threshold")?,
        least: call.number("least")?,
        candidates: call.int("candidates")?,
        gaussian: call.flag("gaussian")?,
        sigma: call.number("sigma")?,
        normalized: call.flag("normalized")?,
    };
    Ok(call.emit(op, &inputs)?[0])
}

fn non_max_suppression(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("boxes")?, call.value("scores")?];
    let op = NonMaxSuppression {
        score_threshold: call.number("score_threshold")?,
        overlap_threshold: call.number("overlap_threshold")?,
        eta: call.number("eta")?,
        candidates: call.int("candidates")?,
        most: call.int("most")?,
        normalized: call.flag("normalized")?,
        empty_overlap: call.flag("empty_overlap")?,
    };
    Ok(call.emit(op, &inputs)?[0])
}
