//! `tile`: repeats a value along its dimensions.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    Reduce, ReduceKind, Reshape, Sample, Schema, Slot,
};
use crate::program::{Dim, Type, VarId};

/// Repeats `X` along each of its dimensions: `Out[i] = X[i mod size]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// The number of repetitions along each dimension, without that of the rows.
    pub repeat_times: Vec<Dim>,
}

attributes!(Tile { repeat_times: Vec::new() });

impl Operation for Tile {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "tile",
                doc: "x repeated along its dimensions.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), ..Effects::ROW_WISE },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let mut out = cx.ty(0).clone();
        if out.dims.len() != self.repeat_times.len() {
            let message = format!(
                "{}, and `{}` needs one number of times for each of its {} dimensions, that of the rows left out",
                cx.is(0),
                cx.operator,
                out.dims.len()
            );
            return Err(cx.wrong(0, MismatchKind::Attribute, message));
        }
        for (dim, times) in out.dims.iter_mut().zip(&self.repeat_times) {
            cx.need_positive(times, || {
                let times = cx.program.show_dim(times);
                cx.fail(MismatchKind::Attribute, format!("`{}` cannot repeat {times} times", cx.operator))
            })?;
            *dim = (&*dim * times)?;
        }
        Ok(vec![out])
    }

    /// The gradient is the sum over all repetitions.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, grad) = (g.ty(g.input(0)).clone(), g.grad(0)?);
        let (mut apart, mut axes) = (Vec::new(), Vec::new());
        let rows = i64::from(x.rows.is_some());
        for (dim, times) in x.dims.into_iter().zip(&self.repeat_times) {
            if times.constant() != Some(1) {
                axes.push(rows + apart.len() as i64);
                apart.push(times.clone());
            }
            apart.push(dim);
        }
        if axes.is_empty() {
            return Ok(vec![Some(grad)]);
        }
        let grad = g.emit(Reshape { dims: apart }, &[grad])?;
        let sum = Reduce { kind: ReduceKind::Sum, axes, keep_dim: false };
        Ok(vec![Some(g.emit(sum, &[grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op =
            |times: &[i64]| Sample::of(Tile { repeat_times: times.iter().copied().map(Dim::from).collect() });
        vec![
            op(&[3]).rows(2, &[4]),
            op(&[2, 1, 3]).rows(2, &[2, 3, 1]),
            op(&[1, 2]).dense(&[3, 2]),
            op(&[1]).rows(1, &[3]),
            op(&[]).rows(3, &[]),
            op(&[2, 2]).rows(0, &[1, 2]),
        ]
    }
}
