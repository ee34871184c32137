//! `linear_chain_crf`: the loss of the labels of sequences, in a conditional random field.

use super::compositions::label_chains;
use super::{
    AccuracyClass, Composition, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation,
    Sample, Schema, Slot, labels,
};
use crate::program::{BuildError, DType, Dim, Type, VarId};

/// The negative logarithm of the probability that a conditional random field gives to the labels of each sequence.
/// Lafferty, McCallum and Pereira, "Conditional random fields", 2001.
///
/// For a sequence of `n` tokens with labels `y`, the score is
/// `start[y₀] + Σₜ Emission[t, yₜ] + Σₜ weight[yₜ₋₁, yₜ] + stop[yₙ₋₁]`, and the probability is
/// `exp score(y) / Σ exp score(·)`, with the sum over all labels that the tokens could have. A sequence without tokens
/// gives 0.
///
/// `Emission`: floating point `[tokens, K]`; `Transition`: `[K + 2, K]`, with `start` as row 0, `stop` as row 1, and
/// `weight` as the others; `Label`: i64 ids, `[_]` or `[_, 1]`, in sequences of the same rows. Sequences of different
/// lengths and ids out of range are errors at run time. `LogLikelihood`: `[P, 1]`. No gradient passes to labels.
///
/// The gradient needs `Alpha`, `[tokens, K]`: `ln p(yₜ = k)` given the tokens up to `t`, but not those behind it.
/// Everything is computed in logarithms, so that no score overflows or underflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearChainCrf;

/// Gradients of [`LinearChainCrf`] with respect to the emissions and the transitions.
///
/// The probability of neighbouring labels is `p(yₜ₋₁ = j, yₜ = i) = p(yₜ = i) · q(j | i)`, with
/// `q(j | i) ∝ exp(Alpha[t - 1, j] + weight[j, i])`. From the last token on, the gradients add up these probabilities,
/// less 1 for the labels that are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearChainCrfGrad;

attributes!(LinearChainCrf {});
attributes!(LinearChainCrfGrad {});

/// Checks that tokens have one number per label, and that there are transitions between all labels.
pub(super) fn check_transition(cx: &Infer<'_>, emission: usize, transition: usize) -> Result<(), Mismatch> {
    cx.need_float(emission)?;
    let [labels] = &cx.ty(emission).dims[..] else {
        let message =
            format!("{}, but `{}` needs one number per label of each token", cx.is(emission), cx.operator);
        return Err(cx.wrong(emission, MismatchKind::Shape, message));
    };
    cx.same_dtype(emission, transition)?;
    let expected = [(labels + &Dim::from(2))?, labels.clone()];
    let wrong = || {
        let message = format!(
            "{}, but {}: `{}` needs transitions [labels + 2, labels]",
            cx.is(transition),
            cx.is(emission),
            cx.operator
        );
        cx.wrong(transition, MismatchKind::Shape, message)
    };
    if cx.ty(transition).rows.is_some() {
        return Err(wrong());
    }
    cx.need_equal_dims(&cx.ty(transition).dims, &expected, wrong)
}

impl Operation for LinearChainCrf {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "linear_chain_crf",
                doc: "-ln p(labels), of the labels of each sequence in a conditional random field.",
                inputs: &[
                    Slot::of("Emission").with_offsets(),
                    Slot::of("Transition"),
                    Slot::of("Label").with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Alpha").intermediate(), Slot::of("LogLikelihood")],
                accuracy: AccuracyClass::Accumulating("sums of exponentials"),
                effects: Effects::OF_SEQUENCES,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_sequences(0)?;
        check_transition(cx, 0, 1)?;
        let rows = labels::check_sequences(cx, 0, 2)?;
        let emission = cx.ty(0);
        let cost = Type { rows: Some(rows), ..Type::new(emission.dtype, [1]) };
        Ok(vec![emission.clone(), cost])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.output(0), g.input(1), g.input(2), g.grad(1)?];
        let grads = g.emit_all(LinearChainCrfGrad, &inputs)?;
        Ok(vec![Some(grads[0]), Some(grads[1]), None])
    }

    fn written_out(&self, c: &mut Composition<'_>) -> Result<Option<VarId>, BuildError> {
        let inputs = std::array::from_fn(|k| c.input(k));
        label_chains::cost(c, inputs)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |lengths: &[usize], labels: i64, dims: &[i64]| {
            let emission = Sample::of(LinearChainCrf).sequences(lengths, &[labels]);
            let transition = emission.dense(&[labels + 2, labels]);
            transition.sequences(lengths, dims).dtype(DType::I64).within(0.0, labels as f64)
        };
        let with_own_labels = Sample::of(LinearChainCrf).sequences(&[2, 3], &[2]).dense(&[4, 2]);
        vec![
            of(&[2, 1, 4], 3, &[1]),
            of(&[0, 3, 0, 0, 1, 0], 2, &[]),
            of(&[5], 1, &[1]),
            of(&[6, 2], 5, &[]),
            of(&[0, 0], 2, &[1]),
            of(&[], 4, &[]),
            with_own_labels.tokens_of(0, &[]).dtype(DType::I64).within(0.0, 2.0),
        ]
    }
}

impl Operation for LinearChainCrfGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "linear_chain_crf_grad",
                doc: "Gradients of `linear_chain_crf`.",
                inputs: &[
                    Slot::of("Alpha").with_offsets(),
                    Slot::of("Transition"),
                    Slot::of("Label").with_offsets(),
                    Slot::of("LogLikelihood@GRAD"),
                ],
                outputs: &[Slot::of("Emission@GRAD"), Slot::of("Transition@GRAD")],
                accuracy: AccuracyClass::Accumulating("sums of probabilities"),
                effects: Effects::PURE,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_sequences(0)?;
        check_transition(cx, 0, 1)?;
        let rows = labels::check_sequences(cx, 0, 2)?;
        cx.need_type(3, &Type { rows: Some(rows), ..Type::new(cx.ty(0).dtype, [1]) })?;
        Ok(vec![cx.ty(0).clone(), cx.ty(1).clone()])
    }
}
