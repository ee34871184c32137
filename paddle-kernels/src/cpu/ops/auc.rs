//! `auc`. One thread does the counting, as a batch has few rows.

use std::marker::PhantomData;

use paddle_core::ops::Auc;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::messages::no_probability;

struct Count<T> {
    op: Auc,
    width: Extent,
    element: PhantomData<T>,
}

impl Compile for Auc {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (predict, label) = (single.input(0)?, single.input(1)?);
        let (positive, negative, out) = (single.input(2)?, single.input(3)?, single.output(0)?);
        let Some(&width) = predict.1.shape.last() else { return single.refuse("of a scalar") };
        let dtype = predict.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Count::<T> { op: *self, width, element: PhantomData }));
        Ok((single.signature([predict, label], [out, positive, negative]), body))
    }
}

impl<T: Float + Into<f64>> Body for Count<T> {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = self.width.get(operands.sizes()).max(1);
        let (reads, writes) = operands.split();
        let (predict, labels) = (reads.get::<T>(0), reads.get::<i64>(1));
        let (out, positive, negative) = writes.three::<f64, i64, i64>();
        let probability = |row: usize| -> f64 { predict[(row + 1) * width - 1].into() };
        if let Some(row) = (0..labels.len()).find(|&row| !(0.0..=1.0).contains(&probability(row))) {
            return Err(no_probability(probability(row), row));
        }
        let bucket = |row: usize| (probability(row) * self.op.num_thresholds as f64) as usize;
        let buckets = self.op.num_thresholds as usize + 1;
        let of = |counts: &mut [i64], counted: &dyn Fn(i64) -> bool| {
            let rows = (0..labels.len()).filter(|&row| counted(labels[row]));
            match self.op.slide_steps as usize {
                0 => rows.for_each(|row| counts[bucket(row)] += 1),
                steps => {
                    let (counts, batches) = counts.split_at_mut((steps + 1) * buckets);
                    let (batch, sum) = counts.split_at_mut(steps * buckets);
                    let oldest = batches[0].rem_euclid(steps as i64) as usize * buckets;
                    let batch = &mut batch[oldest..oldest + buckets];
                    sum.iter_mut().zip(batch.iter()).for_each(|(sum, old)| *sum -= old);
                    batch.fill(0);
                    rows.for_each(|row| batch[bucket(row)] += 1);
                    sum.iter_mut().zip(batch.iter()).for_each(|(sum, new)| *sum += new);
                    batches[0] += 1;
                }
            }
        };
        of(positive, &|label| label > 0);
        of(negative, &|label| label == 0);
        let sum = self.op.slide_steps as usize * buckets;
        out.fill(area(&positive[sum..sum + buckets], &negative[sum..sum + buckets]));
        Ok(())
    }
}

/// The area under the curve. Its points are the numbers of positive and of negative rows above each threshold, from the
/// highest threshold down.
fn area(positive: &[i64], negative: &[i64]) -> f64 {
    let (mut area, mut above, mut left) = (0.0, 0.0, 0.0);
    for (&positive, &negative) in positive.iter().zip(negative).rev() {
        let (positive, negative) = (positive as f64, negative as f64);
        area += negative * (2.0 * above + positive) / 2.0;
        (above, left) = (above + positive, left + negative);
    }
    if above > 0.0 && left > 0.0 { area / above / left } else { 0.0 }
}
