//! `concat`, `split`: values joined along an axis, and cut apart again.

use super::slice::neighbours;
use super::{
    AccuracyClass, Effects, Form, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    Operator, Program, Sample, Schema, Slot,
};
use crate::program::{Dim, Type, VarId};

/// Joins the inputs along an axis, which is not that of the rows. They agree in element type, rows and all other
/// dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Concat {
    /// The axis. The axis of the rows counts as 0.
    pub axis: i64,
}

/// Cuts `X` along an axis, which is not that of the rows, into parts of these sizes: the inverse of [`Concat`].
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The axis. The axis of the rows counts as 0.
    pub axis: i64,
    /// The sizes of the parts along the axis.
    pub sections: Vec<Dim>,
}

attributes!(Concat { axis: 1 });
attributes!(Split { axis: 1, sections: Vec::new() });

fn sum<'a>(sizes: impl IntoIterator<Item = &'a Dim>) -> Result<Dim, Mismatch> {
    Ok(sizes.into_iter().try_fold(Dim::from(0), |sum, size| &sum + size)?)
}

impl Operation for Concat {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "concat",
                doc: "Values one after another along an axis.",
                inputs: &[Slot::of("X").variadic()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let Some(first) = cx.types.first() else {
            return Err(cx.fail(MismatchKind::Count, format!("`{}` needs at least one value", cx.operator)));
        };
        let at = cx.need_axis(0, self.axis)?;
        for (k, ty) in cx.types.iter().enumerate().skip(1) {
            cx.same_dtype(0, k)?;
            cx.common_rows(0, k)?;
            let wrong = || {
                let message = format!(
                    "{}, but {}: `{}` needs shapes that agree but along axis {}",
                    cx.is(k),
                    cx.is(0),
                    cx.operator,
                    self.axis
                );
                cx.wrong(k, MismatchKind::Shape, message)
            };
            if ty.rows != first.rows || ty.dims.len() != first.dims.len() {
                return Err(wrong());
            }
            let others = ty.dims.iter().zip(&first.dims).enumerate().filter(|(i, _)| *i != at);
            others.into_iter().try_for_each(|(_, (a, b))| cx.need_equal(a, b, wrong))?;
        }
        let mut out = first.clone();
        out.dims[at] = sum(cx.types.iter().map(|ty| &ty.dims[at]))?;
        Ok(vec![out])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        let inputs = g.operator().inputs.clone();
        let rows = usize::from(g.ty(grad).rows.is_some());
        let section = |input: &VarId| g.ty(*input).dims[self.axis as usize - rows].clone();
        let sections = inputs.iter().map(section).collect();
        let parts = g.emit_all(Split { axis: self.axis, sections }, &[grad])?;
        Ok(parts.into_iter().map(Some).collect())
    }

    fn form(&self, _: &Program, _: &Operator) -> Option<Form> {
        usize::try_from(self.axis).ok().map(Form::Concatenation)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |axis| Sample::of(Concat { axis });
        vec![
            op(1).rows(3, &[2]).rows(3, &[4]).rows(3, &[1]),
            op(2).rows(2, &[3, 2]).rows(2, &[3, 5]),
            op(1).rows(2, &[3, 2]).rows(2, &[1, 2]),
            op(0).dense(&[2, 3]).dense(&[1, 3]),
            op(1).rows(4, &[3]),
            op(1).rows(0, &[2]).rows(0, &[4]),
        ]
    }
}

impl Operation for Split {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "split",
                doc: "Parts of x along an axis.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out").variadic()],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), ..Effects::ROW_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let at = cx.need_axis(0, self.axis)?;
        let of = &cx.ty(0).dims[at];
        let wrong = || {
            let sizes: Vec<String> = self.sections.iter().map(|size| cx.program.show_dim(size)).collect();
            let sizes = sizes.join(", ");
            let message = format!("{}, which has no parts of [{sizes}] along axis {}", cx.is(0), self.axis);
            cx.wrong(0, MismatchKind::Shape, message)
        };
        if self.sections.is_empty() {
            return Err(wrong());
        }
        cx.need_equal(&sum(&self.sections)?, of, wrong)?;
        // A symbol is the size of a value, which may have no elements.
        let computed = self.sections.iter().filter(|size| size.as_symbol().is_none());
        computed.into_iter().try_for_each(|size| cx.need_positive(size, wrong))?;
        let part = |size: &Dim| {
            let mut part = cx.ty(0).clone();
            part.dims[at] = size.clone();
            part
        };
        Ok(self.sections.iter().map(part).collect())
    }

    fn begins_at(&self, program: &Program, operator: &Operator, output: usize) -> Option<usize> {
        let before = self.sections[..output]
            .iter()
            .try_fold(0, |sum: usize, size| sum.checked_add(usize::try_from(size.constant()?).ok()?))?;
        neighbours(program, operator.inputs[0], self.axis, before)
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let parts = (0..self.sections.len()).map(|k| g.grad(k)).collect::<Result<Vec<_>, _>>()?;
        Ok(vec![Some(g.emit(Concat { axis: self.axis }, &parts)?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |axis, sections: &[i64]| {
            Sample::of(Split { axis, sections: sections.iter().copied().map(Dim::from).collect() })
        };
        vec![
            op(1, &[2, 1]).rows(3, &[3]),
            op(2, &[1, 2, 1]).rows(2, &[3, 4]),
            op(0, &[1, 2]).dense(&[3, 2]),
            op(1, &[2, 2]).rows(0, &[4]),
        ]
    }
}
