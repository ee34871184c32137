//! `linear_chain_crf`: how improbable the labels of sequences are.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample,
    Schema, Slot, labels,
};
use crate::program::{DType, Dim, Type, VarId};

/// The negative logarithm of the probability that a conditional random field gives to the labels of each sequence.
/// Lafferty, McCallum and Pereira, "Conditional random fields", 2001.
///
/// The score of labels `y` of `n` tokens is `start[y₀] + Σₜ Emission[t, yₜ] + Σₜ weight[yₜ₋₁, yₜ] + stop[yₙ₋₁]`, and their
/// probability `exp score(y) / Σ exp score(·)`, over all labels that the tokens could have. A sequence without tokens
/// gives 0.
///
/// `Emission`: floating point `[tokens, K]`; `Transition`: `[K + 2, K]`, of which row 0 is `start`, row 1 is `stop`, and
/// the others are `weight`; `Label`: i64 ids, `[_]` or `[_, 1]`, of sequences of the same rows. Sequences of different lengths
/// and ids out of range are errors at run time. `LogLikelihood`: `[P, 1]`. No gradient passes to labels.
///
/// `Alpha`, `[tokens, K]`, is what its gradient needs: `ln p(yₜ = k)` given the tokens to `t`, not those behind it.
/// Everything is computed in logarithms, so that no score is too high or too low.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearChainCrf;

/// Gradients of [`LinearChainCrf`] with respect to the emissions and the transitions.
///
/// A label is as probable as it is together with each of the next token's: `p(yₜ₋₁ = j, yₜ = i) = p(yₜ = i) · q(j | i)`, where
/// `q(j | i) ∝ exp(Alpha[t - 1, j] + weight[j, i])`. What is added up from the last token on are these probabilities, less 1
/// for the labels that there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearChainCrfGrad;

attributes!(LinearChainCrf {});
attributes!(LinearChainCrfGrad {});

/// Tokens have one number per label, and there are transitions between all labels.
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
