//! Layers that move elements or go along axes.

use super::Call;
use crate::ops::{Concat, MismatchKind, Reshape, Slice, Transpose};
use crate::program::{BuildError, Dim, DimOverflow, VarId};

/// Passes the layers that move elements to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_shape_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Values one after another along an axis.
            concat(x: Values "Which values: `[x, y]`.";
                   axis: Ints "Along which axis, that of the rows counted as 0; 1 if it is left out.")
                => concat;

            /// The same elements of each row in another shape.
            reshape(x: Value "What to shape.", shape: Shape "The sizes behind the rows; one may be -1, for what is left.";)
                => reshape;

            /// The elements from `starts` to before `ends` along axes. Negative bounds count from the end.
            slice(x: Value "What to take from.", axes: Ints "Along which axes, that of the rows counted as 0.",
                  starts: Ints "The first element along each.", ends: Ints "The one behind the last.";)
                => slice;

            /// The axes in another order, in which rows stay first.
            transpose(x: Value "What to turn.", axes: Ints "All axes, that of the rows counted as 0: `[0, 2, 1]`.";)
                => transpose;
        }
    };
}

with_shape_layers!(layers);

/// The argument `name`: axes of `x`, that of the rows counted as 0, negative ones from the end.
pub(super) fn axes(call: &Call<'_>, name: &str, x: VarId) -> Result<Option<Vec<i64>>, BuildError> {
    let rank = call.ty(x).rank() as i64;
    let axis = |axis: i64| {
        let counted = if axis < 0 { axis.saturating_add(rank) } else { axis };
        if (0..rank).contains(&counted) {
            return Ok(counted);
        }
        let shown = call.program.show(call.ty(x));
        Err(call.wrong(name, MismatchKind::Attribute, &format!("{shown} has {rank} axes, counted from 0")))
    };
    call.ints(name).map(|given| given.into_iter().map(axis).collect()).transpose()
}

fn concat(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = call.values("x")?;
    let axis = match inputs.first() {
        Some(&first) => axes(call, "axis", first)?.and_then(|axes| axes.first().copied()),
        None => None,
    };
    Ok(call.emit_with("axis", Concat { axis: axis.unwrap_or(1) }, &inputs)?[0])
}

fn slice(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let axes = axes(call, "axes", x)?.unwrap_or_default();
    let starts = call.ints("starts").unwrap_or_default();
    let ends = call.ints("ends").unwrap_or_default();
    Ok(call.emit_with("axes", Slice::of(axes, starts, ends), &[x])?[0])
}

fn transpose(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let perm = axes(call, "axes", x)?.unwrap_or_default();
    Ok(call.emit_with("axes", Transpose { perm }, &[x])?[0])
}

/// One size may be -1: what is left.
fn reshape(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let mut dims = call.sizes("shape").unwrap_or_default();
    let wrong = |but: &str| Err(call.wrong("shape", MismatchKind::Attribute, but));
    let is_left = |dim: &Dim| dim.constant() == Some(-1);
    if dims.iter().filter(|dim| is_left(dim)).count() > 1 {
        return wrong("only one may be -1, for what is left");
    }
    let product = |dims: &[Dim]| {
        let product = dims.iter().try_fold(Dim::from(1), |product, dim| &product * dim);
        product.map_err(|error: DimOverflow| BuildError::Mismatch(error.into()))
    };
    let known: Vec<Dim> = dims.iter().filter(|dim| !is_left(dim)).cloned().collect();
    let (all, known) = (product(&call.ty(x).dims)?, product(&known)?);
    let Some(left) = all.floor_div(&known) else { return wrong("sizes are above 0") };
    dims.iter_mut().filter(|dim| is_left(dim)).for_each(|dim| *dim = left.clone());
    Ok(call.emit(Reshape { dims }, &[x])?[0])
}
