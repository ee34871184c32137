//! Numbers and arrays that a program has written out.

use paddle_core::ops::{AssignValue, Fill, Number, Op, Program, Range};
use paddle_core::program::{DType, Type};

use super::sizes::size;
use super::tree::{Call, Expr};

/// The most elements of an array that is written out.
const MOST_ELEMENTS: i64 = 4096;

/// An operator that gives the same numbers always; `None` if it is another one, or if there is no way to write it.
pub(super) fn constant(program: &Program, op: &Op) -> Option<Expr> {
    match op {
        Op::Fill(Fill { value, ty }) => filled(program, *value, ty),
        Op::AssignValue(AssignValue { values, ty }) => array(values, &known_sizes(ty)?, ty.dtype),
        _ => None,
    }
}

/// Whole numbers of a known count, written out: where no layer gives them.
pub(super) fn range(op: &Range) -> Option<Expr> {
    let sizes = known_sizes(&op.ty)?;
    let [count @ 1..=MOST_ELEMENTS] = sizes[..] else { return None };
    let [start, step] = [op.start, op.step].map(Number::as_i64);
    let (start, step) = (start?, step?);
    let number = |i: i64| start.checked_add(i.checked_mul(step)?);
    let values = (0..count).map(|i| number(i).map(Number::Int)).collect::<Option<Vec<Number>>>()?;
    let values: Vec<Number> = match op.ty.dtype.is_float() {
        true => values.iter().map(|value| Number::Float(value.as_f64())).collect(),
        false => values,
    };
    array(&values, &sizes, op.ty.dtype)
}

/// A number of this element type as a literal.
pub(super) fn literal(number: Number, dtype: DType) -> String {
    match (number, dtype) {
        (Number::Bool(truth), _) => truth.to_string(),
        (number, DType::Bool) => (number.as_f64() != 0.0).to_string(),
        (number, DType::I64) => whole(number),
        (number, DType::I32) => format!("{}i32", whole(number)),
        (number, DType::F32) => float(number.as_f64()),
        (number, DType::F64) if number.as_f64().is_finite() => format!("{:?}f64", number.as_f64()),
        (number, DType::F64) => not_finite("f64", number.as_f64()),
    }
}

/// The name of a number that has no literal.
fn not_finite(of: &str, value: f64) -> String {
    let name = match value {
        f64::INFINITY => "INFINITY",
        f64::NEG_INFINITY => "NEG_INFINITY",
        _ => "NAN",
    };
    format!("{of}::{name}")
}

fn whole(number: Number) -> String {
    number.as_i64().map_or_else(|| number.to_string(), |whole| whole.to_string())
}

/// A number in as few digits as single precision needs, if it is one of single precision.
pub(super) fn float(value: f64) -> String {
    if !value.is_finite() {
        return not_finite("f32", value);
    }
    let single = value as f32;
    if f64::from(single) == value { format!("{single:?}") } else { format!("{value:?}") }
}

fn known_sizes(ty: &Type) -> Option<Vec<i64>> {
    ty.dims.iter().map(|dim| dim.constant()).collect()
}

/// One number many times.
pub(super) fn filled(program: &Program, value: Number, ty: &Type) -> Option<Expr> {
    if ty.dims.is_empty() {
        return Some(Expr::Word(literal(value, ty.dtype)));
    }
    let written_out = known_sizes(ty).filter(|_| ty.dtype != DType::F32);
    let count = |sizes: &[i64]| sizes.iter().try_fold(1, |count: i64, size| count.checked_mul(*size));
    if let Some(sizes) = written_out
        && let Some(count) = count(&sizes).filter(|count| (0..=MOST_ELEMENTS).contains(count))
    {
        return array(&vec![value; count as usize], &sizes, ty.dtype);
    }
    let sizes = ty.dims.iter().map(|dim| size(program, dim).map(Expr::Word)).collect::<Option<Vec<_>>>()?;
    let shape = match <[Expr; 1]>::try_from(sizes) {
        Ok([only]) => only,
        Err(sizes) => Expr::List(sizes),
    };
    let value = value.as_f64();
    let full = match value {
        0.0 if value.is_sign_positive() => Call::of("zeros", vec![shape]),
        1.0 => Call::of("ones", vec![shape]),
        value => Call::of("full", vec![shape, Expr::Word(float(value))]),
    };
    if ty.dtype == DType::F32 {
        return Some(full.into());
    }
    // The layers give single precision.
    let is_exact = f64::from(value as f32) == value || value.is_nan();
    is_exact.then(|| Call::of("cast", vec![full.into(), Expr::word(ty.dtype)]).into())
}

/// An array of arrays of numbers.
fn array(values: &[Number], sizes: &[i64], dtype: DType) -> Option<Expr> {
    let Some((first, rest)) = sizes.split_first() else {
        return Some(Expr::Word(literal(*values.first()?, dtype)));
    };
    let count =
        usize::try_from(*first).ok().filter(|count| *count > 0 && values.len().is_multiple_of(*count))?;
    if values.len() as i64 > MOST_ELEMENTS {
        return None;
    }
    let parts = values.chunks(values.len() / count).map(|part| array(part, rest, dtype));
    Some(Expr::List(parts.collect::<Option<_>>()?))
}
