//! Layers that move elements or go along axes.

use super::Call;
use crate::ops::{Concat, MismatchKind, Reduce, ReduceKind, Reshape, Slice, Transpose};
use crate::program::{BuildError, Dim, DimOverflow, VarId};

/// The argument `name`: axes of `x`, that of the rows counted as 0, negative ones from the end.
fn axes(call: &Call<'_>, name: &str, x: VarId) -> Result<Option<Vec<i64>>, BuildError> {
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

pub(super) fn reduce(call: &mut Call<'_>, kind: ReduceKind) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let mut axes = axes(call, "axis", x)?.unwrap_or_default();
    axes.sort_unstable();
    axes.dedup();
    let keep_dim = call.flag("keep_dim").unwrap_or(false);
    Ok(call.emit_with("axis", Reduce { kind, axes, keep_dim }, &[x])?[0])
}

pub(super) fn concat(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = call.values("x")?;
    let axis = match inputs.first() {
        Some(&first) => axes(call, "axis", first)?.and_then(|axes| axes.first().copied()),
        None => None,
    };
    Ok(call.emit_with("axis", Concat { axis: axis.unwrap_or(1) }, &inputs)?[0])
}

pub(super) fn slice(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let axes = axes(call, "axes", x)?.unwrap_or_default();
    let starts = call.ints("starts").unwrap_or_default();
    let ends = call.ints("ends").unwrap_or_default();
    Ok(call.emit_with("axes", Slice { axes, starts, ends }, &[x])?[0])
}

pub(super) fn transpose(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let perm = axes(call, "axes", x)?.unwrap_or_default();
    Ok(call.emit_with("axes", Transpose { perm }, &[x])?[0])
}

/// One size may be -1: what is left.
pub(super) fn reshape(call: &mut Call<'_>) -> Result<VarId, BuildError> {
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
