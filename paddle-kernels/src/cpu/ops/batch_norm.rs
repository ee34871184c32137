//! `batch_norm` and its gradient: sums for each channel, then a pass over the elements.
//!
//! For the sums, threads share the channels; the order of a sum depends on the shape only. For the pass, threads share
//! the elements.

use std::marker::PhantomData;

use paddle_core::ops::{BatchNorm, BatchNormGrad};
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::channels::{Shape, View};
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::{pairs, pieces};

/// The least number of elements that one thread normalises at a time.
const PIECE: usize = 1 << 13;

struct Forward<T> {
    op: BatchNorm,
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for BatchNorm {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, scale, bias) = (single.input(0)?, single.input(1)?, single.input(2)?);
        let (mean, variance) = (single.input(3)?, single.input(4)?);
        let outputs = [single.output(0)?, single.output(1)?, single.output(2)?];
        let (shape, dtype, op) = (Shape::new(single, &x.1)?, x.1.dtype, *self);
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Forward::<T> { op, shape, element: PhantomData }));
        let [y, saved_mean, saved_variance] = outputs;
        Ok(match self.is_test {
            true => {
                (single.signature([x, scale, bias, mean, variance], [y, saved_mean, saved_variance]), body)
            }
            false => {
                (single.signature([x, scale, bias], [y, saved_mean, saved_variance, mean, variance]), body)
            }
        })
    }
}

impl<T: Float> Body for Forward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let view = self.shape.view(operands.sizes());
        let (reads, writes) = operands.split();
        let (x, scale, bias) = (reads.get::<T>(0), reads.get::<T>(1), reads.get::<T>(2));
        let (y, mean, inverse) = match self.op.is_test {
            true => {
                let [y, mean, inverse] = writes.all::<T, 3>();
                mean.copy_from_slice(reads.get::<T>(3));
                inverse.copy_from_slice(reads.get::<T>(4));
                (y, mean, inverse)
            }
            false => {
                let [y, mean, inverse, moving_mean, moving_variance] = writes.all::<T, 5>();
                let block = view.block();
                pairs(&machine.team, (mean, block), (inverse, block), &|index, mean, variance| {
                    statistics(machine.isa, view, index * block, x, mean, variance);
                });
                if view.count() > 0 {
                    self.advance(moving_mean, mean);
                    self.advance(moving_variance, inverse);
                }
                (y, mean, inverse)
            }
        };
        assert!(y.len() == view.len() && x.len() == view.len(), "the shape that was compiled");
        for inverse in &mut *inverse {
            *inverse = T::of(1.0) / (*inverse + T::of(self.op.epsilon)).sqrt();
        }
        let (mean, inverse) = (&*mean, &*inverse);
        pieces(&machine.team, y, PIECE, &|index, y| {
            normalise(machine.isa, view, index * PIECE, x, [scale, bias, mean, inverse], y);
        });
        Ok(())
    }
}

impl<T: Float> Forward<T> {
    fn advance(&self, moving: &mut [T], now: &[T]) {
        if self.op.momentum == 1.0 {
            return;
        }
        let (stays, comes) = (T::of(self.op.momentum), T::of(1.0 - self.op.momentum));
        for (moving, now) in moving.iter_mut().zip(now) {
            *moving = stays * *moving + comes * *now;
        }
    }
}

dispatch! {
    /// The statistics of the channels from `first` on.
    fn statistics<const FUSED: bool, T: Float>(
        isa, view: View, first: usize, x: &[T], mean: &mut [T], variance: &mut [T],
    ) {
        let channels = first..first + mean.len();
        let count = T::of(view.count().max(1) as f64);
        let [sums] = view.sums(channels.clone(), |[terms], elements, _, _| terms.copy_from_slice(&x[elements]));
        for (mean, sum) in mean.iter_mut().zip(sums) {
            *mean = sum / count;
        }
        let [sums] = view.sums(channels, |[terms], elements, _, channel| {
            for (lane, (term, x)) in terms.iter_mut().zip(&x[elements]).enumerate() {
                let deviation = *x - mean[view.channel(channel - first, lane)];
                *term = deviation * deviation;
            }
        });
        for (variance, sum) in variance.iter_mut().zip(sums) {
            *variance = sum / count;
        }
    }
}

dispatch! {
    /// Normalises the elements from `first` on.
    fn normalise<const FUSED: bool, T: Float>(
        isa, view: View, first: usize, x: &[T], channels: [&[T]; 4], y: &mut [T],
    ) {
        let [scale, bias, mean, inverse] = channels;
        let of = |c: usize| (mean[c], inverse[c] * scale[c], bias[c]);
        view.runs(first..first + y.len(), |run, channel| {
            let y = &mut y[run.start - first..run.end - first];
            if view.inner == 1 {
                for (lane, (y, x)) in y.iter_mut().zip(&x[run]).enumerate() {
                    let (mean, factor, bias) = of(channel + lane);
                    *y = (*x - mean) * factor + bias;
                }
            } else {
                let (mean, factor, bias) = of(channel);
                for (y, x) in y.iter_mut().zip(&x[run]) {
                    *y = (*x - mean) * factor + bias;
                }
            }
        });
    }
}

struct Backward<T> {
    is_test: bool,
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for BatchNormGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let inputs = [0, 1, 2, 3, 4].map(|k| single.input(k));
        let [x, scale, mean, inverse, grad] = inputs;
        let (x, outputs) = (x?, [single.output(0)?, single.output(1)?, single.output(2)?]);
        let (shape, dtype, is_test) = (Shape::new(single, &x.1)?, x.1.dtype, self.is_test);
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Backward::<T> { is_test, shape, element: PhantomData }));
        Ok((single.signature([x, scale?, mean?, inverse?, grad?], outputs), body))
    }
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let view = self.shape.view(operands.sizes());
        let (reads, writes) = operands.split();
        let [x, scale, mean, inverse, grad] = [0, 1, 2, 3, 4].map(|i| reads.get::<T>(i));
        let [x_grad, scale_grad, bias_grad] = writes.all::<T, 3>();
        assert!(x.len() == view.len() && x_grad.len() == view.len(), "the shape that was compiled");
        let block = view.block();
        pairs(
            &machine.team,
            (&mut *scale_grad, block),
            (&mut *bias_grad, block),
            &|index, of_scale, of_bias| {
                parameters(machine.isa, view, index * block, [x, grad, mean, inverse], of_scale, of_bias);
            },
        );
        let (scale_grad, bias_grad) = (&*scale_grad, &*bias_grad);
        let is_test = self.is_test;
        pieces(&machine.team, x_grad, PIECE, &|index, out| {
            let channels = [scale, mean, inverse, scale_grad, bias_grad];
            values(machine.isa, (view, is_test), index * PIECE, [x, grad], channels, out);
        });
        Ok(())
    }
}

dispatch! {
    /// The gradients of scale and bias, for the channels from `first` on.
    fn parameters<const FUSED: bool, T: Float>(
        isa, view: View, first: usize, operands: [&[T]; 4], of_scale: &mut [T], of_bias: &mut [T],
    ) {
        let [x, grad, mean, inverse] = operands;
        let channels = first..first + of_scale.len();
        let [bias, scale] = view.sums(channels.clone(), |[of_bias, of_scale], elements, _, channel| {
            let (grad, x) = (&grad[elements.clone()], &x[elements]);
            of_bias.copy_from_slice(grad);
            for (lane, (term, (grad, x))) in of_scale.iter_mut().zip(grad.iter().zip(x)).enumerate() {
                *term = *grad * (*x - mean[view.channel(channel, lane)]);
            }
        });
        of_bias.copy_from_slice(&bias[..of_bias.len()]);
        for ((out, sum), channel) in of_scale.iter_mut().zip(scale).zip(channels) {
            *out = sum * inverse[channel];
        }
    }
}

dispatch! {
    /// The gradients of the elements from `first` on.
    fn values<const FUSED: bool, T: Float>(
        isa, of: (View, bool), first: usize, elements: [&[T]; 2], channels: [&[T]; 5], out: &mut [T],
    ) {
        let ((view, is_test), [x, grad], [scale, mean, inverse, of_scale, of_bias]) = (of, elements, channels);
        let share = T::of(1.0 / view.count().max(1) as f64);
        let of = |c: usize| {
            let (of_bias, of_scale) = (of_bias[c] * share, of_scale[c] * share * inverse[c]);
            (mean[c], of_bias, of_scale, scale[c] * inverse[c])
        };
        let one = |x: T, grad: T, (mean, of_bias, of_scale, factor): (T, T, T, T)| match is_test {
            true => grad * factor,
            false => (grad - (of_bias + (x - mean) * of_scale)) * factor,
        };
        view.runs(first..first + out.len(), |run, channel| {
            let out = &mut out[run.start - first..run.end - first];
            let elements = out.iter_mut().zip(&x[run.clone()]).zip(&grad[run]);
            if view.inner == 1 {
                for (lane, ((out, x), grad)) in elements.enumerate() {
                    *out = one(*x, *grad, of(channel + lane));
                }
            } else {
                let of_channel = of(channel);
                for ((out, x), grad) in elements {
                    *out = one(*x, *grad, of_channel);
                }
            }
        });
    }
}
