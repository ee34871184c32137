//! `cross_entropy` and its gradient.

use std::marker::PhantomData;

use paddle_core::ops::{CrossEntropy, CrossEntropyGrad};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use super::softmax::rows_of_piece;
use crate::cpu::id_checks::first_outside;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::{Float, ln};
use crate::cpu::operands::{Operands, Reads};
use crate::cpu::pieces::pieces;
use crate::cpu::sum::{dot, sum};
use crate::messages::class_out_of_range;

/// The logarithm of probability 0.
const LEAST_LOGARITHM: f64 = -1e20;
/// The number of logarithms that are computed at a time.
const TILE: usize = 256;

/// The kind of labels.
#[derive(Clone, Copy)]
pub(super) enum Labels {
    /// Class ids. The id `ignore_index` stands for no class.
    Ids { ignore_index: i64 },
    /// Probabilities.
    Soft,
}

impl Labels {
    pub(super) fn new(soft_label: bool, ignore_index: i64) -> Self {
        if soft_label { Labels::Soft } else { Labels::Ids { ignore_index } }
    }

    /// The labels in operand `k`.
    pub(super) fn read<'a, T: Float>(
        self,
        reads: &Reads<'a>,
        k: usize,
        classes: usize,
    ) -> Result<Read<'a, T>, KernelError> {
        let Labels::Ids { ignore_index } = self else { return Ok(Read::Soft(reads.get::<T>(k))) };
        let ids = reads.get::<i64>(k);
        match first_outside(ids, classes, Some(ignore_index)) {
            Some(row) => Err(class_out_of_range(ids[row], row, classes)),
            None => Ok(Read::Ids(ids, ignore_index)),
        }
    }
}

/// The labels of a launch: probabilities, or class ids that were checked.
#[derive(Clone, Copy)]
pub(super) enum Read<'a, T> {
    Ids(&'a [i64], i64),
    Soft(&'a [T]),
}

impl<T: Float> Read<'_, T> {
    /// The sum of what the label of a row assigns to all classes.
    #[inline(always)]
    pub(super) fn weight(self, isa: Isa, row: usize, classes: usize) -> T {
        match self {
            Read::Ids(ids, ignore_index) => T::of(if ids[row] == ignore_index { 0.0 } else { 1.0 }),
            Read::Soft(labels) => sum(isa, &labels[row * classes..][..classes]),
        }
    }

    /// The labels of the rows from `first` on.
    pub(super) fn starting_at(self, first: usize, classes: usize) -> Self {
        match self {
            Read::Ids(ids, ignore_index) => Read::Ids(&ids[first..], ignore_index),
            Read::Soft(labels) => Read::Soft(&labels[first * classes..]),
        }
    }
}

struct Losses<T> {
    labels: Labels,
    classes: Extent,
    element: PhantomData<T>,
}

impl Compile for CrossEntropy {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, label, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let Some(&classes) = x.1.shape.last() else { return single.refuse("of a scalar") };
        let (dtype, labels) = (x.1.dtype, Labels::new(self.soft_label, self.ignore_index));
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Losses::<T> { labels, classes, element: PhantomData }));
        Ok((single.signature([x, label], [out]), body))
    }
}

impl<T: Float> Body for Losses<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let classes = self.classes.get(operands.sizes()).max(1);
        let (reads, writes) = operands.split();
        let labels = self.labels.read::<T>(&reads, 1, classes)?;
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        let rows = rows_of_piece(classes);
        pieces(&machine.team, out, rows, &|index, out| {
            let first = index * rows;
            losses(machine.isa, classes, &x[first * classes..], labels.starting_at(first, classes), out);
        });
        Ok(())
    }
}

dispatch! {
    fn losses<const FUSED: bool, T: Float>(isa, classes: usize, x: &[T], labels: Read<'_, T>, out: &mut [T]) {
        let log = |x: T| ln::<FUSED, T>(x).max(T::of(LEAST_LOGARITHM));
        let rows = x.chunks_exact(classes);
        match labels {
            Read::Ids(ids, ignore_index) => {
                for ((x, id), out) in rows.zip(ids).zip(out) {
                    *out = if *id == ignore_index { T::ZERO } else { -log(x[*id as usize]) };
                }
            }
            Read::Soft(labels) => {
                let mut logs = [T::ZERO; TILE];
                for ((x, label), out) in rows.zip(labels.chunks_exact(classes)).zip(out) {
                    *out = T::ZERO;
                    for (x, label) in x.chunks(TILE).zip(label.chunks(TILE)) {
                        logs.iter_mut().zip(x).for_each(|(log_of, x)| *log_of = log(*x));
                        *out -= dot(&logs[..x.len()], label);
                    }
                }
            }
        }
    }
}

struct Grad<T> {
    labels: Labels,
    classes: Extent,
    element: PhantomData<T>,
}

impl Compile for CrossEntropyGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, label, grad, out) = (single.input(0)?, single.input(1)?, single.input(2)?, single.output(0)?);
        let Some(&classes) = x.1.shape.last() else { return single.refuse("of a scalar") };
        let (dtype, labels) = (x.1.dtype, Labels::new(self.0.soft_label, self.0.ignore_index));
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Grad::<T> { labels, classes, element: PhantomData }));
        Ok((single.signature([x, label, grad], [out]), body))
    }
}

impl<T: Float> Body for Grad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let classes = self.classes.get(operands.sizes()).max(1);
        let (reads, writes) = operands.split();
        let labels = self.labels.read::<T>(&reads, 1, classes)?;
        let (x, grad, out) = (reads.get::<T>(0), reads.get::<T>(2), writes.one::<T>());
        let rows = rows_of_piece(classes);
        pieces(&machine.team, out, rows * classes, &|index, out| {
            let first = index * rows;
            let labels = labels.starting_at(first, classes);
            gradients(machine.isa, classes, &x[first * classes..], labels, &grad[first..], out);
        });
        Ok(())
    }
}

dispatch! {
    fn gradients<const FUSED: bool, T: Float>(
        isa, classes: usize, x: &[T], labels: Read<'_, T>, grad: &[T], out: &mut [T],
    ) {
        let rows = x.chunks_exact(classes).zip(grad).zip(out.chunks_exact_mut(classes));
        match labels {
            Read::Ids(ids, ignore_index) => {
                for (((x, grad), out), id) in rows.zip(ids) {
                    out.fill(T::ZERO);
                    if *id != ignore_index {
                        out[*id as usize] = -*grad / x[*id as usize];
                    }
                }
            }
            Read::Soft(labels) => {
                for (((x, grad), out), label) in rows.zip(labels.chunks_exact(classes)) {
                    for ((out, x), label) in out.iter_mut().zip(x).zip(label) {
                        // A class with probability 0 in the label has no gradient, even if its predicted probability is
                        // 0.
                        *out = T::select(*label == T::ZERO, T::ZERO, -*label / *x * *grad);
                    }
                }
            }
        }
    }
}
