//! `top_k_v2`, `argsort`: sorted elements along an axis, and their indices.

use super::{
    AccuracyClass, Attribute, AttributeError, AttributeReader, AttributeValue, Attributes, Effects, Gradient,
    GradientError, Infer, Mismatch, MismatchKind, Operation, Sample, Schema, Slot, TakeAlongAxis,
    TakeAlongAxisGrad,
};
use crate::program::{DType, Dim, Type, VarId};

/// The first `k` elements of `X` along an axis in sorted order, or all of them, and their indices. Equal elements keep
/// their order; NaN is larger than every number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopK {
    /// The number of elements; `None` for all, which is `argsort`.
    pub k: Option<i64>,
    /// The axis. The axis of the rows counts as 0.
    pub axis: i64,
    /// Whether the largest elements come first, instead of the smallest.
    pub largest: bool,
}

impl Attributes for TopK {
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
        let axis = ("axis", self.axis.to_attribute());
        match self.k {
            Some(k) => vec![("k", k.to_attribute()), axis, ("largest", self.largest.to_attribute())],
            None => vec![axis, ("descending", self.largest.to_attribute())],
        }
    }

    fn with_attributes(&self, mut reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
        let axis = reader.take("axis", None)?;
        let (k, largest) = match self.k {
            Some(_) => (Some(reader.take("k", Some(1))?), reader.take("largest", Some(true))?),
            None => (None, reader.take("descending", Some(false))?),
        };
        reader.finish()?;
        Ok(TopK { k, axis, largest })
    }

    fn prototypes() -> Vec<Self> {
        vec![TopK { k: Some(1), axis: 1, largest: true }, TopK { k: None, axis: 1, largest: false }]
    }
}

impl Operation for TopK {
    fn schema(&self) -> &'static Schema {
        const SCHEMA: Schema = Schema {
            name: "top_k_v2",
            doc: "The largest, or the smallest, elements along an axis, and where they are.",
            inputs: &[Slot::of("X")],
            outputs: &[Slot::of("Out"), Slot::of("Indices")],
            accuracy: AccuracyClass::MOVED,
            effects: Effects::ROW_WISE,
        };
        const ALL: Schema = Schema {
            name: "argsort",
            doc: "The elements along an axis in order, and where they are.",
            ..SCHEMA
        };
        if self.k.is_some() { &SCHEMA } else { &ALL }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_number(0)?;
        let at = cx.need_axis(0, self.axis)?;
        let mut out = cx.ty(0).clone();
        if let Some(k) = self.k {
            let wrong = || {
                let message =
                    format!("{}, which does not have {k} elements along axis {}", cx.is(0), self.axis);
                cx.wrong(0, MismatchKind::Attribute, message)
            };
            if k < 1 {
                return Err(wrong());
            }
            cx.need_positive(&(&out.dims[at] - &Dim::from(k - 1))?, wrong)?;
            out.dims[at] = Dim::from(k);
        }
        let indices = out.with_dtype(DType::I64);
        Ok(vec![out, indices])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.output(1), g.grad(0)?];
        Ok(vec![Some(g.emit(TakeAlongAxisGrad(TakeAlongAxis { axis: self.axis }), &inputs)?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |k, axis, largest| Sample::of(TopK { k, axis, largest });
        // Elements are far apart, since the order changes where they are equal.
        let far = |sample: Sample| sample.within(-30.0, 30.0);
        vec![
            far(op(Some(1), 1, true).rows(3, &[4])),
            far(op(Some(2), 2, true).rows(2, &[3, 5])),
            far(op(Some(3), 0, false).dense(&[3])),
            far(op(Some(2), 1, false).rows(2, &[4, 3])),
            op(Some(1), 1, true).rows(0, &[4]),
            op(Some(2), 1, true).rows(1, &[9]).dtype(DType::I64).within(-3.0, 3.0),
            far(op(None, 1, false).rows(3, &[7])),
            far(op(None, 1, true).rows(2, &[5, 2])),
            op(None, 0, false).dense(&[6]).dtype(DType::I32).within(0.0, 3.0),
            far(op(None, 1, false).rows(1, &[2])),
            op(None, 1, false).rows(0, &[3]),
        ]
    }
}
