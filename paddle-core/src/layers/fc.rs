//! `fc`, the fully connected layer.

use super::Call;
use crate::ops::{Binary, BinaryKind, Matmul, Mismatch, MismatchKind, Reshape, initializers};
use crate::program::{BuildError, Dim, DimOverflow, Type, VarId};

pub(super) fn build(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = call.values("x")?;
    let size = call.size("size")?;
    if inputs.len() > 1 && call.given_value("w").is_some() {
        let but = "of several inputs each has its own: write their products as `matmul(x, w)`";
        return Err(call.wrong("w", MismatchKind::Count, but));
    }
    let add = Binary { kind: BinaryKind::Add };
    let mut sum: Option<VarId> = None;
    for (at, &x) in inputs.iter().enumerate() {
        let role = if inputs.len() == 1 { "w".to_string() } else { format!("w{at}") };
        need_float(call, x)?;
        let flat = flatten(call, x, call.int("axis")?)?;
        let product = product(call, x, flat, &size, &role)?;
        sum = Some(match sum {
            Some(sum) => {
                let added = call.emit(add, &[sum, product]);
                added.map_err(|error| beside(call, inputs[0], x, error))?[0]
            }
            None => product,
        });
    }
    let Some(sum) = sum else { return Err(call.wrong("x", MismatchKind::Count, "there is none")) };
    finish(call, sum, size)
}

/// Adds the bias and applies the activation that the call asks for.
pub(super) fn finish(call: &mut Call<'_>, sum: VarId, size: Dim) -> Result<VarId, BuildError> {
    let sum = if call.flag("bias")? {
        let bias = Type { dtype: call.ty(sum).dtype, rows: None, dims: vec![size] };
        let b = call.parameter("b", initializers::constant(0.0, bias))?;
        call.emit(Binary { kind: BinaryKind::Add }, &[sum, b])?[0]
    } else {
        sum
    };
    call.activate("act", sum)
}

pub(super) fn need_float(call: &Call<'_>, x: VarId) -> Result<(), BuildError> {
    if call.ty(x).dtype.is_float() {
        return Ok(());
    }
    let but = format!("`{}` needs floating-point numbers", call.layer.name);
    Err(call.wrong_value(x, MismatchKind::ElementType, &but))
}

/// The error for inputs whose products cannot be added. It blames the second input, and names the first.
fn beside(call: &Call<'_>, first: VarId, x: VarId, error: BuildError) -> BuildError {
    let BuildError::Mismatch(Mismatch { kind, .. }) = error else { return error };
    let one = if kind == MismatchKind::ElementType { "one element type" } else { "the same rows" };
    let shown = call.program.show(call.ty(first));
    call.wrong_value(x, kind, &format!("{} is {shown}: the inputs of `fc` need {one}", call.words(first)))
}

/// The product of a matrix and its weight. The matrix was made from the value `given`.
pub(super) fn product(
    call: &mut Call<'_>,
    given: VarId,
    x: VarId,
    size: &Dim,
    role: &str,
) -> Result<VarId, BuildError> {
    let dtype = call.ty(x).dtype;
    let known = |size: &&Dim| !call.program.depends_on_feed(size);
    let Some(inputs) = call.ty(x).dims.last().filter(known).cloned() else {
        let but = format!(
            "`{}` has one weight per input: their number has to be known before the network is fed",
            call.layer.name
        );
        return Err(call.wrong_value(given, MismatchKind::Shape, &but));
    };
    let ty = Type { dtype, rows: None, dims: vec![inputs, size.clone()] };
    let weight = initializers::xavier(ty).map_err(|error| BuildError::Mismatch(error.into()))?;
    let w = call.parameter(role, weight)?;
    Ok(call.emit(Matmul { trans_x: false, trans_y: false }, &[x, w])?[0])
}

/// Flattens the dimensions of a value from an axis on into one. The axis of the rows counts as 0.
pub(super) fn flatten(call: &mut Call<'_>, x: VarId, axis: i64) -> Result<VarId, BuildError> {
    let ty = call.ty(x).clone();
    let rank = ty.rank() as i64;
    if rank < 2 {
        let but = format!("`{}` needs rows and at least one dimension", call.layer.name);
        return Err(call.wrong_value(x, MismatchKind::Shape, &but));
    }
    let from = if axis < 0 { axis.saturating_add(rank) } else { axis };
    if !(1..rank).contains(&from) {
        let shown = call.program.show(&ty);
        let but = format!("{shown} has the axes 1 to {} behind the first", rank - 1);
        return Err(call.wrong("axis", MismatchKind::Attribute, &but));
    }
    if from == rank - 1 {
        return Ok(x);
    }
    let (kept, flat) = ty.dims.split_at(from as usize - usize::from(ty.rows.is_some()));
    let product = flat.iter().try_fold(Dim::from(1), |product, dim| &product * dim);
    let product = product.map_err(|error: DimOverflow| BuildError::Mismatch(error.into()))?;
    let dims = kept.iter().cloned().chain([product]).collect();
    Ok(call.emit(Reshape { dims }, &[x])?[0])
}
