//! Layers that are products of matrices and vectors.

use super::Call;
use super::fc::flatten;
use crate::ops::Matmul;
use crate::program::{BuildError, VarId};

pub(super) fn matmul(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, y) = (call.value("x")?, call.value("y")?);
    let flag = |name| call.flag(name).unwrap_or(false);
    let op = Matmul { trans_x: flag("transpose_x"), trans_y: flag("transpose_y") };
    Ok(call.emit(op, &[x, y])?[0])
}

pub(super) fn mul(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let x = flatten(call, x)?;
    let y = call.value("y")?;
    Ok(call.emit(Matmul::PLAIN, &[x, y])?[0])
}
