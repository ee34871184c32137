//! Writes constants and random numbers.

use crate::convert::derived::{push_float, wholes};
use crate::convert::dialect::{FAN, PATH, TYPE};
use crate::convert::types::{dim_text, element, is_plain, type_text, wire_dims};
use crate::ops::{AssignValue, Fill, GaussianRandom, Number, Range, TruncatedGaussianRandom, UniformRandom};
use crate::program::{DType, Dim, Type};
use crate::wire::OpAttr;

/// Shape and element type. The exact type is added if these do not determine it.
fn typed(ty: &Type) -> Vec<OpAttr> {
    let dtype = OpAttr::int("dtype", element(ty.dtype).into());
    let mut attrs = vec![OpAttr::longs("shape", wire_dims(ty)), dtype];
    if !is_plain(ty) {
        attrs.push(OpAttr::string(TYPE, type_text(ty)));
    }
    attrs
}

/// The value of a constant as PaddlePaddle writes it: in single precision, and as exact text.
pub(in crate::convert) fn fill_value(value: Number) -> [OpAttr; 2] {
    let text = match value {
        Number::Bool(value) => i32::from(value).to_string(),
        // Rust writes `NaN`, C++ `nan`.
        Number::Int(_) | Number::Float(_) => value.to_string().to_lowercase(),
    };
    [OpAttr::float("value", value.as_f64() as f32), OpAttr::string("str_value", text)]
}

pub(super) fn fill(op: &Fill) -> Vec<OpAttr> {
    let mut attrs = typed(&op.ty);
    attrs.extend(fill_value(op.value));
    attrs.extend([OpAttr::bool("force_cpu", false), OpAttr::int("place_type", -1)]);
    attrs
}

/// The numbers of a range are exact text.
pub(super) fn range(op: &Range) -> Vec<OpAttr> {
    let mut attrs = typed(&op.ty);
    let numbers = [("start", op.start), ("step", op.step)];
    attrs.extend(numbers.map(|(name, value)| OpAttr::string(name, value.to_string())));
    attrs
}

/// The elements are in the attribute for their type.
pub(super) fn assign_value(op: &AssignValue) -> Vec<OpAttr> {
    let numbers = || op.values.iter().filter_map(|value| value.as_i64());
    let real = || op.values.iter().map(|value| value.as_f64());
    let ints = |of: DType| -> Vec<i64> { if op.ty.dtype == of { numbers().collect() } else { Vec::new() } };
    let floats: Vec<f32> =
        if op.ty.dtype == DType::F32 { real().map(|value| value as f32).collect() } else { Vec::new() };
    let doubles: Vec<f64> = if op.ty.dtype == DType::F64 { real().collect() } else { Vec::new() };
    vec![
        wholes("shape", &wire_dims(&op.ty)),
        OpAttr::int("dtype", element(op.ty.dtype).into()),
        wholes("bool_values", &ints(DType::Bool)),
        OpAttr::floats("fp32_values", floats),
        OpAttr::doubles("fp64_values", doubles),
        wholes("int32_values", &ints(DType::I32)),
        OpAttr::longs("int64_values", ints(DType::I64)),
    ]
}

pub(super) fn truncated_gaussian(op: &TruncatedGaussianRandom) -> Vec<OpAttr> {
    let mut attrs = typed(&op.ty);
    push_float(&mut attrs, "mean", op.mean);
    push_float(&mut attrs, "std", op.std);
    attrs.push(OpAttr::int("seed", 0));
    attrs
}

pub(super) fn uniform(op: &UniformRandom) -> Vec<OpAttr> {
    let mut attrs = typed(&op.ty);
    push_float(&mut attrs, "min", op.min);
    push_float(&mut attrs, "max", op.max);
    attrs.extend(drawn(op.fan.as_ref(), &op.path));
    attrs.extend([OpAttr::int("seed", 0), OpAttr::int("diag_num", 0), OpAttr::int("diag_step", 0)]);
    attrs.push(OpAttr::float("diag_val", 1.0));
    attrs
}

pub(super) fn gaussian(op: &GaussianRandom) -> Vec<OpAttr> {
    let mut attrs = typed(&op.ty);
    push_float(&mut attrs, "mean", op.mean);
    push_float(&mut attrs, "std", op.std);
    attrs.extend(drawn(op.fan.as_ref(), &op.path));
    attrs.push(OpAttr::int("seed", 0));
    attrs
}

/// The attributes of random numbers besides those of their distribution: the size on which they depend, and the name of
/// their stream.
fn drawn(fan: Option<&Dim>, path: &str) -> impl Iterator<Item = OpAttr> {
    let fan = fan.map(|size| OpAttr::string(FAN, dim_text(size)));
    fan.into_iter().chain((!path.is_empty()).then(|| OpAttr::string(PATH, path)))
}
