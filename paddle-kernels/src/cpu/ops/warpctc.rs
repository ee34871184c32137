//! `warpctc`, forward and backward. Threads share the sequences; each sequence is computed by one thread.
//!
//! Everything is in logarithms, in double precision. The labels `a b` have the states `blank a blank b blank`. From one
//! token to the next, a reading stays in its state, or moves on by one state, or by two to another label.

use std::marker::PhantomData;

use paddle_core::ops::WarpCtc;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::{Float, double_exp as exp, double_ln as ln};
use crate::cpu::operands::Operands;
use crate::cpu::scratch::Scratch;
use crate::cpu::sequence_pieces::{Piece, Shared, share};
use crate::cpu::sum::sum;
use crate::messages::check_ctc_labels;

/// The logarithm of the probability 0. It is finite, so that differences of such logarithms are numbers too.
const NEVER: f64 = -1e300;

/// The number of parts into which sequences are cut, if there are as many. Each part has memory of its own.
const PARTS: usize = 16;

struct Ctc<T> {
    blank: usize,
    classes: Extent,
    own: Scratch<f64>,
    element: PhantomData<T>,
}

impl Compile for WarpCtc {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let [logits, label, own, of_labels] = [0, 1, 2, 3].map(|k| single.input(k));
        let (logits, label, own, of_labels) = (logits?, label?, own?, of_labels?);
        let &[_, classes] = &logits.1.shape[..] else { return single.refuse("of such logits") };
        let (dtype, blank) = (logits.1.dtype, self.blank as usize);
        let body: Box<dyn Body> = with_float!(single, dtype, T => {
            Box::new(Ctc::<T> { blank, classes, own: Scratch::default(), element: PhantomData })
        });
        let signature =
            single.signature([logits, label, own, of_labels], [single.output(0)?, single.output(1)?]);
        Ok((signature, body))
    }
}

impl<T: Float> Body for Ctc<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (blank, classes) = (self.blank, self.classes.get(operands.sizes()));
        let (reads, writes) = operands.split();
        let (logits, label) = (reads.get::<T>(0), reads.get::<i64>(1));
        let (offsets, of_labels) = (reads.get::<i64>(2), reads.get::<i64>(3));
        check_ctc_labels(label, classes, blank)?;
        let (loss, grad) = writes.two::<T, T>();
        let part = (offsets.len() - 1).div_ceil(PARTS).max(1);
        let sizes = offsets.windows(2).zip(of_labels.windows(2)).map(|(tokens, labels)| {
            Lattice::size((tokens[1] - tokens[0]) as usize, (labels[1] - labels[0]) as usize, classes)
        });
        let per_part = sizes.max().unwrap_or(0);
        let parts = (offsets.len() - 1).div_ceil(part);
        self.own.lend(parts * per_part, |own| {
            let shared = (
                Shared::of_tokens(grad, classes),
                Shared::of_sequences(loss, 1),
                Shared::of_pieces(own, per_part),
            );
            let labels = Labels { blank, all: label, offsets: of_labels };
            share(&machine.team, offsets, part, shared, &|piece| {
                losses(machine.isa, classes, labels, logits, piece);
            });
        })?;
        Ok(())
    }
}

/// The labels of all sequences.
#[derive(Clone, Copy)]
struct Labels<'a> {
    blank: usize,
    all: &'a [i64],
    offsets: &'a [i64],
}

/// The probabilities of the states for the tokens of a sequence, in logarithms.
struct Lattice<'a> {
    states: usize,
    /// For each token, the probability of the ways to each state. Two impossible states precede them.
    alpha: &'a mut [f64],
    /// For one token, the probability of the ways onward from each state. Two impossible states follow them.
    beta: &'a mut [f64],
    /// The probability of the ways onward, multiplied by that of the state itself.
    onward: &'a mut [f64],
    /// For one token, the probability of the label of each state.
    label: &'a mut [f64],
    /// 0 for a state that can be reached from the last but one, otherwise [`NEVER`].
    skip: &'a mut [f64],
    /// `ln Σ exp logit` of each token.
    normaliser: &'a mut [f64],
    /// For one token, a number for each class.
    probabilities: &'a mut [f64],
}

impl<'a> Lattice<'a> {
    fn row(labels: usize) -> usize {
        2 * labels + 1 + 2
    }

    /// The number of elements that a lattice needs.
    fn size(tokens: usize, labels: usize, classes: usize) -> usize {
        (tokens + 4) * Self::row(labels) + tokens + classes
    }

    #[inline(always)]
    fn new(own: &'a mut [f64], tokens: usize, labels: &[i64], classes: usize) -> Self {
        let row = Self::row(labels.len());
        let (normaliser, rest) = own.split_at_mut(tokens);
        let (probabilities, rest) = rest.split_at_mut(classes);
        let (alpha, rest) = rest.split_at_mut(tokens * row);
        let (beta, rest) = rest.split_at_mut(row);
        let (onward, rest) = rest.split_at_mut(row);
        let (label, rest) = rest.split_at_mut(row);
        let skip = &mut rest[..row];
        skip.fill(NEVER);
        let to_others = labels.windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]);
        to_others.for_each(|(at, _)| skip[2 * at + 3] = 0.0);
        Lattice { states: row - 2, alpha, beta, onward, label, skip, normaliser, probabilities }
    }

    /// Reads the labels' probabilities for token `t`.
    #[inline(always)]
    fn read<T: Float>(&mut self, blank: usize, labels: &[i64], logits: &[T], t: usize) {
        let normaliser = self.normaliser[t];
        let log = |class: usize| {
            let log = logits[class].double() - normaliser;
            if log < NEVER { NEVER } else { log }
        };
        self.label[..self.states].fill(log(blank));
        for (state, label) in self.label[..self.states].iter_mut().skip(1).step_by(2).zip(labels) {
            *state = log(*label as usize);
        }
    }

    /// Computes the ways to the states of token `t`, whose labels were read. The most probable one is scaled to 1; the
    /// logarithm of the scale is returned.
    #[inline(always)]
    fn forward<const FUSED: bool, T: Float>(&mut self, t: usize) -> f64 {
        let (states, row) = (self.states, self.states + 2);
        let (before, now) = self.alpha.split_at_mut(t * row);
        let now = &mut now[..row];
        if t == 0 {
            now.fill(NEVER);
            let first = states.min(2);
            now[2..2 + first].copy_from_slice(&self.label[..first]);
            return shift(&mut now[2..]);
        }
        let before = &before[(t - 1) * row..];
        now[..2].fill(NEVER);
        let ways = before[2..].iter().zip(&before[1..]).zip(before.iter().zip(&*self.skip));
        for ((now, label), ((stay, next), (other, skip))) in now[2..].iter_mut().zip(&*self.label).zip(ways) {
            *now = add_up::<FUSED, T>(*stay, *next, *other + *skip) + *label;
        }
        shift(&mut now[2..])
    }

    /// Computes the ways onward from the previous token, from those of a token whose labels were read.
    #[inline(always)]
    fn backward<const FUSED: bool, T: Float>(&mut self) {
        let states = self.states;
        self.onward[states..].fill(NEVER);
        for ((onward, beta), label) in self.onward[..states].iter_mut().zip(&*self.beta).zip(&*self.label) {
            *onward = *beta + *label;
        }
        let ways =
            self.onward.iter().zip(&self.onward[1..]).zip(self.onward[2..].iter().zip(&self.skip[2..]));
        for (beta, ((stay, next), (other, skip))) in self.beta[..states].iter_mut().zip(ways) {
            *beta = add_up::<FUSED, T>(*stay, *next, *other + *skip);
        }
        shift(&mut self.beta[..states]);
    }
}

/// Subtracts the largest number, and returns it: sums over many tokens would lose digits otherwise.
#[inline(always)]
fn shift(x: &mut [f64]) -> f64 {
    let top = x.iter().fold(f64::NEG_INFINITY, |top, x| if *x > top { *x } else { top });
    x.iter_mut().for_each(|x| *x = if *x - top < NEVER { NEVER } else { *x - top });
    top
}

/// `ln(eᵃ + eᵇ + eᶜ)`.
#[inline(always)]
fn add_up<const FUSED: bool, T: Float>(a: f64, b: f64, c: f64) -> f64 {
    let top = if a > b { a } else { b };
    let top = if c > top { c } else { top };
    let sum = exp::<FUSED, T>(a - top) + exp::<FUSED, T>(b - top) + exp::<FUSED, T>(c - top);
    top + ln::<FUSED, T>(sum)
}

/// `ln Σ exp logit`.
#[inline(always)]
fn log_sum_exp<const FUSED: bool, T: Float>(isa: Isa, logits: &[T]) -> f64 {
    const BLOCK: usize = 64;
    let larger = |top: f64, x: &T| if x.double() > top { x.double() } else { top };
    let top = logits.iter().fold(f64::NEG_INFINITY, larger);
    let mut total = 0.0;
    for x in logits.chunks(BLOCK) {
        let mut block = [0.0; BLOCK];
        block.iter_mut().zip(x).for_each(|(to, x)| *to = exp::<FUSED, T>(x.double() - top));
        total += sum(isa, &block[..x.len()]);
    }
    top + ln::<FUSED, T>(total)
}

/// The loss of a sequence, and its gradient.
#[inline(always)]
fn loss_of<const FUSED: bool, T: Float>(
    isa: Isa,
    classes: usize,
    (blank, labels): (usize, &[i64]),
    logits: &[T],
    grad: &mut [T],
    own: &mut [f64],
) -> f64 {
    let tokens = logits.len() / classes;
    let repeated = labels.windows(2).filter(|pair| pair[0] == pair[1]).count();
    if tokens == 0 || labels.len() + repeated > tokens {
        grad.fill(T::ZERO);
        return 0.0;
    }
    let mut lattice = Lattice::new(own, tokens, labels, classes);
    let (states, row) = (lattice.states, lattice.states + 2);
    let of_token = |t: usize| t * classes..(t + 1) * classes;
    let mut total = 0.0;
    for t in 0..tokens {
        let logits = &logits[of_token(t)];
        lattice.normaliser[t] = log_sum_exp::<FUSED, T>(isa, logits);
        lattice.read(blank, labels, logits, t);
        total += lattice.forward::<FUSED, T>(t);
    }
    // A reading ends with the last label, or with the blank behind it.
    let ends = &lattice.alpha[tokens * row - 2..];
    total += add_up::<FUSED, T>(ends[1], if states > 1 { ends[0] } else { NEVER }, NEVER);
    lattice.beta.fill(NEVER);
    lattice.beta[states.saturating_sub(2)..states].fill(0.0);
    for t in (0..tokens).rev() {
        let alpha = &mut lattice.alpha[t * row + 2..(t + 1) * row];
        alpha.iter_mut().zip(&*lattice.beta).for_each(|(alpha, beta)| *alpha += *beta);
        shift(alpha);
        alpha.iter_mut().for_each(|alpha| *alpha = exp::<FUSED, T>(*alpha));
        let factor = 1.0 / sum(isa, alpha);
        alpha.iter_mut().for_each(|alpha| *alpha *= factor);
        // The softmax less the probability of each label, in double precision, as both may be nearly equal.
        let (logits, probabilities) = (&logits[of_token(t)], &mut *lattice.probabilities);
        for (to, x) in probabilities.iter_mut().zip(logits) {
            *to = exp::<FUSED, T>(x.double() - lattice.normaliser[t]);
        }
        let mut blanks = 0.0;
        for k in (0..alpha.len()).step_by(2) {
            blanks += alpha[k];
        }
        probabilities[blank] -= blanks;
        for (k, label) in labels.iter().enumerate() {
            probabilities[*label as usize] -= alpha[2 * k + 1];
        }
        grad[of_token(t)].iter_mut().zip(&*probabilities).for_each(|(grad, x)| *grad = T::of(*x));
        if t > 0 {
            lattice.read(blank, labels, logits, t);
            lattice.backward::<FUSED, T>();
        }
    }
    -total
}

dispatch! {
    fn losses<const FUSED: bool, T: Float>(
        isa, classes: usize, labels: Labels<'_>, logits: &[T], piece: Piece<'_, T, T, f64>,
    ) {
        let Piece { first, offsets, a: grad, b: losses, c: own } = piece;
        let token = offsets[0] as usize;
        let of_labels = labels.offsets[first..].windows(2);
        for ((ends, of_labels), loss) in offsets.windows(2).zip(of_labels).zip(losses) {
            let (start, end) = (ends[0] as usize, ends[1] as usize);
            let read = &labels.all[of_labels[0] as usize..of_labels[1] as usize];
            let logits = &logits[start * classes..end * classes];
            let grad = &mut grad[(start - token) * classes..(end - token) * classes];
            *loss = T::of(loss_of::<FUSED, T>(isa, classes, (labels.blank, read), logits, grad, own));
        }
    }
}
