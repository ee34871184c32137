//! `warpctc`.

use paddle_core::ops::WarpCtc;

use super::Evaluate;
use super::softmax::{log_normalise, log_sum_exp, normalise};
use crate::messages;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::sequences;
use crate::reference::values::Values;

/// A sequence, and the labels as which its tokens are to be read.
struct Reading {
    /// `ln softmax` of each token.
    logs: Vec<Vec<f64>>,
    /// The labels with blanks between, before and behind them.
    states: Vec<usize>,
    blank: usize,
}

impl Reading {
    /// The states from which a state can be reached.
    fn before(&self, state: usize) -> Vec<usize> {
        let is_other =
            |from: usize| self.states[state] != self.blank && self.states[from] != self.states[state];
        let mut from = vec![state];
        from.extend(state.checked_sub(1));
        from.extend(state.checked_sub(2).filter(|&from| is_other(from)));
        from
    }

    /// For each token, the logarithms of the probabilities of the states given the tokens up to it, up to a factor.
    /// Also the logarithm of the product of these factors.
    fn to(&self) -> (Vec<Vec<f64>>, f64) {
        let (mut all, mut total): (Vec<Vec<f64>>, _) = (Vec::new(), 0.0);
        for log in &self.logs {
            let ways = |state: usize| match all.last() {
                None if state < 2 => 0.0,
                None => f64::NEG_INFINITY,
                Some(before) => {
                    sum(&self.before(state).into_iter().map(|from| before[from]).collect::<Vec<_>>())
                }
            };
            let row: Vec<f64> =
                (0..self.states.len()).map(|state| ways(state) + log[self.states[state]]).collect();
            total += log_sum_exp(&row);
            all.push(log_normalise(&row));
        }
        (all, total)
    }

    /// For each token, the logarithms of the probabilities of the later tokens given each state, up to a factor.
    fn onward(&self) -> Vec<Vec<f64>> {
        let states = self.states.len();
        let mut all: Vec<Vec<f64>> = Vec::new();
        for t in (0..self.logs.len()).rev() {
            let ways = |state: usize| match all.last() {
                None if state + 2 >= states => 0.0,
                None => f64::NEG_INFINITY,
                Some(behind) => {
                    let to = (state..states.min(state + 3)).filter(|&to| self.before(to).contains(&state));
                    let log = &self.logs[t + 1];
                    sum(&to.map(|to| behind[to] + log[self.states[to]]).collect::<Vec<_>>())
                }
            };
            let row: Vec<f64> = (0..states).map(ways).collect();
            all.push(log_normalise(&row));
        }
        all.reverse();
        all
    }
}

/// `ln Σ exp x`, if all terms may be impossible.
fn sum(x: &[f64]) -> f64 {
    if x.iter().all(|&x| x == f64::NEG_INFINITY) { f64::NEG_INFINITY } else { log_sum_exp(x) }
}

impl Evaluate for WarpCtc {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (logits, shape) = (call.read(0).floats(), call.shape(0));
        let (classes, blank, label) = (shape[1], self.blank as usize, call.numbers(1));
        messages::check_ctc_labels(&label, classes, blank)?;
        let label: Vec<usize> = label.into_iter().map(|id| id as usize).collect();
        let mut grad = vec![0.0; logits.len()];
        let mut losses = Vec::new();
        let all = sequences(call, 2, shape[0]).into_iter().zip(sequences(call, 3, call.shape(1)[0]));
        for (tokens, labels) in all {
            let label = &label[labels];
            let repeated = label.windows(2).filter(|pair| pair[0] == pair[1]).count();
            if tokens.is_empty() || label.len() + repeated > tokens.len() {
                losses.push(0.0);
                continue;
            }
            let logs =
                tokens.clone().map(|token| log_normalise(&logits[token * classes..][..classes])).collect();
            let states = label.iter().flat_map(|&label| [blank, label]).chain([blank]).collect();
            let reading = Reading { logs, states, blank };
            let ((to, total), onward) = (reading.to(), reading.onward());
            let last = to.last().expect("there is a token");
            losses.push(-(total + sum(&last[last.len().saturating_sub(2)..])));
            for (t, token) in tokens.enumerate() {
                let grad = &mut grad[token * classes..][..classes];
                grad.iter_mut().zip(&reading.logs[t]).for_each(|(grad, log)| *grad = log.exp());
                let both: Vec<f64> = to[t].iter().zip(&onward[t]).map(|(to, onward)| to + onward).collect();
                reading.states.iter().zip(normalise(&both)).for_each(|(&class, is)| grad[class] -= is);
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), losses), Values::round(call.output_dtype(1), grad)])
    }
}
