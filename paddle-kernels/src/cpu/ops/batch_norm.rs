//! `batch_norm` and its gradient: sums for each channel, then a pass over the elements.

mod neighbours;
mod planes;

use paddle_core::ops::{BatchNorm, BatchNormGrad};
use paddle_core::plan::{Extent, KernelError, OperandType, Takes, Unsupported};

use self::neighbours::Rows;
use self::planes::Planes;
use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::isa::Isa;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::scratch::Scratch;
use crate::team::Team;

/// The position of the channels in a value's shape.
#[derive(Clone)]
struct Shape {
    /// The dimensions in front of the channels in memory.
    rows: Vec<Extent>,
    channels: Extent,
    /// The dimensions behind the channels in memory.
    plane: Vec<Extent>,
}

/// Where the channels are in a launch.
#[derive(Clone, Copy)]
enum Channels {
    Neighbours(Rows),
    Planes(Planes),
}

impl Shape {
    fn new(single: &Single<'_>, ty: &OperandType) -> Result<Shape, Unsupported> {
        let (shape, at) = (ty.in_memory(), ty.layout.position(1));
        match shape.get(at) {
            Some(&channels) => {
                let (rows, plane) = (shape[..at].to_vec(), shape[at + 1..].to_vec());
                Ok(Shape { rows, channels, plane })
            }
            None => single.refuse("of a value without channels"),
        }
    }

    fn get(&self, sizes: &[usize]) -> Channels {
        let [rows, plane] = [&self.rows, &self.plane].map(|extents| product(extents, sizes));
        let channels = self.channels.get(sizes);
        match plane == 1 {
            true => Channels::Neighbours(Rows { count: rows, channels }),
            false => Channels::Planes(Planes { rows, channels, plane }),
        }
    }
}

impl Channels {
    /// The number of elements of a channel.
    fn count(self) -> usize {
        match self {
            Channels::Neighbours(rows) => rows.count,
            Channels::Planes(planes) => planes.rows * planes.plane,
        }
    }

    fn len(self) -> usize {
        let channels = match self {
            Channels::Neighbours(rows) => rows.channels,
            Channels::Planes(planes) => planes.channels,
        };
        self.count() * channels
    }
}

struct Forward<T> {
    op: BatchNorm,
    shape: Shape,
    sums: Scratch<f64>,
    /// What each channel is multiplied by.
    factors: Scratch<T>,
}

impl Compile for BatchNorm {
    fn finishes(&self) -> bool {
        true
    }

    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Alike
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, scale, bias) = (single.input(0)?, single.input(1)?, single.input(2)?);
        let (mean, variance) = (single.input(3)?, single.input(4)?);
        let outputs = [single.output(0)?, single.output(1)?, single.output(2)?];
        let (shape, dtype, op) = (Shape::new(single, &x.1)?, x.1.dtype, *self);
        let body: Box<dyn Body> = with_float!(single, dtype, T => {
            Box::new(Forward::<T> { op, shape, sums: Scratch::default(), factors: Scratch::default() })
        });
        let signature = match (self.is_test, self.keeps_statistics()) {
            (true, _) => single.signature([x, scale, bias, mean, variance], outputs),
            (false, true) => single.signature([x, scale, bias], outputs),
            (false, false) => {
                let [y, saved_mean, saved_variance] = outputs;
                single.signature([x, scale, bias], [y, saved_mean, saved_variance, mean, variance])
            }
        };
        Ok((signature, body))
    }
}

impl<T: Float> Body for Forward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let channels = self.shape.get(operands.sizes());
        let finish = operands.finish();
        let (reads, writes) = operands.split();
        let (x, scale, bias) = (reads.get::<T>(0), reads.get::<T>(1), reads.get::<T>(2));
        let on = (machine.isa, &machine.team);
        let (y, mean, inverse) = match self.op.is_test {
            true => {
                let [y, mean, inverse] = writes.all::<T, 3>();
                mean.copy_from_slice(reads.get::<T>(3));
                inverse.copy_from_slice(reads.get::<T>(4));
                (y, mean, inverse)
            }
            false if self.op.keeps_statistics() => {
                let [y, mean, inverse] = writes.all::<T, 3>();
                self.statistics(on, channels, x, [&mut *mean, &mut *inverse])?;
                (y, mean, inverse)
            }
            false => {
                let [y, mean, inverse, moving_mean, moving_variance] = writes.all::<T, 5>();
                self.statistics(on, channels, x, [&mut *mean, &mut *inverse])?;
                if channels.count() > 0 {
                    self.advance(moving_mean, mean);
                    self.advance(moving_variance, inverse);
                }
                (y, mean, inverse)
            }
        };
        assert!(y.len() == channels.len() && x.len() == channels.len(), "the shape that was compiled");
        for inverse in &mut *inverse {
            *inverse = T::of(1.0) / (*inverse + T::of(self.op.epsilon)).sqrt();
        }
        Ok(self.factors.lend(scale.len(), |factors| {
            for ((factor, scale), inverse) in factors.iter_mut().zip(scale).zip(&*inverse) {
                *factor = *inverse * *scale;
            }
            let of = [&*mean, &*factors, bias];
            match channels {
                Channels::Neighbours(rows) => rows.normalise(on, x, of, (y, finish)),
                Channels::Planes(planes) => planes.normalise(on, x, of, (y, finish)),
            }
        })?)
    }
}

impl<T: Float> Forward<T> {
    /// The mean and the variance of each channel.
    fn statistics(
        &self,
        on: (Isa, &Team),
        channels: Channels,
        x: &[T],
        results: [&mut [T]; 2],
    ) -> Result<(), KernelError> {
        match channels {
            Channels::Neighbours(rows) => rows.statistics(on, &self.sums, x, results)?,
            Channels::Planes(planes) => planes.statistics(on, x, results),
        }
        Ok(())
    }

    fn advance(&self, moving: &mut [T], now: &[T]) {
        let (stays, comes) = (T::of(self.op.momentum), T::of(1.0 - self.op.momentum));
        for (moving, now) in moving.iter_mut().zip(now) {
            *moving = stays * *moving + comes * *now;
        }
    }
}

struct Backward<T> {
    is_test: bool,
    shape: Shape,
    sums: Scratch<f64>,
    /// For each channel, what is subtracted from a gradient, and what it is multiplied by.
    factors: Scratch<T>,
}

impl Compile for BatchNormGrad {
    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Alike
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let inputs = [0, 1, 2, 3, 4].map(|k| single.input(k));
        let [x, scale, mean, inverse, grad] = inputs;
        let (x, outputs) = (x?, [single.output(0)?, single.output(1)?, single.output(2)?]);
        let (shape, dtype, is_test) = (Shape::new(single, &x.1)?, x.1.dtype, self.is_test);
        let sums = Scratch::default();
        let body: Box<dyn Body> = with_float!(single, dtype, T => {
            Box::new(Backward::<T> { is_test, shape, sums, factors: Scratch::default() })
        });
        Ok((single.signature([x, scale?, mean?, inverse?, grad?], outputs), body))
    }
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let channels = self.shape.get(operands.sizes());
        let (reads, writes) = operands.split();
        let [x, scale, mean, inverse, grad] = [0, 1, 2, 3, 4].map(|i| reads.get::<T>(i));
        let [x_grad, scale_grad, bias_grad] = writes.all::<T, 3>();
        assert!(x.len() == channels.len() && x_grad.len() == x.len(), "the shape that was compiled");
        let on = (machine.isa, &machine.team);
        let (from, results) = ([x, grad, mean], [&mut *bias_grad, &mut *scale_grad]);
        match channels {
            Channels::Neighbours(rows) => rows.gradient_sums(on, &self.sums, from, results)?,
            Channels::Planes(planes) => planes.gradient_sums(on, from, results),
        }
        for (sum, inverse) in scale_grad.iter_mut().zip(inverse) {
            *sum *= *inverse;
        }
        // In a test, statistics are constants.
        let share = if self.is_test { T::ZERO } else { T::of(1.0 / channels.count().max(1) as f64) };
        let count = scale.len();
        Ok(self.factors.lend(3 * count, |values| {
            let (biases, values) = values.split_at_mut(count);
            let (scales, factors) = values.split_at_mut(count);
            for channel in 0..count {
                biases[channel] = bias_grad[channel] * share;
                scales[channel] = scale_grad[channel] * share * inverse[channel];
                factors[channel] = scale[channel] * inverse[channel];
            }
            let of = [mean, &*biases, &*scales, &*factors];
            match channels {
                Channels::Neighbours(rows) => rows.gradients(on, [x, grad], of, x_grad),
                Channels::Planes(planes) => planes.gradients(on, [x, grad], of, x_grad),
            }
        })?)
    }
}

#[cfg(test)]
mod tests;
