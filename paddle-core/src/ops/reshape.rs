//! `reshape2`: the same elements in another shape.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    Sample, Schema, Slot,
};
use crate::program::{Dim, DimOverflow, Type, VarId};

/// Gives `X` other dimensions behind its rows. The number of elements in a row stays the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Reshape {
    /// The new dimensions, without that of the rows.
    pub dims: Vec<Dim>,
}

attributes!(Reshape { dims: Vec::new() });

fn elements(dims: &[Dim]) -> Result<Dim, DimOverflow> {
    dims.iter().try_fold(Dim::from(1), |product, dim| &product * dim)
}

impl Operation for Reshape {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "reshape2",
                doc: "x in another shape.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), same_elements: true, ..Effects::ROW_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let ty = cx.ty(0);
        let out = Type { dims: self.dims.clone(), ..ty.clone() };
        cx.need_equal(&elements(&ty.dims)?, &elements(&self.dims)?, || {
            let message = format!(
                "{}, which cannot become {}: the number of elements differs",
                cx.is(0),
                cx.program.show_shape(&out)
            );
            cx.wrong(0, MismatchKind::Shape, message)
        })?;
        Ok(vec![out])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (dims, grad) = (g.ty(g.input(0)).dims.clone(), g.grad(0)?);
        Ok(vec![Some(g.emit(Reshape { dims }, &[grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |dims: &[i64]| Sample::of(Reshape { dims: dims.iter().copied().map(Dim::from).collect() });
        vec![op(&[6]).rows(2, &[2, 3]), op(&[]).dense(&[1]), op(&[3, 2]).rows(0, &[6])]
    }
}
