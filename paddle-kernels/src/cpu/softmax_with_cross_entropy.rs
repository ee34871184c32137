//! `softmax_with_cross_entropy` and its gradient.

use std::marker::PhantomData;

use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::isa::dispatch;
use super::kernel::{Body, Compiled, Machine, Single, with_float};
use super::number::{Float, exp, ln};
use super::operands::Operands;
use super::pieces::{pairs, pieces};
use super::softmax::{rows_of_piece, shift};
use super::sum::sum;
use crate::messages::class_out_of_range;

/// The first id without a class is an error, whichever thread would come upon one first.
fn check(labels: &[i64], classes: usize) -> Result<(), KernelError> {
    let bad = |id: &i64| usize::try_from(*id).map_or(true, |id| id >= classes);
    // A pass without a branch for each, since almost always all are good.
    if !labels.iter().fold(false, |any, id| any | bad(id)) {
        return Ok(());
    }
    let row = labels.iter().position(bad).unwrap_or_default();
    Err(class_out_of_range(labels[row], row, classes))
}

/// Rows whose sums are at hand at a time.
const ROWS: usize = 64;

struct CrossEntropy<T> {
    classes: Extent,
    element: PhantomData<T>,
}

pub(super) fn compile(single: &Single<'_>) -> Result<Compiled, Unsupported> {
    let (logits, label) = (single.input(0)?, single.input(1)?);
    let (softmax, loss) = (single.output(0)?, single.output(1)?);
    let Some(&classes) = logits.1.shape.last() else { return single.refuse("of a scalar") };
    let dtype = logits.1.dtype;
    let body: Box<dyn Body> =
        with_float!(single, dtype, T => Box::new(CrossEntropy::<T> { classes, element: PhantomData }));
    Ok((single.signature([logits, label], [softmax, loss]), body))
}

impl<T: Float> Body for CrossEntropy<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let classes = self.classes.get(operands.sizes());
        let (reads, writes) = operands.split();
        let (logits, labels) = (reads.get::<T>(0), reads.get::<i64>(1));
        let (softmax, loss) = writes.two::<T, T>();
        let fits = logits.len() == labels.len() * classes && softmax.len() == logits.len();
        assert!(fits && loss.len() == labels.len(), "an id and a loss for each row");
        check(labels, classes)?;
        let rows = rows_of_piece(classes);
        pairs(&machine.team, (softmax, rows * classes), (loss, rows), &|index, softmax, loss| {
            let logits = &logits[index * rows * classes..][..softmax.len()];
            let labels = &labels[index * rows..][..loss.len()];
            cross_entropy(machine.isa, classes, logits, labels, softmax, loss);
        });
        Ok(())
    }
}

dispatch! {
    fn cross_entropy<const FUSED: bool, T: Float>(
        isa, classes: usize, logits: &[T], labels: &[i64], softmax: &mut [T], loss: &mut [T],
    ) {
        shift(classes, logits, softmax);
        for ((softmax, label), loss) in softmax.chunks_exact(classes).zip(labels).zip(loss.iter_mut()) {
            *loss = softmax[*label as usize];
        }
        softmax.iter_mut().for_each(|softmax| *softmax = exp::<FUSED, T>(*softmax));
        // Logarithms are taken of many sums at a time.
        let mut sums = [T::ZERO; ROWS];
        for (softmax, loss) in softmax.chunks_mut(ROWS * classes).zip(loss.chunks_mut(ROWS)) {
            for (softmax, total) in softmax.chunks_exact_mut(classes).zip(&mut sums) {
                *total = sum(softmax);
                let factor = T::of(1.0) / *total;
                softmax.iter_mut().for_each(|softmax| *softmax *= factor);
            }
            for (loss, total) in loss.iter_mut().zip(&sums) {
                *loss = ln::<FUSED, T>(*total) - *loss;
            }
        }
    }
}

struct CrossEntropyGrad<T> {
    classes: Extent,
    element: PhantomData<T>,
}

pub(super) fn compile_grad(single: &Single<'_>) -> Result<Compiled, Unsupported> {
    let (softmax, label) = (single.input(0)?, single.input(1)?);
    let (grad, out) = (single.input(2)?, single.output(0)?);
    let Some(&classes) = out.1.shape.last() else { return single.refuse("of a scalar") };
    let mut losses = out.1.shape.clone();
    losses.pop();
    losses.push(Extent::Fixed(1));
    if softmax.1 != out.1 || grad.1.shape != losses {
        return single.refuse("of a gradient of another shape");
    }
    let dtype = out.1.dtype;
    let body: Box<dyn Body> =
        with_float!(single, dtype, T => Box::new(CrossEntropyGrad::<T> { classes, element: PhantomData }));
    Ok((single.signature([softmax, label, grad], [out]), body))
}

impl<T: Float> Body for CrossEntropyGrad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let classes = self.classes.get(operands.sizes());
        let (reads, writes) = operands.split();
        let (softmax, labels, grad) = (reads.get::<T>(0), reads.get::<i64>(1), reads.get::<T>(2));
        let out = writes.one::<T>();
        let fits = softmax.len() == labels.len() * classes && out.len() == softmax.len();
        assert!(fits && grad.len() == labels.len(), "an id and a gradient for each row");
        check(labels, classes)?;
        let rows = rows_of_piece(classes);
        pieces(&machine.team, out, rows * classes, &|index, out| {
            let softmax = &softmax[index * rows * classes..][..out.len()];
            let (labels, grad) = (&labels[index * rows..], &grad[index * rows..]);
            cross_entropy_grad(machine.isa, classes, softmax, labels, grad, out);
        });
        Ok(())
    }
}

dispatch! {
    fn cross_entropy_grad<const FUSED: bool, T: Float>(
        isa, classes: usize, softmax: &[T], labels: &[i64], grad: &[T], out: &mut [T],
    ) {
        let rows = softmax.chunks_exact(classes).zip(labels).zip(grad);
        for (((softmax, label), grad), out) in rows.zip(out.chunks_exact_mut(classes)) {
            for (out, softmax) in out.iter_mut().zip(softmax) {
                *out = *softmax * *grad;
            }
            let label = *label as usize;
            out[label] = (softmax[label] - T::of(1.0)) * *grad;
        }
    }
}
