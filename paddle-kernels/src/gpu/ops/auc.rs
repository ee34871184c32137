//! `auc`: a thread for each part of the range of probabilities counts the rows in it.

use paddle_core::ops::Auc;
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    Float, LANES, Long, Unsigned, Variable, barrier, double, each, fail, for_each, lane, otherwise, scalar,
    when,
};
use crate::gpu::kernel::{Grid, Kernel, product};
use crate::gpu::tensor::{Call, Element};
use crate::messages::no_probability;

fn u(value: u32) -> Unsigned {
    Unsigned::of(value)
}

fn constant(value: f64) -> Long {
    Long::of(value.to_bits() as i64)
}

impl Compile for Auc {
    fn is_supported(&self, types: &[DType]) -> bool {
        types.first() != Some(&DType::F64) && self.num_thresholds < i64::from(i32::MAX)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let buckets = self.num_thresholds as u32 + 1;
        let predict = call.shape(0).to_vec();
        let probability = |row: Unsigned| {
            let width = scalar(&predict[1..]);
            call.input(0).float(row * width + width - u(1))
        };
        let checked = Kernel::new().stage(Grid::Items(predict[..1].to_vec()), || {
            each(scalar(&predict[..1]), |row| {
                let found = probability(row);
                let zero_to_one =
                    found.greater_equal(Float::constant(0.0)) & found.less_equal(Float::constant(1.0));
                when(!zero_to_one, || fail(row));
            });
        });
        let counted = checked.stage(Grid::Items(vec![Extent::Fixed(buckets as usize)]), || {
            let labels = call.input(1);
            each(u(buckets), |bucket| {
                let found = [(); 2].map(|()| Variable::new(u(0)));
                for_each(u(0), labels.elements(), u(1), |row| {
                    let place = double::multiply(
                        double::of_single(probability(row)),
                        constant(f64::from(buckets - 1)),
                    );
                    when(double::whole(place).is(bucket), || {
                        let label = labels.load(row).long();
                        let is_negative = label.is(Long::of(0));
                        let is_positive = !label.is_negative() & !is_negative;
                        for (count, counts) in found.iter().zip([is_positive, is_negative]) {
                            count.set(count.get() + counts.to_unsigned());
                        }
                    });
                });
                for (k, count) in found.iter().enumerate() {
                    add_up(self, &call, 2 + k, bucket, Long::of_unsigned(count.get()));
                }
            });
        });
        let kernel = counted.stage(Grid::One, || finish(self, &call));
        let (number, width) = (call.input_number(0), predict[1..].to_vec());
        Ok(kernel.explain(move |evidence, row| {
            let width = product(&width, evidence.sizes);
            let found = f32::from_bits(evidence.word(number, (row + 1) * width - 1));
            no_probability(f64::from(found), row)
        }))
    }
}

/// Where the counts begin from which the area is computed.
fn sums(op: &Auc) -> u32 {
    (op.slide_steps * (op.num_thresholds + 1)) as u32
}

/// Adds what a batch has to the counts in an operand.
fn add_up(op: &Auc, call: &Call<'_>, operand: usize, bucket: Unsigned, found: Long) {
    let counts = call.input(operand);
    let buckets = u(op.num_thresholds as u32 + 1);
    let sum = u(sums(op)) + bucket;
    let old = counts.load(sum).long();
    if op.slide_steps == 0 {
        counts.store(sum, Element::Long(old + found));
        return;
    }
    // The oldest batch is replaced. Behind the sums is the number of batches.
    let batches = counts.load(u(sums(op)) + buckets).long().low;
    let oldest = batches % u(op.slide_steps as u32) * buckets + bucket;
    counts.store(sum, Element::Long(old - counts.load(oldest).long() + found));
    counts.store(oldest, Element::Long(found));
}

/// Computes the area, and counts the batch.
fn finish(op: &Auc, call: &Call<'_>) {
    let (positive, negative, out) = (call.input(2), call.input(3), call.output(0));
    let (buckets, lane) = (u(op.num_thresholds as u32 + 1), lane());
    let (above, left, area) =
        (SharedElements::new(DType::I64), SharedElements::new(DType::I64), SharedElements::new(DType::I64));
    let add = |to: &SharedElements, at: Unsigned, more: Long| {
        to.set(at, Element::Long(to.get(at).long() + more));
    };
    // Each thread goes down a part of the thresholds: positive rows above, negative ones, and twice the area.
    for of in [&above, &left, &area] {
        of.set(lane, Element::Long(Long::of(0)));
    }
    let share = (buckets + u(LANES - 1)) / u(LANES);
    for_each((lane * share).least(buckets), ((lane + u(1)) * share).least(buckets), u(1), |step| {
        let at = u(sums(op)) + (buckets - u(1) - step);
        let (yes, no) = (positive.load(at).long(), negative.load(at).long());
        let before = above.get(lane).long();
        add(&area, lane, no * (before + before + yes));
        add(&above, lane, yes);
        add(&left, lane, no);
    });
    barrier();
    when(lane.is(u(0)), || {
        for_each(u(1), u(LANES), u(1), |other| {
            let (before, no) = (above.get(u(0)).long(), left.get(other).long());
            add(&area, u(0), area.get(other).long() + no * (before + before));
            add(&above, u(0), above.get(other).long());
            add(&left, u(0), no);
        });
        let [above, left, area] = [&above, &left, &area].map(|of| of.get(u(0)).long());
        let none = !Long::of(0).less(above) | !Long::of(0).less(left);
        when(none, || out.store(u(0), Element::Long(Long::of(0))));
        otherwise(|| {
            let [above, left, area] = [above, left, area].map(double::of_whole);
            let share = double::divide(double::multiply(area, constant(0.5)), above);
            out.store(u(0), Element::Long(double::divide(share, left)));
        });
        if op.slide_steps > 0 {
            for counts in [&positive, &negative] {
                let batches = u(sums(op)) + buckets;
                counts.store(batches, Element::Long(counts.load(batches).long() + Long::of(1)));
            }
        }
    });
}
