//! `linear_chain_crf` and its gradient.

use std::ops::Range;

use paddle_core::ops::{LinearChainCrf, LinearChainCrfGrad};
use paddle_core::plan::KernelError;

use super::Evaluate;
use super::softmax::{log_normalise, log_sum_exp, normalise};
use crate::messages;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::{offsets, sequences};
use crate::reference::values::Values;

/// The weights of transitions.
struct Transitions {
    labels: usize,
    all: Vec<f64>,
}

impl Transitions {
    fn start(&self, to: usize) -> f64 {
        self.all[to]
    }

    fn stop(&self, from: usize) -> f64 {
        self.all[self.labels + from]
    }

    /// The index of the weight from one label to another.
    fn place(&self, from: usize, to: usize) -> usize {
        (2 + from) * self.labels + to
    }

    fn weight(&self, from: usize, to: usize) -> f64 {
        self.all[self.place(from, to)]
    }

    /// For a label of a token, the scores by way of each label of the previous token.
    fn reached(&self, before: &[f64], to: usize) -> Vec<f64> {
        before.iter().enumerate().map(|(from, before)| before + self.weight(from, to)).collect()
    }
}

/// The operands that the operator and its gradient share.
struct Operands {
    transitions: Transitions,
    /// The tokens of each sequence.
    sequences: Vec<Range<usize>>,
    /// The labels of the tokens.
    label: Vec<usize>,
}

impl Operands {
    /// Reads the operands. The offsets are operands `own` and the next one.
    fn read(call: &Call<'_>, own: usize) -> Result<Self, KernelError> {
        let (tokens, labels) = (call.shape(0)[0], call.shape(1)[1]);
        messages::same_lengths(&offsets(call, own, tokens), &offsets(call, own + 1, call.shape(2)[0]))?;
        let label = call.numbers(2);
        if let Some(at) = label.iter().position(|id| !(0..labels as i64).contains(id)) {
            return Err(messages::class_out_of_range(label[at], at, labels));
        }
        Ok(Operands {
            transitions: Transitions { labels, all: call.read(1).floats() },
            sequences: sequences(call, own, tokens),
            label: label.into_iter().map(|id| id as usize).collect(),
        })
    }
}

impl Evaluate for LinearChainCrf {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let Operands { transitions, sequences, label } = Operands::read(call, 3)?;
        let (emission, labels) = (call.read(0).floats(), transitions.labels);
        let mut alpha = vec![0.0; emission.len()];
        let mut costs = Vec::new();
        for tokens in sequences {
            // The log-probability of each label of a token, the logarithm of the sum over all labels of all tokens so
            // far, and the score of the given labels.
            let mut before: Vec<f64> = Vec::new();
            let (mut total, mut score) = (0.0, 0.0);
            for t in tokens.clone() {
                let emission = &emission[t * labels..][..labels];
                let is_first = t == tokens.start;
                let next = |to: usize| match is_first {
                    true => transitions.start(to) + emission[to],
                    false => log_sum_exp(&transitions.reached(&before, to)) + emission[to],
                };
                let next: Vec<f64> = (0..labels).map(next).collect();
                total += log_sum_exp(&next);
                before = log_normalise(&next);
                alpha[t * labels..][..labels].copy_from_slice(&before);
                let step = if is_first {
                    transitions.start(label[t])
                } else {
                    transitions.weight(label[t - 1], label[t])
                };
                score += step + emission[label[t]];
            }
            costs.push(match tokens.clone().last() {
                Some(last) => {
                    let ends: Vec<f64> = before
                        .iter()
                        .enumerate()
                        .map(|(from, before)| before + transitions.stop(from))
                        .collect();
                    total + log_sum_exp(&ends) - (score + transitions.stop(label[last]))
                }
                None => 0.0,
            });
        }
        Ok(vec![Values::round(call.output_dtype(0), alpha), Values::round(call.output_dtype(1), costs)])
    }
}

impl Evaluate for LinearChainCrfGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let Operands { transitions, sequences, label } = Operands::read(call, 4)?;
        let (alpha, grad, labels) = (call.read(0).floats(), call.read(3).floats(), transitions.labels);
        let mut of_emission = vec![0.0; alpha.len()];
        let mut of_transition = vec![0.0; transitions.all.len()];
        for (sequence, tokens) in sequences.into_iter().enumerate() {
            let (Some(last), grad) = (tokens.clone().last(), grad[sequence]) else { continue };
            let alpha = |t: usize| &alpha[t * labels..][..labels];
            let ends: Vec<f64> =
                alpha(last).iter().enumerate().map(|(from, alpha)| alpha + transitions.stop(from)).collect();
            // The probability of each label of the token.
            let mut marginal = normalise(&ends);
            for from in 0..labels {
                let is = f64::from(u8::from(from == label[last]));
                of_transition[labels + from] += grad * (marginal[from] - is);
            }
            for t in tokens.clone().rev() {
                for to in 0..labels {
                    let is = f64::from(u8::from(to == label[t]));
                    of_emission[t * labels + to] = grad * (marginal[to] - is);
                }
                if t == tokens.start {
                    continue;
                }
                let mut previous = vec![0.0; labels];
                for (to, probability) in marginal.iter().enumerate() {
                    let given = normalise(&transitions.reached(alpha(t - 1), to));
                    for (from, given) in given.iter().enumerate() {
                        previous[from] += probability * given;
                        of_transition[transitions.place(from, to)] += grad * probability * given;
                    }
                }
                of_transition[transitions.place(label[t - 1], label[t])] -= grad;
                marginal = previous;
            }
            for to in 0..labels {
                let is = f64::from(u8::from(to == label[tokens.start]));
                of_transition[to] += grad * (marginal[to] - is);
            }
        }
        let dtypes = [call.output_dtype(0), call.output_dtype(1)];
        Ok(vec![Values::round(dtypes[0], of_emission), Values::round(dtypes[1], of_transition)])
    }
}
