//! `auc`: the probability that a positive row ranks above a negative one.

use super::{AccuracyClass, Effects, Infer, Mismatch, MismatchKind, Operation, Sample, Schema, Slot};
use crate::program::{DType, Dim, Type};

/// The area under the ROC curve; 0 if there are no positive or no negative rows. The range of probabilities is cut into
/// `num_thresholds + 1` equal parts, and the rows in each part are counted.
///
/// `Predict`: floating point `[_, 2]`, whose last column is the probability of the positive class, or `[_, 1]`; `Label`:
/// i64 `[_, 1]`, positive above 0 and negative at 0. `AUC`: an f64 scalar. A probability outside of 0 to 1 is an error at
/// run time.
///
/// `StatPos` and `StatNeg` are the counts, i64 `[1, num_thresholds + 1]`, to which those of the batch are added. With
/// `slide_steps`, they hold one after the other: the counts of each of the last `slide_steps` batches, their sum, from
/// which the area is computed, and the number of batches so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Auc {
    /// The number of thresholds, which cut the range of probabilities.
    pub num_thresholds: i64,
    /// The number of last batches that count; 0 for all.
    pub slide_steps: i64,
}

attributes!(Auc { num_thresholds = 4095, slide_steps = 0 });

impl Auc {
    /// The type of the counts; `None` if there are none.
    pub fn counts(&self) -> Option<Type> {
        let buckets = self.num_thresholds.checked_add(1).filter(|&buckets| buckets > 1)?;
        let dims = match self.slide_steps {
            0 => vec![1, buckets],
            steps @ 1.. => vec![steps.checked_add(1)?.checked_mul(buckets)?.checked_add(1)?],
            _ => return None,
        };
        Some(Type::new(DType::I64, dims))
    }
}

impl Operation for Auc {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "auc",
                doc: "The probability that a positive row ranks above a negative one.",
                inputs: &[
                    Slot::of("Predict"),
                    Slot::of("Label"),
                    Slot::of("StatPos").changed(),
                    Slot::of("StatNeg").changed(),
                ],
                outputs: &[Slot::of("AUC")],
                accuracy: AccuracyClass::Exact("whole numbers are counted, and one quotient is rounded"),
                effects: Effects { differentiable: false, ..Effects::STATE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_dtype(1, DType::I64)?;
        cx.common_rows(0, 1)?;
        let [predict, label] = [cx.ty(0), cx.ty(1)];
        let width = predict.dims.last().and_then(Dim::constant);
        if predict.rank() != 2 || !matches!(width, Some(1 | 2)) {
            let message =
                format!("{}, but `{}` needs probabilities: [_, 2] or [_, 1]", cx.is(0), cx.operator);
            return Err(cx.wrong(0, MismatchKind::Shape, message));
        }
        let mut ids = predict.with_dtype(DType::I64);
        if let Some(last) = ids.dims.last_mut() {
            *last = Dim::from(1);
        }
        let wrong = || {
            let message = format!("{}, but `{}` needs a class for each row: [_, 1]", cx.is(1), cx.operator);
            cx.wrong(1, MismatchKind::Shape, message)
        };
        if label.rows != ids.rows {
            return Err(wrong());
        }
        cx.need_equal_dims(&label.dims, &ids.dims, wrong)?;
        let Some(counts) = self.counts() else {
            let message = format!("`{}` needs at least one threshold", cx.operator);
            return Err(cx.fail(MismatchKind::Attribute, message));
        };
        cx.need_type(2, &counts)?;
        cx.need_type(3, &counts)?;
        Ok(vec![Type::scalar(DType::F64)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let case = |slide_steps, rows, width: i64, counts: &[i64]| {
            let predict =
                Sample::of(Auc { num_thresholds: 7, slide_steps }).rows(rows, &[width]).within(0.0, 1.0);
            let label = predict.rows(rows, &[1]).dtype(DType::I64).within(0.0, 2.0);
            let positive = label.dense(counts).dtype(DType::I64).within(0.0, 5.0);
            positive.dense(counts).dtype(DType::I64).within(0.0, 5.0)
        };
        vec![
            case(0, 9, 2, &[1, 8]),
            case(0, 5, 1, &[1, 8]),
            case(0, 1, 2, &[1, 8]),
            case(0, 0, 2, &[1, 8]),
            case(2, 6, 2, &[25]),
        ]
    }
}
