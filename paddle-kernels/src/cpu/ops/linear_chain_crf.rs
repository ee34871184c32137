//! `linear_chain_crf` and its gradient. Threads share the sequences; each sequence is computed by one thread.
//!
//! Everything is in double precision. A step from one token to the next computes `ln Σⱼ exp(alphaⱼ + weightⱼᵢ)` for
//! each label `i`. It multiplies `exp alpha` with a matrix of exponentials that is computed once; from each weight, the
//! largest weight of its column is subtracted first. If a sum is so small that it has lost digits, it is computed in
//! logarithms instead.

use std::marker::PhantomData;

use paddle_core::ops::{LinearChainCrf, LinearChainCrfGrad};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::id_checks::first_outside;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::{Float, double_exp as exp, double_ln as ln, double_ln_1p as ln_1p};
use crate::cpu::operands::{Operands, Reads};
use crate::cpu::pieces::pieces;
use crate::cpu::scratch::Scratch;
use crate::cpu::sequence_pieces::{Piece, Shared, share};
use crate::cpu::sum::sum;
use crate::messages::{class_out_of_range, same_lengths};

/// Sums of exponentials below this may have lost terms.
const LEAST: f64 = 1e-250;

/// The number of parts into which sequences are cut, if there are as many. Each part sums gradients of transitions by
/// itself.
const PARTS: usize = 16;

/// The transitions, prepared for the computation.
#[derive(Clone, Copy)]
struct Weights<'a> {
    labels: usize,
    start: &'a [f64],
    stop: &'a [f64],
    /// The weights, with a row for each previous label.
    weights: &'a [f64],
    /// The largest weight of each column.
    largest: &'a [f64],
    /// `exp(weight - largest)`.
    scaled: &'a [f64],
}

impl<'a> Weights<'a> {
    fn size(labels: usize) -> usize {
        (2 * labels + 3) * labels
    }

    fn new(labels: usize, all: &'a [f64]) -> Self {
        let (start, rest) = all.split_at(labels);
        let (stop, rest) = rest.split_at(labels);
        let (weights, rest) = rest.split_at(labels * labels);
        let (largest, scaled) = rest.split_at(labels);
        Weights { labels, start, stop, weights, largest, scaled }
    }

    #[inline(always)]
    fn weight(&self, from: usize, to: usize) -> f64 {
        self.weights[from * self.labels + to]
    }
}

dispatch! {
    /// Fills the parts of [`Weights`].
    fn prepare<const FUSED: bool, T: Float>(isa, labels: usize, transition: &[T], all: &mut [f64]) {
        all.iter_mut().zip(transition).for_each(|(to, from)| *to = from.double());
        let (given, made) = all.split_at_mut(transition.len());
        let weights = &given[2 * labels..];
        let (largest, scaled) = made.split_at_mut(labels);
        largest.fill(f64::NEG_INFINITY);
        for row in weights.chunks_exact(labels) {
            largest.iter_mut().zip(row).for_each(|(top, x)| *top = if *x > *top { *x } else { *top });
        }
        // A column without any transition stays as it is.
        largest.iter_mut().for_each(|top| *top = if *top == f64::NEG_INFINITY { 0.0 } else { *top });
        for (scaled, row) in scaled.chunks_exact_mut(labels).zip(weights.chunks_exact(labels)) {
            for ((to, x), top) in scaled.iter_mut().zip(row).zip(&*largest) {
                *to = exp::<FUSED, T>(*x - *top);
            }
        }
    }
}

/// `x - ln Σ exp x`. Results near 0 keep their digits. `room` is as long as `x`.
#[inline(always)]
fn normalise<const FUSED: bool, T: Float>(isa: Isa, x: &mut [f64], room: &mut [f64]) {
    let top = x.iter().fold(f64::NEG_INFINITY, |top, x| if *x > top { *x } else { top });
    x.iter_mut().for_each(|x| *x -= top);
    room.iter_mut().zip(&*x).for_each(|(to, x)| *to = exp::<FUSED, T>(*x));
    // Next to 1, the power of the largest, the others would lose digits.
    if let Some(largest) = x.iter().position(|x| *x == 0.0) {
        room[largest] = 0.0;
    }
    let rest = ln_1p::<FUSED, T>(sum(isa, room));
    x.iter_mut().for_each(|x| *x -= rest);
}

/// `Σⱼ pⱼ · scaledⱼᵢ`.
#[inline(always)]
fn reached(weights: &Weights<'_>, p: &[f64], sums: &mut [f64]) {
    let labels = weights.labels;
    sums.fill(0.0);
    let rows = weights.scaled.chunks_exact(4 * labels);
    let rest = rows.remainder().chunks_exact(labels);
    let fours = p.chunks_exact(4);
    for (row, p) in rest.zip(fours.remainder()) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += *p * *x);
    }
    for (rows, p) in rows.zip(fours) {
        let (a, rest) = rows.split_at(labels);
        let (b, rest) = rest.split_at(labels);
        let (c, d) = rest.split_at(labels);
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum += (p[0] * a[i] + p[1] * b[i]) + (p[2] * c[i] + p[3] * d[i]);
        }
    }
}

/// `ln Σⱼ exp(alphaⱼ + weightⱼᵢ)`, in logarithms.
#[inline(always)]
fn log_reached<const FUSED: bool, T: Float>(weights: &Weights<'_>, alpha: &[f64], to: usize) -> f64 {
    let top = largest_way(weights, alpha, to);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + ln::<FUSED, T>(sum_of_ways::<FUSED, T, f64>(weights, alpha, to, top))
}

/// The maximum of `alphaⱼ + weightⱼᵢ` over `j`.
#[inline(always)]
fn largest_way<A: Float>(weights: &Weights<'_>, alpha: &[A], to: usize) -> f64 {
    let mut top = f64::NEG_INFINITY;
    for (from, alpha) in alpha.iter().enumerate() {
        let way = alpha.double() + weights.weight(from, to);
        top = if way > top { way } else { top };
    }
    top
}

/// `Σⱼ exp(alphaⱼ + weightⱼᵢ - top)`.
#[inline(always)]
fn sum_of_ways<const FUSED: bool, T: Float, A: Float>(
    weights: &Weights<'_>,
    alpha: &[A],
    to: usize,
    top: f64,
) -> f64 {
    let mut total = 0.0;
    for (from, alpha) in alpha.iter().enumerate() {
        total += exp::<FUSED, T>(alpha.double() + weights.weight(from, to) - top);
    }
    total
}

/// The cost of a sequence's labels, with its alphas. `own` has room for three numbers per label.
#[inline(always)]
fn cost_of<const FUSED: bool, T: Float>(
    isa: Isa,
    weights: &Weights<'_>,
    emission: &[T],
    label: &[i64],
    alpha: &mut [T],
    own: &mut [f64],
) -> f64 {
    let labels = weights.labels;
    let (mut before, rest) = own.split_at_mut(labels);
    let (mut now, room) = rest.split_at_mut(labels);
    let mut cost = 0.0;
    let tokens = emission.chunks_exact(labels).zip(alpha.chunks_exact_mut(labels));
    for (t, (emission, alpha)) in tokens.enumerate() {
        if t == 0 {
            now.copy_from_slice(weights.start);
        } else {
            room.iter_mut().zip(&*before).for_each(|(p, alpha)| *p = exp::<FUSED, T>(*alpha));
            reached(weights, room, now);
            let least = now.iter().fold(f64::INFINITY, |least, x| if *x < least { *x } else { least });
            if least >= LEAST {
                now.iter_mut().zip(weights.largest).for_each(|(x, top)| *x = ln::<FUSED, T>(*x) + *top);
            } else {
                for (i, x) in now.iter_mut().enumerate() {
                    *x = match *x >= LEAST {
                        true => ln::<FUSED, T>(*x) + weights.largest[i],
                        false => log_reached::<FUSED, T>(weights, before, i),
                    };
                }
            }
            let (from, to) = (label[t - 1] as usize, label[t] as usize);
            cost += now[to] - (before[from] + weights.weight(from, to));
        }
        now.iter_mut().zip(emission).for_each(|(x, emission)| *x += emission.double());
        normalise::<FUSED, T>(isa, now, room);
        alpha.iter_mut().zip(&*now).for_each(|(alpha, x)| *alpha = T::of(*x));
        std::mem::swap(&mut before, &mut now);
    }
    match label.last() {
        Some(&last) => {
            now.iter_mut().zip(&*before).zip(weights.stop).for_each(|((x, alpha), stop)| *x = alpha + stop);
            normalise::<FUSED, T>(isa, now, room);
            cost - now[last as usize]
        }
        None => 0.0,
    }
}

dispatch! {
    fn costs<const FUSED: bool, T: Float>(
        isa, weights: &Weights<'_>, emission: &[T], label: &[i64], piece: Piece<'_, T, T, f64>,
    ) {
        let Piece { offsets, a: alpha, b: costs, c: own, .. } = piece;
        let (labels, first) = (weights.labels, offsets[0] as usize);
        for (ends, cost) in offsets.windows(2).zip(costs) {
            let (start, end) = (ends[0] as usize, ends[1] as usize);
            let emission = &emission[start * labels..end * labels];
            let alpha = &mut alpha[(start - first) * labels..(end - first) * labels];
            *cost = T::of(cost_of::<FUSED, T>(isa, weights, emission, &label[start..end], alpha, own));
        }
    }
}

/// The state of both kernels.
struct Crf<T> {
    labels: Extent,
    weights: Scratch<f64>,
    own: Scratch<f64>,
    element: PhantomData<T>,
}

impl<T: Float> Crf<T> {
    fn new(labels: Extent) -> Self {
        Crf { labels, weights: Scratch::default(), own: Scratch::default(), element: PhantomData }
    }

    /// The labels of the tokens, operand 2, and their offsets. The offsets of the emissions and of the labels, operands
    /// 3 and 4, have to agree.
    fn labels<'a>(&self, reads: &Reads<'a>, count: usize) -> Result<(&'a [i64], &'a [i64]), KernelError> {
        let (label, offsets) = (reads.get::<i64>(2), reads.get::<i64>(3));
        same_lengths(offsets, reads.get::<i64>(4))?;
        match first_outside(label, count, None) {
            Some(at) => Err(class_out_of_range(label[at], at, count)),
            None => Ok((label, offsets)),
        }
    }
}

/// The number of sequences in a part.
fn part(sequences: usize, parts: usize) -> usize {
    sequences.div_ceil(parts).max(1)
}

struct Cost<T>(Crf<T>);

impl Compile for LinearChainCrf {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let inputs = single.inputs()?;
        let [emission, transition, label, own, of_labels] = &inputs[..] else {
            return single.refuse("of other inputs");
        };
        let &[_, labels] = &transition.1.shape[..] else { return single.refuse("of such transitions") };
        let body: Box<dyn Body> =
            with_float!(single, emission.1.dtype, T => Box::new(Cost::<T>(Crf::new(labels))));
        let reads = [emission, transition, label, own, of_labels].map(Clone::clone);
        Ok((single.signature(reads, [single.output(0)?, single.output(1)?]), body))
    }
}

impl<T: Float> Body for Cost<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let crf = &self.0;
        let labels = crf.labels.get(operands.sizes());
        let (reads, writes) = operands.split();
        let (emission, transition) = (reads.get::<T>(0), reads.get::<T>(1));
        let (label, offsets) = crf.labels(&reads, labels)?;
        let (alpha, cost) = writes.two::<T, T>();
        let part = part(offsets.len() - 1, 4 * PARTS);
        let per_part = 3 * labels;
        crf.weights.lend(Weights::size(labels), |all| {
            prepare(machine.isa, labels, transition, all);
            let weights = Weights::new(labels, all);
            crf.own.lend(4 * PARTS * per_part, |own| {
                let shared = (
                    Shared::of_tokens(alpha, labels),
                    Shared::of_sequences(cost, 1),
                    Shared::of_pieces(own, per_part),
                );
                share(&machine.team, offsets, part, shared, &|piece| {
                    costs(machine.isa, &weights, emission, label, piece);
                });
            })
        })??;
        Ok(())
    }
}

struct Grad<T>(Crf<T>);

impl Compile for LinearChainCrfGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let inputs = single.inputs()?;
        let [alpha, transition, label, grad, own, of_labels] = &inputs[..] else {
            return single.refuse("of other inputs");
        };
        let &[_, labels] = &transition.1.shape[..] else { return single.refuse("of such transitions") };
        let body: Box<dyn Body> =
            with_float!(single, alpha.1.dtype, T => Box::new(Grad::<T>(Crf::new(labels))));
        let reads = [alpha, transition, label, own, of_labels, grad].map(Clone::clone);
        Ok((single.signature(reads, [single.output(0)?, single.output(1)?]), body))
    }
}

impl<T: Float> Body for Grad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let crf = &self.0;
        let labels = crf.labels.get(operands.sizes());
        let (reads, writes) = operands.split();
        let (alpha, transition, grad) = (reads.get::<T>(0), reads.get::<T>(1), reads.get::<T>(5));
        let (label, offsets) = crf.labels(&reads, labels)?;
        let (emission_grad, transition_grad) = writes.two::<T, T>();
        let part = part(offsets.len() - 1, PARTS);
        let (parts, size) = ((offsets.len() - 1).div_ceil(part), transition.len());
        let per_part = size + 4 * labels;
        crf.weights.lend(Weights::size(labels), |all| {
            prepare(machine.isa, labels, transition, all);
            let weights = Weights::new(labels, all);
            crf.own.lend(parts * per_part, |own| {
                own.fill(0.0);
                let shared = (
                    Shared::of_tokens(emission_grad, labels),
                    Shared::of_pieces(&mut *own, per_part),
                    Shared::nothing(),
                );
                share(&machine.team, offsets, part, shared, &|piece| {
                    grads(machine.isa, &weights, alpha, label, grad, piece);
                });
                pieces(&machine.team, transition_grad, labels, &|row, out| {
                    for (i, out) in out.iter_mut().enumerate() {
                        let of_part = |part: usize| own[part * per_part + row * labels + i];
                        *out = T::of((0..parts).map(of_part).sum());
                    }
                });
            })
        })??;
        Ok(())
    }
}

dispatch! {
    fn grads<const FUSED: bool, T: Float>(
        isa, weights: &Weights<'_>, alpha: &[T], label: &[i64], grad: &[T], piece: Piece<'_, T, f64, u8>,
    ) {
        let Piece { first, offsets, a: out, b: own, .. } = piece;
        let (labels, token) = (weights.labels, offsets[0] as usize);
        for (ends, grad) in offsets.windows(2).zip(&grad[first..]) {
            let (start, end) = (ends[0] as usize, ends[1] as usize);
            if start < end {
                let alpha = &alpha[start * labels..end * labels];
                let out = &mut out[(start - token) * labels..(end - token) * labels];
                grad_of::<FUSED, T>(isa, weights, alpha, &label[start..end], grad.double(), out, own);
            }
        }
    }
}

/// The gradient of the emissions of a sequence that has tokens. `own` begins with the sum of the gradients of
/// transitions; behind it, it has room for four numbers per label.
#[inline(always)]
fn grad_of<const FUSED: bool, T: Float>(
    isa: Isa,
    weights: &Weights<'_>,
    alpha: &[T],
    label: &[i64],
    grad: f64,
    out: &mut [T],
    own: &mut [f64],
) {
    let labels = weights.labels;
    let (start, rest) = own.split_at_mut(labels);
    let (stop, rest) = rest.split_at_mut(labels);
    let (transitions, rest) = rest.split_at_mut(labels * labels);
    let (mut marginal, rest) = rest.split_at_mut(labels);
    let (mut previous, rest) = rest.split_at_mut(labels);
    let (p, ratio) = rest.split_at_mut(labels);
    let token = |t: usize| &alpha[t * labels..][..labels];
    let label = |t: usize| label[t] as usize;
    let last = out.len() / labels - 1;

    for ((x, alpha), stop) in previous.iter_mut().zip(token(last)).zip(weights.stop) {
        *x = alpha.double() + stop;
    }
    normalise::<FUSED, T>(isa, previous, p);
    marginal.iter_mut().zip(&*previous).for_each(|(to, x)| *to = exp::<FUSED, T>(*x));
    add(stop, grad, marginal, label(last));
    for t in (0..=last).rev() {
        let out = &mut out[t * labels..][..labels];
        out.iter_mut().zip(&*marginal).for_each(|(out, marginal)| *out = T::of(grad * *marginal));
        out[label(t)] = T::of(grad * (marginal[label(t)] - 1.0));
        if t == 0 {
            break;
        }
        p.iter_mut().zip(token(t - 1)).for_each(|(p, alpha)| *p = exp::<FUSED, T>(alpha.double()));
        reached(weights, p, ratio);
        previous.fill(0.0);
        for (to, ratio) in ratio.iter_mut().enumerate() {
            if *ratio >= LEAST {
                *ratio = marginal[to] / *ratio;
                continue;
            }
            *ratio = 0.0;
            // The sum cannot be divided by, so each previous label is computed by itself.
            if marginal[to] != 0.0 {
                previous_of::<FUSED, T>(
                    weights,
                    token(t - 1),
                    (to, marginal[to]),
                    grad,
                    previous,
                    transitions,
                );
            }
        }
        let rows = weights.scaled.chunks_exact(labels).zip(transitions.chunks_exact_mut(labels));
        for ((p, previous), (scaled, transitions)) in p.iter().zip(&mut *previous).zip(rows) {
            *previous += *p * spread(scaled, ratio, grad * *p, transitions);
        }
        transitions[label(t - 1) * labels + label(t)] -= grad;
        std::mem::swap(&mut marginal, &mut previous);
    }
    add(start, grad, marginal, label(0));
}

/// Adds the gradient of the labels of a token: `marginal` has their probabilities, and `label` is the given one.
#[inline(always)]
fn add(to: &mut [f64], grad: f64, marginal: &[f64], label: usize) {
    to.iter_mut().zip(marginal).for_each(|(to, marginal)| *to += grad * *marginal);
    to[label] -= grad;
}

/// Returns `Σᵢ xᵢ · yᵢ`, and adds `scale` times each term to `to`.
#[inline(always)]
fn spread(x: &[f64], y: &[f64], scale: f64, to: &mut [f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let (to, to_rest) = to.as_chunks_mut::<LANES>();
    for ((x, y), to) in x.iter().zip(y).zip(to) {
        for lane in 0..LANES {
            let term = x[lane] * y[lane];
            sums[lane] += term;
            to[lane] += scale * term;
        }
    }
    let mut total: f64 = sums.iter().sum();
    for ((x, y), to) in x_rest.iter().zip(y_rest).zip(to_rest) {
        total += x * y;
        *to += scale * (x * y);
    }
    total
}

/// Distributes the probability of label `to` among the previous labels, in logarithms.
#[inline(always)]
fn previous_of<const FUSED: bool, T: Float>(
    weights: &Weights<'_>,
    alpha: &[T],
    (to, marginal): (usize, f64),
    grad: f64,
    previous: &mut [f64],
    transitions: &mut [f64],
) {
    let labels = weights.labels;
    let top = largest_way(weights, alpha, to);
    if top == f64::NEG_INFINITY {
        return;
    }
    let total = sum_of_ways::<FUSED, T, T>(weights, alpha, to, top);
    for (from, alpha) in alpha.iter().enumerate() {
        let way = alpha.double() + weights.weight(from, to);
        let share = marginal * exp::<FUSED, T>(way - top) / total;
        previous[from] += share;
        transitions[from * labels + to] += grad * share;
    }
}
