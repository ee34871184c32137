//! `top_k_v2`: the largest elements along the last axis.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample, Schema,
};
use crate::program::{DType, Dim, Type, VarId};

/// The `k` largest elements along the last axis of `X`, largest first, and where they are. Of equal elements, the first
/// comes first; NaN comes before every number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopK {
    /// How many.
    pub k: i64,
}

/// Gradient of [`TopK`]: `Out@GRAD` where the elements were, and zeros elsewhere. Of `X` only the shape is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopKGrad {
    /// How many.
    pub k: i64,
}

attributes!(TopK { k = 1 });
attributes!(TopKGrad { k = 1 });

fn chosen(cx: &Infer<'_>, k: i64) -> Result<Type, Mismatch> {
    cx.need_float(0)?;
    cx.need_dims(0, 1)?;
    let mut out = cx.ty(0).clone();
    let Some(last) = out.dims.last_mut() else { return Ok(out) };
    let wrong = || {
        let message = format!("{}, which has no {k} largest elements along its last axis", cx.is(0));
        cx.wrong(0, MismatchKind::Attribute, message)
    };
    if k < 1 {
        return Err(wrong());
    }
    cx.need_positive(&(&*last - &Dim::from(k - 1))?, wrong)?;
    *last = Dim::from(k);
    Ok(out)
}

impl Operation for TopK {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "top_k_v2",
            doc: "The largest elements along the last axis, and where they are.",
            inputs: &["X"],
            outputs: &["Out", "Indices"],
            effects: Effects::ROW_WISE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let out = chosen(cx, self.k)?;
        let indices = out.with_dtype(DType::I64);
        Ok(vec![out, indices])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, indices, grad) = (g.input(0), g.output(1), g.grad(0)?);
        Ok(vec![Some(g.emit(TopKGrad { k: self.k }, &[x, indices, grad])?)])
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![TopK { k: 1 }]
    }

    fn samples() -> Vec<Sample> {
        let op = |k| Sample::of(TopK { k });
        vec![op(1).rows(3, &[4]), op(2).rows(2, &[3, 5]), op(3).dense(&[3]), op(1).rows(0, &[4])]
    }
}

impl Operation for TopKGrad {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "top_k_v2_grad",
            doc: "Gradient of `top_k_v2`.",
            inputs: &["X", "Indices", "Out@GRAD"],
            outputs: &["X@GRAD"],
            effects: Effects::ROW_WISE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let out = chosen(cx, self.k)?;
        cx.need_type(1, &out.with_dtype(DType::I64))?;
        cx.need_type(2, &out)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Err(g.second_order())
    }

    fn reads(&self, k: usize) -> bool {
        k != 0
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![TopKGrad { k: 1 }]
    }
}
