//! `layer_norm`, `group_norm` and their gradients: runs of neighbouring elements, each normalised by its own mean and
//! variance. Where channels are the fastest axis, the channels of a group are neighbours, and its elements are not; then threads
//! share the rows.
//!
//! Threads share the runs, which stay in a cache between the passes over them. For the gradients of scale and bias,
//! which are sums over all rows, threads share the channels.

mod neighbours;

use std::marker::PhantomData;

use paddle_core::ops::{GroupNorm, GroupNormGrad, LayerNorm, LayerNormGrad};
use paddle_core::plan::{Extent, KernelError, OperandType, Takes, Unsupported};

use super::Compile;
use crate::cpu::channels::View;
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::{pairs, pieces, triples};
use crate::cpu::scratch::Scratch;
use crate::cpu::sum::{sum, sum_pairs};

/// The least number of elements that one thread normalises at a time.
const PIECE: usize = 1 << 13;

/// How a value is cut into runs that are normalised.
#[derive(Clone)]
struct Shape {
    rows: Vec<Extent>,
    /// The axes along which scale and bias have one number for each index.
    channels: Vec<Extent>,
    /// The axes of the neighbours of one channel.
    inner: Vec<Extent>,
    /// The number of runs in a row. All runs have equally many channels.
    groups: usize,
    /// Whether the channels are the fastest axis, behind the inner ones.
    last: bool,
    epsilon: f64,
}

impl Shape {
    fn of_layers(layout: &OperandType, begin: i64, epsilon: f64) -> Shape {
        let (rows, channels) = layout.shape.split_at(begin as usize);
        let [rows, channels] = [rows, channels].map(<[Extent]>::to_vec);
        Shape { rows, channels, inner: Vec::new(), groups: 1, last: false, epsilon }
    }

    fn of_groups(layout: &OperandType, groups: i64, epsilon: f64) -> Shape {
        let (rows, rest) = layout.shape.split_at(1);
        let (channels, inner) = rest.split_at(1);
        let [rows, channels, inner] = [rows, channels, inner].map(<[Extent]>::to_vec);
        let last = !layout.layout.is_row_major();
        Shape { rows, channels, inner, groups: groups as usize, last, epsilon }
    }

    fn runs<T: Float>(&self, sizes: &[usize]) -> Runs<T> {
        let size = |extents: &[Extent]| extents.iter().map(|extent| extent.get(sizes)).product();
        let (rows, inner): (usize, usize) = (size(&self.rows), size(&self.inner));
        let (rows, inner, places) = if self.last { (rows * inner, 1, inner) } else { (rows, inner, 1) };
        let view = View { rows, channels: size(&self.channels), inner };
        Runs { view, groups: self.groups, places, epsilon: T::of(self.epsilon) }
    }
}

/// The runs in a launch.
#[derive(Clone, Copy)]
struct Runs<T> {
    view: View,
    groups: usize,
    /// The elements of a channel in a row, if the channels are the fastest axis; 1 if not.
    places: usize,
    epsilon: T,
}

impl<T: Float> Runs<T> {
    /// The number of channels of a run.
    fn channels(self) -> usize {
        self.view.channels / self.groups
    }

    /// The number of elements of a run.
    fn length(self) -> usize {
        self.channels() * self.places * self.view.inner
    }

    /// The number of elements of a row.
    fn row(self) -> usize {
        self.length() * self.groups
    }

    /// The number of runs that one thread takes at a time.
    fn of_piece(self) -> usize {
        (PIECE / self.length().max(1)).max(1)
    }

    /// The factor of deviations from the mean.
    #[inline(always)]
    fn inverse(self, variance: T) -> T {
        T::of(1.0) / (variance + self.epsilon).sqrt()
    }

    /// The numbers for the channels of run `run`.
    #[inline(always)]
    fn own(self, run: usize, of_channels: &[T]) -> &[T] {
        &of_channels[run % self.groups * self.channels()..][..self.channels()]
    }
}

struct Forward<T> {
    shape: Shape,
    element: PhantomData<T>,
}

impl Compile for LayerNorm {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let x = single.input(0)?;
        compile(single, Shape::of_layers(&x.1, self.begin_norm_axis, self.epsilon))
    }

    fn finishes(&self) -> bool {
        true
    }
}

impl Compile for GroupNorm {
    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Alike
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let x = single.input(0)?;
        compile(single, Shape::of_groups(&x.1, self.groups, self.epsilon))
    }

    fn finishes(&self) -> bool {
        true
    }
}

fn compile(single: &Single<'_>, shape: Shape) -> Result<Compiled, Unsupported> {
    let (x, scale, bias) = (single.input(0)?, single.input(1)?, single.input(2)?);
    let outputs = [single.output(0)?, single.output(1)?, single.output(2)?];
    let dtype = x.1.dtype;
    let body: Box<dyn Body> =
        with_float!(single, dtype, T => Box::new(Forward::<T> { shape, element: PhantomData }));
    Ok((single.signature([x, scale, bias], outputs), body))
}

impl<T: Float> Body for Forward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (runs, finish) = (self.shape.runs::<T>(operands.sizes()), operands.finish());
        let (reads, writes) = operands.split();
        let (x, scale, bias) = (reads.get::<T>(0), reads.get::<T>(1), reads.get::<T>(2));
        let [y, mean, variance] = writes.all::<T, 3>();
        assert!(x.len() == runs.view.len() && y.len() == x.len(), "the shape that was compiled");
        if self.shape.last {
            let (row, groups) = (runs.row(), runs.groups);
            triples(
                &machine.team,
                (y, row),
                (mean, groups),
                (variance, groups),
                &|index, y, mean, variance| {
                    let x = &x[index * row..][..row];
                    neighbours::normalise(machine.isa, runs, x, [scale, bias], y, [mean, variance]);
                    finish.piece(y, index * row);
                },
            );
            return Ok(());
        }
        let (length, of_piece) = (runs.length(), runs.of_piece());
        triples(
            &machine.team,
            (y, of_piece * length),
            (mean, of_piece),
            (variance, of_piece),
            &|index, y, mean, variance| {
                let first = index * of_piece;
                normalise(
                    machine.isa,
                    runs,
                    first,
                    &x[first * length..][..y.len()],
                    [scale, bias],
                    y,
                    [mean, variance],
                );
                finish.piece(y, first * length);
            },
        );
        Ok(())
    }
}

dispatch! {
    /// Normalises the runs from `first` on.
    wide if T::WIDE;
    fn normalise<const FUSED: bool, T: Float>(
        isa, runs: Runs<T>, first: usize, x: &[T], channels: [&[T]; 2], y: &mut [T], statistics: [&mut [T]; 2],
    ) {
        let (length, inner, [means, variances]) = (runs.length(), runs.view.inner, statistics);
        let count = T::of(length.max(1) as f64);
        for (at, (mean, variance)) in means.iter_mut().zip(variances).enumerate() {
            let x = &x[at * length..][..length];
            let y = &mut y[at * length..][..length];
            *mean = sum(isa, x) / count;
            *variance = sum_pairs(x, x, |x, _| (x - *mean) * (x - *mean)) / count;
            let (mean, inverse) = (*mean, runs.inverse(*variance));
            let [scale, bias] = channels.map(|of_channels| runs.own(first + at, of_channels));
            if inner == 1 {
                for (((y, x), scale), bias) in y.iter_mut().zip(x).zip(scale).zip(bias) {
                    *y = (*x - mean) * inverse * *scale + *bias;
                }
            } else {
                for (channel, (scale, bias)) in scale.iter().zip(bias).enumerate() {
                    let x = &x[channel * inner..][..inner];
                    for (y, x) in y[channel * inner..][..inner].iter_mut().zip(x) {
                        *y = (*x - mean) * (inverse * *scale) + *bias;
                    }
                }
            }
        }
    }
}

struct Backward<T> {
    shape: Shape,
    /// What each row adds to the gradients of bias and scale, where channels are the fastest axis.
    sums: Scratch<f64>,
    element: PhantomData<T>,
}

impl Compile for LayerNormGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let x = single.input(0)?;
        compile_grad(single, Shape::of_layers(&x.1, self.0.begin_norm_axis, self.0.epsilon))
    }

    fn finishes(&self) -> bool {
        true
    }
}

impl Compile for GroupNormGrad {
    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Alike
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let x = single.input(0)?;
        compile_grad(single, Shape::of_groups(&x.1, self.0.groups, self.0.epsilon))
    }

    fn finishes(&self) -> bool {
        true
    }
}

fn compile_grad(single: &Single<'_>, shape: Shape) -> Result<Compiled, Unsupported> {
    let [x, scale, mean, variance, grad] = [0, 1, 2, 3, 4].map(|k| single.input(k));
    let (x, outputs) = (x?, [single.output(0)?, single.output(1)?, single.output(2)?]);
    let dtype = x.1.dtype;
    let body: Box<dyn Body> = with_float!(single, dtype, T => Box::new(Backward::<T> { shape, sums: Scratch::default(), element: PhantomData }));
    Ok((single.signature([x, scale?, mean?, variance?, grad?], outputs), body))
}

impl<T: Float> Body for Backward<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (runs, finish) = (self.shape.runs::<T>(operands.sizes()), operands.finish());
        let (reads, writes) = operands.split();
        let [x, scale, mean, variance, grad] = [0, 1, 2, 3, 4].map(|i| reads.get::<T>(i));
        let [x_grad, scale_grad, bias_grad] = writes.all::<T, 3>();
        assert!(x.len() == runs.view.len() && x_grad.len() == x.len(), "the shape that was compiled");
        if self.shape.last {
            let (row, groups, channels) = (runs.row(), runs.groups, runs.view.channels);
            let of_rows = 2 * channels * (x.len() / row.max(1));
            self.sums.lend(of_rows, |sums| {
                pairs(&machine.team, (x_grad, row), (&mut *sums, 2 * channels), &|index, out, sums| {
                    let elements = [x, grad].map(|elements| &elements[index * row..][..row]);
                    let statistics = [mean, variance].map(|of_runs| &of_runs[index * groups..][..groups]);
                    neighbours::gradients(machine.isa, runs, elements, scale, statistics, out, sums);
                    finish.piece(out, index * row);
                });
                for (to, first) in [(bias_grad, 0), (scale_grad, channels)] {
                    for (channel, to) in to.iter_mut().enumerate() {
                        let of_rows = sums.iter().skip(first + channel).step_by(2 * channels);
                        *to = T::of(of_rows.sum::<f64>());
                    }
                }
            })?;
            return Ok(());
        }
        let block = runs.view.block();
        pairs(&machine.team, (scale_grad, block), (bias_grad, block), &|index, of_scale, of_bias| {
            parameters(machine.isa, runs, index * block, [x, grad, mean, variance], of_scale, of_bias);
        });
        let (length, of_piece) = (runs.length(), runs.of_piece());
        pieces(&machine.team, x_grad, of_piece * length, &|index, out| {
            let first = index * of_piece;
            let part = first * length..first * length + out.len();
            values(machine.isa, runs, first, [&x[part.clone()], &grad[part]], [scale, mean, variance], out);
            finish.piece(out, first * length);
        });
        Ok(())
    }
}

dispatch! {
    /// The gradients of scale and bias, for the channels from `first` on.
    wide if T::WIDE;
    fn parameters<const FUSED: bool, T: Float>(
        isa, runs: Runs<T>, first: usize, operands: [&[T]; 4], of_scale: &mut [T], of_bias: &mut [T],
    ) {
        let [x, grad, mean, variance] = operands;
        let (view, groups, own) = (runs.view, runs.groups, runs.channels());
        let channels = first..first + of_scale.len();
        let [bias, scale] = view.sums(isa, channels, |[of_bias, of_scale], elements, row, channel| {
            let (grad, x) = (&grad[elements.clone()], &x[elements]);
            of_bias.copy_from_slice(grad);
            // Takes neighbours in one run at a time: those of one channel, or of a whole row without groups.
            let mut done = 0;
            while done < grad.len() {
                let at = view.channel(channel, done);
                let left = if view.inner == 1 { own - at % own } else { grad.len() };
                let part = done..grad.len().min(done + left);
                let run = row * groups + at / own;
                let (mean, inverse) = (mean[run], runs.inverse(variance[run]));
                let elements = grad[part.clone()].iter().zip(&x[part.clone()]);
                for (term, (grad, x)) in of_scale[part.clone()].iter_mut().zip(elements) {
                    *term = *grad * ((*x - mean) * inverse);
                }
                done = part.end;
            }
        });
        of_bias.copy_from_slice(&bias[..of_bias.len()]);
        of_scale.copy_from_slice(&scale[..of_scale.len()]);
    }
}

dispatch! {
    /// The gradients of the elements of the runs from `first` on.
    wide if T::WIDE;
    fn values<const FUSED: bool, T: Float>(
        isa, runs: Runs<T>, first: usize, elements: [&[T]; 2], of_runs: [&[T]; 3], out: &mut [T],
    ) {
        let ([x, grad], [scale, mean, variance]) = (elements, of_runs);
        let (length, inner) = (runs.length(), runs.view.inner);
        let count = T::of(length.max(1) as f64);
        for (at, out) in out.chunks_exact_mut(length.max(1)).enumerate() {
            let run = first + at;
            let (x, grad) = (&x[at * length..][..length], &grad[at * length..][..length]);
            let (mean, inverse, scale) = (mean[run], runs.inverse(variance[run]), runs.own(run, scale));
            // The gradient of each normalised element, the mean of these gradients, and the mean of their products with
            // the elements.
            if inner == 1 {
                for ((out, grad), scale) in out.iter_mut().zip(grad).zip(scale) {
                    *out = *grad * *scale;
                }
            } else {
                for (channel, scale) in scale.iter().enumerate() {
                    let grad = &grad[channel * inner..][..inner];
                    out[channel * inner..][..inner].iter_mut().zip(grad).for_each(|(out, grad)| *out = *grad * *scale);
                }
            }
            let level = sum(isa, out) / count;
            let slope = sum_pairs(out, x, |grad, x| grad * ((x - mean) * inverse)) / count;
            for (out, x) in out.iter_mut().zip(x) {
                *out = (*out - level - (*x - mean) * inverse * slope) * inverse;
            }
        }
    }
}
