//! Numbers that follow from constants, as models have them that computed with their sizes when they were exported.

use crate::ops::{Before, BinaryKind, Number, Op, Operator, Program, UnaryKind};
use crate::program::{DType, VarId};

/// How many operators may be between a number and its constants.
const DEEPEST: usize = 16;

/// An element of a value of one axis or none, if it follows from constants.
pub(super) fn element(before: Before<'_>, var: VarId, at: usize) -> Option<f64> {
    find(before, var, at, DEEPEST)
}

/// Whether the value has one element, and no rows.
pub(super) fn is_single(program: &Program, var: VarId) -> bool {
    let ty = program.ty(var);
    ty.rows.is_none() && ty.dims.iter().all(|dim| dim.constant() == Some(1))
}

/// The number of a constant with one element.
pub(in crate::ops) fn number(before: Before<'_>, var: VarId) -> Option<f64> {
    if is_single(before.program(), var) { element(before, var, 0) } else { None }
}

/// For an operator that multiplies a value by a constant, or divides it: the value, the factor, and what has it if that is another
/// value.
pub(in crate::ops) fn multiple(
    before: Before<'_>,
    operator: &Operator,
) -> Option<(VarId, f64, Option<VarId>)> {
    let of = |source: VarId, constant: VarId| Some((source, number(before, constant)?, Some(constant)));
    match (&operator.op, &operator.inputs[..]) {
        (Op::Scale(op), &[x]) if op.bias == 0.0 => Some((x, op.scale, None)),
        (Op::Binary(op), &[x, y]) if op.kind == BinaryKind::Mul => of(x, y).or_else(|| of(y, x)),
        (Op::Binary(op), &[x, y]) if op.kind == BinaryKind::Div => {
            of(x, y).map(|(source, divisor, constant)| (source, 1.0 / divisor, constant))
        }
        _ => None,
    }
}

fn find(before: Before<'_>, var: VarId, at: usize, deepest: usize) -> Option<f64> {
    let program = before.program();
    if is_single(program, var) && at > 0 || program.ty(var).rows.is_some() {
        return None;
    }
    let maker = before.maker(var)?;
    let of = |k: usize, at: usize| find(before, *maker.inputs.get(k)?, at, deepest.checked_sub(1)?);
    let repeated = |k: usize| of(k, if is_single(program, *maker.inputs.get(k)?) { 0 } else { at });
    let size = |var: VarId| match &program.ty(var).dims[..] {
        [] => Some(1),
        [dim] => usize::try_from(dim.constant()?).ok(),
        _ => None,
    };
    match &maker.op {
        Op::Fill(op) => Some(op.value.as_f64()),
        Op::AssignValue(op) => op.values.get(at).copied().map(Number::as_f64),
        Op::Assign(_) | Op::Reshape(_) => of(0, at),
        Op::Cast(op) => {
            let number = of(0, at)?;
            match op.dtype {
                DType::F32 | DType::F64 => Some(number),
                DType::I32 | DType::I64 => Some(number.trunc()),
                DType::Bool => None,
            }
        }
        Op::Unary(op) if op.kind == UnaryKind::Sqrt => Some(of(0, at)?.sqrt()),
        Op::Binary(op) if program.ty(var).dtype.is_float() => {
            let (x, y) = (repeated(0)?, repeated(1)?);
            match op.kind {
                BinaryKind::Add => Some(x + y),
                BinaryKind::Sub => Some(x - y),
                BinaryKind::Mul => Some(x * y),
                BinaryKind::Div => Some(x / y),
                _ => None,
            }
        }
        Op::Concat(_) => {
            let mut at = at;
            for (k, &part) in maker.inputs.iter().enumerate() {
                match size(part)? {
                    size if at < size => return of(k, at),
                    size => at -= size,
                }
            }
            None
        }
        Op::Slice(op) if op.strides.iter().all(|&stride| stride == 1) => {
            let (&[start], size) = (&op.starts[..], size(maker.inputs[0])? as i64) else { return None };
            let start = if start < 0 { start + size } else { start }.clamp(0, size);
            of(0, at.checked_add(usize::try_from(start).ok()?)?)
        }
        _ => None,
    }
}
