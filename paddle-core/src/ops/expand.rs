//! `expand_as_v2`, `size`: the operators that gradients of reductions consist of.

use super::reduce::reduced;
use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, OfShards,
    Operation, Operator, Program, Reduce, ReduceKind, Sample, Schema, Slot,
};
use crate::program::{Type, VarId};

/// Repeats `X` along the axes of `Y` that a reduction of `Y` over `axes` would remove: the adjoint of
/// [`Reduce`]. Only the shape of `Y` is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Expand {
    /// The axes of the reduction; empty for all.
    pub axes: Vec<i64>,
    /// Whether `X` has these axes, with size 1.
    pub keep_dim: bool,
}

/// The number of elements of `X` along `axes` (all of them if empty), as a scalar of its element type.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// The axes.
    pub axes: Vec<i64>,
}

attributes!(Expand { axes = Vec::new(), keep_dim = false });
attributes!(Size { axes = Vec::new() });

impl Expand {
    /// Whether the axes of `X` are the last ones of `Y`, to which element-wise operators align their operands.
    fn is_aligned(&self) -> bool {
        self.keep_dim || self.axes.iter().copied().eq(0..self.axes.len() as i64)
    }
}

impl Operation for Expand {
    fn schema(&self) -> &'static Schema {
        const SCHEMA: Schema = Schema {
            name: "expand_as_v2",
            doc: "x, repeated along the axes of y that it lacks.",
            inputs: &[Slot::of("X"), Slot::of("Y").shape_only()],
            outputs: &[Slot::of("Out")],
            accuracy: AccuracyClass::MOVED,
            effects: Effects { linear: Linear::In(&[0]), ..Effects::PURE },
        };
        const ALIGNED: Schema =
            Schema { effects: Effects { element_wise: true, ..SCHEMA.effects }, ..SCHEMA };
        if self.is_aligned() { &ALIGNED } else { &SCHEMA }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let (x, y) = (cx.ty(0), cx.ty(1));
        let wrong = || {
            let message = format!("{}, which is not {} without the axes {:?}", cx.is(0), cx.is(1), self.axes);
            cx.wrong(0, MismatchKind::Shape, message)
        };
        let expected =
            reduced(y, &self.axes, self.keep_dim).filter(|ty| ty.rows == x.rows).ok_or_else(wrong)?;
        cx.need_equal_dims(&expected.dims, &x.dims, wrong)?;
        Ok(vec![y.with_dtype(x.dtype)])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let sum = Reduce { kind: ReduceKind::Sum, axes: self.axes.clone(), keep_dim: self.keep_dim };
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(sum, &[grad])?), None])
    }

    /// A value without rows is repeated for each row.
    fn of_shards(&self, program: &Program, operator: &Operator, output: usize) -> OfShards {
        match program.ty(operator.outputs[output]).rows {
            Some(_) => OfShards::Rows,
            None => OfShards::Other,
        }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |axes: &[i64], keep_dim| Sample::of(Expand { axes: axes.to_vec(), keep_dim });
        vec![
            op(&[], false).dense(&[]).rows(3, &[4]),
            op(&[0], false).dense(&[4]).rows(3, &[4]),
            op(&[1], false).rows(3, &[]).rows(3, &[4]),
            op(&[1], true).rows(3, &[1]).rows(3, &[4]),
            op(&[0, 2], false).dense(&[3]).dense(&[2, 3, 4]),
            op(&[], false).dense(&[]).rows(0, &[4]),
        ]
    }
}

impl Operation for Size {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "size",
                doc: "The number of elements of x along axes.",
                inputs: &[Slot::of("X").shape_only()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("a whole number, rounded once"),
                effects: Effects { element_wise: true, differentiable: false, ..Effects::PURE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        if reduced(cx.ty(0), &self.axes, false).is_none() {
            let message = format!("{}: it has no axes {:?} in ascending order", cx.is(0), self.axes);
            return Err(cx.wrong(0, MismatchKind::Attribute, message));
        }
        Ok(vec![Type::scalar(cx.ty(0).dtype)])
    }

    fn of_shards(&self, _: &Program, _: &Operator, _output: usize) -> OfShards {
        let counts_rows = self.axes.is_empty() || self.axes.contains(&0);
        if counts_rows { OfShards::Sum } else { OfShards::Same }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        vec![
            Sample::of(Size { axes: Vec::new() }).rows(3, &[4]),
            Sample::of(Size { axes: vec![0] }).rows(3, &[4]),
            Sample::of(Size { axes: Vec::new() }).rows(0, &[4]),
        ]
    }
}
