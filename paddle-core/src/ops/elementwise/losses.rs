//! The table of losses of a prediction and a label.

/// Passes the table of losses to a macro, with tokens in front of it: `with_losses!(callback (front))`.
///
/// A row is the whole definition of a loss, as in [`with_functions!`](crate::with_functions). In order:
///
/// * documentation, in which `x` is the prediction;
/// * PaddlePaddle's name of the operator, which is also the layer's, and the name of its kind;
/// * PaddlePaddle's names of the slots of prediction, label and result;
/// * its attributes, at most three, which a call of the layer gives by position or, after the `;`, by name;
/// * the accuracy class of the loss, and that of its gradient;
/// * `in`: the ranges from which samples of the prediction and of the label are drawn;
/// * the formula, and the `slope`: the derivative with respect to the prediction. With `opposite`, the label's gradient
///   is the opposite of the prediction's, as for any function of the difference; otherwise the label gets none.
#[macro_export]
macro_rules! with_losses {
    ($($callback:ident)::+ $(($($front:tt)*))?) => {
        $($callback)::+! {
            $($($front)*)?
            /// The cross-entropy of a label and a probability: `-label · ln x - (1 - label) · ln(1 - x)`, with logarithms
            /// of at least -100.
            bce_loss BinaryCrossEntropy X Label Out(;) [ACCUMULATING, ACCUMULATING]
                in (0.1, 0.9), (0.0, 1.0);
                |x, label| -(label * x.ln().max(T::of(-100.0)) + (T::of(1.0) - label) * (-x).ln_1p().max(T::of(-100.0))),
                slope |x, label| (x - label) / (x * (T::of(1.0) - x)).max(T::of(1e-12));

            /// `max(0, 1 - (2 label - 1) x)`: labels are 0 and 1.
            hinge_loss HingeLoss Logits Labels Loss(;) [ACCUMULATING, ACCUMULATING] in (-2.0, 2.0), (0.0, 1.0);
                |x, label| (T::of(1.0) - (label + label - T::of(1.0)) * x).max(T::of(0.0)),
                slope |x, label| {
                    let side = label + label - T::of(1.0);
                    T::select((T::of(1.0) - side * x).above(T::of(0.0)), -side, T::of(0.0))
                };

            /// `r² / 2` where `r = label - x` is between `-delta` and `delta`, and `delta (|r| - delta / 2)` elsewhere:
            /// Huber (1964). The label gets a gradient too.
            huber_loss HuberLoss X Y Out(delta: Number = 1.0 "From where on it is linear.";) [ACCUMULATING, ACCUMULATING]
                in (-2.0, 2.0), (-2.0, 2.0);
                |x, label| {
                    let r = label - x;
                    let bounded = r.max(-delta).min(delta);
                    bounded * (r - T::of(0.5) * bounded)
                },
                slope |x, label| (x - label).max(-delta).min(delta), opposite;

            /// The Kullback-Leibler divergence between labels and a distribution whose logarithm is `x`, element by element:
            /// `label (ln label - x)`; 0 where the label is not above 0.
            kldiv_loss KlDivergence X Target Loss(;) [ACCUMULATING, EXACT] in (-2.0, 0.0), (0.1, 1.0);
                |x, label| T::select(label.above(T::of(0.0)), label * (label.ln() - x), T::of(0.0)),
                slope |_x, label| T::select(label.above(T::of(0.0)), -label, T::of(0.0));

            /// The cross-entropy of a label and a probability, each with `epsilon` added:
            /// `-label · ln(x + epsilon) - (1 - label) · ln(1 - x + epsilon)`.
            log_loss LogLoss Predicted Labels Loss(; epsilon: Number = 0.0001 "What is added to each probability.")
                [ACCUMULATING, ACCUMULATING] in (0.1, 0.9), (0.0, 1.0);
                |x, label| -label * (x + epsilon).ln() - (T::of(1.0) - label) * (T::of(1.0) - x + epsilon).ln(),
                slope |x, label|
                    (T::of(1.0) - label) / (T::of(1.0) - x + epsilon) - label / (x + epsilon);

            /// With `z = (2 label - 1) x`: `-4 z` where `z` is below -1, `(1 - z)²` up to 1, and 0 beyond; labels are 0
            /// and 1. Zhang (2004).
            modified_huber_loss ModifiedHuberLoss X Y Out(;) [ACCUMULATING, ACCUMULATING] in (-2.0, 2.0), (0.0, 1.0);
                |x, label| {
                    let z = (label + label - T::of(1.0)) * x;
                    let rest = (T::of(1.0) - z).max(T::of(0.0));
                    T::select(z.below(T::of(-1.0)), T::of(-4.0) * z, rest * rest)
                },
                slope |x, label| {
                    let side = label + label - T::of(1.0);
                    let rest = (T::of(1.0) - side * x).max(T::of(0.0));
                    side * T::select((side * x).below(T::of(-1.0)), T::of(-4.0), T::of(-2.0) * rest)
                };

            /// The cross-entropy of a label and the probability `sigmoid(x)`: `ln(1 + eˣ) - label · x`; 0 where the label,
            /// without its fraction, is `ignore_index`.
            sigmoid_cross_entropy_with_logits SigmoidCrossEntropy X Label Out(;
                ignore_index: Int = -100 "The label of what does not count.")
                [ACCUMULATING, ACCUMULATING] in (-8.0, 8.0), (0.0, 2.0);
                |x, label| T::select(label.trunc().equals(ignore_index), T::of(0.0), x.softplus() - label * x),
                slope |x, label| T::select(label.trunc().equals(ignore_index), T::of(0.0), x.sigmoid() - label);
        }
    };
}
