//! `one_hot_v2`: each id as a vector with a single 1.

use super::{AccuracyClass, Effects, Infer, Mismatch, MismatchKind, Operation, Sample, Schema, Slot};
use crate::program::{DType, Dim, Type};

/// `Out[.., j]` is 1 where `j` is `X[..]`, and 0 elsewhere.
///
/// `X`: i64 ids; `Out`: the shape of `X`, and `depth` behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct OneHot {
    /// The number of ids.
    pub depth: Dim,
    /// The element type of the result, a type of numbers.
    pub dtype: DType,
    /// Whether an id out of range gives zeros. Otherwise it is an error at run time.
    pub allow_out_of_range: bool,
}

attributes!(OneHot { depth: Dim::from(1), dtype = DType::F32, allow_out_of_range = false });

impl Operation for OneHot {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "one_hot_v2",
                doc: "Ids as rows with a single 1.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("ones and zeros"),
                effects: Effects { differentiable: false, ..Effects::ROW_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_dtype(0, DType::I64)?;
        if self.dtype == DType::Bool {
            return Err(cx.fail(MismatchKind::Attribute, format!("`{}` gives numbers", cx.operator)));
        }
        cx.need_positive(&self.depth, || {
            let message = format!("`{}` needs a depth above 0", cx.operator);
            cx.fail(MismatchKind::Attribute, message)
        })?;
        let mut out = cx.ty(0).with_dtype(self.dtype);
        out.dims.push(self.depth.clone());
        Ok(vec![out])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |depth: i64, dtype, allow_out_of_range| {
            Sample::of(OneHot { depth: Dim::from(depth), dtype, allow_out_of_range })
        };
        let ids = |sample: Sample, low: f64, high: f64| sample.dtype(DType::I64).within(low, high);
        vec![
            ids(of(4, DType::F32, false).rows(5, &[]), 0.0, 4.0),
            ids(of(3, DType::F64, false).dense(&[2, 3]), 0.0, 3.0),
            ids(of(3, DType::I64, true).rows(9, &[2]), -3.0, 6.0),
            ids(of(2, DType::F32, false).rows(1, &[1]), 0.0, 2.0),
            ids(of(2, DType::F32, false).rows(0, &[]), 0.0, 2.0),
        ]
    }
}
