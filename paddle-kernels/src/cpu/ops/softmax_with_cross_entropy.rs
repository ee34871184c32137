//! `softmax_with_cross_entropy` and its gradient.

use std::marker::PhantomData;

use paddle_core::ops::{SoftmaxWithCrossEntropy, SoftmaxWithCrossEntropyGrad};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use super::cross_entropy::{Labels, Read};
use super::softmax::{rows_of_piece, shift};
use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::{Float, exp_negative, ln};
use crate::cpu::operands::Operands;
use crate::cpu::pieces::{pairs, pieces};
use crate::cpu::sum::{dot, sum};

/// The number of rows whose sums are kept at a time.
const ROWS: usize = 64;

struct CrossEntropy<T> {
    labels: Labels,
    classes: Extent,
    element: PhantomData<T>,
}

impl Compile for SoftmaxWithCrossEntropy {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (logits, label) = (single.input(0)?, single.input(1)?);
        let (softmax, loss) = (single.output(0)?, single.output(1)?);
        let Some(&classes) = logits.1.shape.last() else { return single.refuse("of a scalar") };
        let (dtype, labels) = (logits.1.dtype, Labels::new(self.soft_label, self.ignore_index));
        let body: Box<dyn Body> = with_float!(single, dtype, T => Box::new(CrossEntropy::<T> { labels, classes, element: PhantomData }));
        Ok((single.signature([logits, label], [softmax, loss]), body))
    }
}

impl<T: Float> Body for CrossEntropy<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let classes = self.classes.get(operands.sizes());
        let (reads, writes) = operands.split();
        let labels = self.labels.read::<T>(&reads, 1, classes)?;
        let logits = reads.get::<T>(0);
        let (softmax, loss) = writes.two::<T, T>();
        let fits = logits.len() == loss.len() * classes && softmax.len() == logits.len();
        assert!(fits, "a loss for each row");
        let rows = rows_of_piece(classes);
        pairs(&machine.team, (softmax, rows * classes), (loss, rows), &|index, softmax, loss| {
            let logits = &logits[index * rows * classes..][..softmax.len()];
            let labels = labels.starting_at(index * rows, classes);
            cross_entropy(machine.isa, classes, logits, labels, softmax, loss);
        });
        Ok(())
    }
}

dispatch! {
    wide if T::WIDE;
    fn cross_entropy<const FUSED: bool, T: Float>(
        isa, classes: usize, logits: &[T], labels: Read<'_, T>, softmax: &mut [T], loss: &mut [T],
    ) {
        shift(classes, logits, softmax);
        // The loss of a row is `weight · ln Σ exp x - Σ label · x`. The second term is written to `loss` first.
        let rows = softmax.chunks_exact(classes).zip(loss.iter_mut());
        match labels {
            Read::Ids(ids, ignore_index) => {
                for ((softmax, loss), id) in rows.zip(ids) {
                    *loss = if *id == ignore_index { T::ZERO } else { softmax[*id as usize] };
                }
            }
            Read::Soft(labels) => {
                for ((softmax, loss), label) in rows.zip(labels.chunks_exact(classes)) {
                    *loss = dot(softmax, label);
                }
            }
        }
        softmax.iter_mut().for_each(|softmax| *softmax = exp_negative::<FUSED, T>(*softmax));
        // Logarithms are computed for many sums at a time.
        let mut sums = [T::ZERO; ROWS];
        let chunks = softmax.chunks_mut(ROWS * classes).zip(loss.chunks_mut(ROWS));
        for (chunk, (softmax, loss)) in chunks.enumerate() {
            for (softmax, total) in softmax.chunks_exact_mut(classes).zip(&mut sums) {
                *total = sum(isa, softmax);
                let factor = T::of(1.0) / *total;
                softmax.iter_mut().for_each(|softmax| *softmax *= factor);
            }
            let labels = labels.starting_at(chunk * ROWS, classes);
            for (i, (loss, total)) in loss.iter_mut().zip(&sums).enumerate() {
                *loss = labels.weight(isa, i, classes) * ln::<FUSED, T>(*total) - *loss;
            }
        }
    }
}

struct CrossEntropyGrad<T> {
    labels: Labels,
    classes: Extent,
    element: PhantomData<T>,
}

impl Compile for SoftmaxWithCrossEntropyGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (softmax, label) = (single.input(0)?, single.input(1)?);
        let (grad, out) = (single.input(2)?, single.output(0)?);
        let Some(&classes) = out.1.shape.last() else { return single.refuse("of a scalar") };
        let mut losses = out.1.shape.clone();
        losses.pop();
        losses.push(Extent::Fixed(1));
        if softmax.1 != out.1 || grad.1.shape != losses {
            return single.refuse("of a gradient of another shape");
        }
        let (dtype, labels) = (out.1.dtype, Labels::new(self.0.soft_label, self.0.ignore_index));
        let body: Box<dyn Body> = with_float!(single, dtype, T => Box::new(CrossEntropyGrad::<T> { labels, classes, element: PhantomData }));
        Ok((single.signature([softmax, label, grad], [out]), body))
    }
}

impl<T: Float> Body for CrossEntropyGrad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let classes = self.classes.get(operands.sizes());
        let (reads, writes) = operands.split();
        let labels = self.labels.read::<T>(&reads, 1, classes)?;
        let (softmax, grad, out) = (reads.get::<T>(0), reads.get::<T>(2), writes.one::<T>());
        let fits = softmax.len() == grad.len() * classes && out.len() == softmax.len();
        assert!(fits, "a gradient for each row");
        let rows = rows_of_piece(classes);
        pieces(&machine.team, out, rows * classes, &|index, out| {
            let softmax = &softmax[index * rows * classes..][..out.len()];
            let (labels, grad) = (labels.starting_at(index * rows, classes), &grad[index * rows..]);
            cross_entropy_grad(machine.isa, classes, softmax, labels, grad, out);
        });
        Ok(())
    }
}

dispatch! {
    wide if T::WIDE;
    fn cross_entropy_grad<const FUSED: bool, T: Float>(
        isa, classes: usize, softmax: &[T], labels: Read<'_, T>, grad: &[T], out: &mut [T],
    ) {
        let rows = softmax.chunks_exact(classes).zip(grad).zip(out.chunks_exact_mut(classes));
        match labels {
            Read::Ids(ids, ignore_index) => {
                for (((softmax, grad), out), id) in rows.zip(ids) {
                    if *id == ignore_index {
                        out.fill(T::ZERO);
                        continue;
                    }
                    for (out, softmax) in out.iter_mut().zip(softmax) {
                        *out = *softmax * *grad;
                    }
                    let class = *id as usize;
                    out[class] = (softmax[class] - T::of(1.0)) * *grad;
                }
            }
            Read::Soft(labels) => {
                for (((softmax, grad), out), label) in rows.zip(labels.chunks_exact(classes)) {
                    let weight = sum(isa, label);
                    for ((out, softmax), label) in out.iter_mut().zip(softmax).zip(label) {
                        *out = (*softmax * weight - *label) * *grad;
                    }
                }
            }
        }
    }
}
