//! `fc`: fully connected.

use super::Call;
use super::initializers::Fans;
use crate::ops::{Binary, BinaryKind, Fill, Matmul, MismatchKind, Number, Reshape};
use crate::program::{BuildError, Dim, DimOverflow, Type, VarId};

pub(super) fn build(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let dtype = call.ty(x).dtype;
    if !dtype.is_float() {
        return Err(call.wrong("x", MismatchKind::ElementType, "`fc` needs floating-point numbers"));
    }
    let x = flatten(call, "x")?;
    let Some(inputs) = call.ty(x).dims.last().and_then(Dim::constant) else {
        let but = "`fc` has one weight per input: their number has to be known when the network is compiled";
        return Err(call.wrong("x", MismatchKind::Shape, but));
    };
    let size = call.size("size")?;
    let ty = Type { dtype, rows: None, dims: vec![Dim::from(inputs), size.clone()] };
    let Some(outputs) = size.constant() else {
        return Err(call.wrong("size", MismatchKind::Attribute, "its value has to be known"));
    };
    let fans = Fans { inputs: inputs as f64, outputs: outputs as f64 };
    let init = call.initializer("init", "xavier", fans, ty)?;
    let w = call.parameter("w", init)?;
    let bias = Type { dtype, rows: None, dims: vec![size] };
    let b = call.parameter("b", Fill { value: Number::Float(0.0), ty: bias })?;
    let product = call.emit(Matmul { trans_x: false, trans_y: false }, &[x, w])?[0];
    let sum = call.emit(Binary { kind: BinaryKind::Add }, &[product, b])?[0];
    call.activate("act", sum)
}

/// The value as a matrix: the dimensions behind the first are flattened into one.
pub(super) fn flatten(call: &mut Call<'_>, name: &str) -> Result<VarId, BuildError> {
    let x = call.value(name)?;
    let ty = call.ty(x).clone();
    if ty.rank() < 2 {
        let but = format!("`{}` needs rows and at least one dimension", call.layer.name);
        return Err(call.wrong(name, MismatchKind::Shape, &but));
    }
    if ty.rank() == 2 {
        return Ok(x);
    }
    let (kept, flat) = ty.dims.split_at(usize::from(ty.rows.is_none()));
    let product = flat.iter().try_fold(Dim::from(1), |product, dim| &product * dim);
    let product = product.map_err(|error: DimOverflow| BuildError::Mismatch(error.into()))?;
    let dims = kept.iter().cloned().chain([product]).collect();
    Ok(call.emit(Reshape { dims }, &[x])?[0])
}
