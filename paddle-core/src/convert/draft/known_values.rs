//! Values that are known while a program is read: the numbers of small constants, and sizes that a program computes
//! from shapes. Dialects take some attributes from inputs; rules find their values here.

use super::Draft;
use crate::convert::types::is_moderate;
use crate::ops::{AssignValue, Binary, BinaryKind, Cast, Concat, Fill, Number, Op, Scale, Slice};
use crate::program::{Dim, Type, VarId};

/// The most elements of a value that may become an attribute.
const MOST_ELEMENTS: usize = 16;

/// One element of a value.
#[derive(Clone, Debug)]
pub(in crate::convert) enum Known {
    /// A number.
    Number(Number),
    /// A size that is known when a batch is fed.
    Size(Dim),
}

impl Known {
    /// The element as a size, or as any other whole number.
    pub(in crate::convert) fn dim(&self) -> Option<Dim> {
        match self {
            Known::Number(number) => number.as_i64().map(Dim::from),
            Known::Size(dim) => Some(dim.clone()),
        }
    }

    pub(in crate::convert) fn of(dim: Dim) -> Known {
        match dim.constant() {
            Some(number) => Known::Number(Number::Int(number)),
            None => Known::Size(dim),
        }
    }
}

/// The elements of an operator's result that follow from known elements of its inputs.
pub(super) fn known(op: &Op, inputs: &[Option<&[Known]>], ty: &Type) -> Option<Vec<Known>> {
    let size = |dim: &Dim| dim.constant().and_then(|size| usize::try_from(size).ok());
    let count = ty.dims.iter().try_fold(1usize, |count, dim| count.checked_mul(size(dim)?))?;
    if count > MOST_ELEMENTS || ty.rows.is_some() {
        return None;
    }
    let input = |k: usize| inputs.get(k).copied().flatten();
    let dims = |k: usize| input(k)?.iter().map(Known::dim).collect::<Option<Vec<Dim>>>();
    // Arithmetic on long sizes makes longer ones.
    let sizes = |dims: Vec<Dim>| {
        dims.iter().all(is_moderate).then(|| dims.into_iter().map(Known::of).collect::<Vec<Known>>())
    };
    match op {
        Op::Fill(Fill { value, .. }) => Some(vec![Known::Number(*value); count]),
        Op::AssignValue(AssignValue { values, .. }) => {
            Some(values.iter().copied().map(Known::Number).collect())
        }
        Op::Assign(_) | Op::Reshape(_) => Some(input(0)?.to_vec()),
        Op::Cast(Cast { dtype }) if !dtype.is_float() => sizes(dims(0)?),
        // Only lists can be sizes.
        Op::Concat(Concat { .. }) if ty.rank() == 1 => {
            let parts = inputs.iter().map(|part| part.map(<[Known]>::to_vec)).collect::<Option<Vec<_>>>()?;
            Some(parts.concat())
        }
        Op::Slice(slice) if ty.rank() == 1 => sliced(slice, input(0)?),
        Op::Scale(Scale { scale, bias }) if !ty.dtype.is_float() => {
            let (scale, bias) = (Dim::from(*scale as i64), Dim::from(*bias as i64));
            sizes(dims(0)?.iter().map(|dim| (&(dim * &scale).ok()? + &bias).ok()).collect::<Option<_>>()?)
        }
        Op::Binary(Binary { kind }) if !ty.dtype.is_float() => {
            let (a, b) = (dims(0)?, dims(1)?);
            let at = |dims: &[Dim], i: usize| if dims.len() == 1 { dims[0].clone() } else { dims[i].clone() };
            if [&a, &b].iter().any(|dims| ![1, count].contains(&dims.len())) {
                return None;
            }
            let combined = |i| combine(*kind, &at(&a, i), &at(&b, i));
            sizes((0..count).map(combined).collect::<Option<_>>()?)
        }
        _ => None,
    }
}

fn sliced(slice: &Slice, of: &[Known]) -> Option<Vec<Known>> {
    let (_, bounds) = slice.bounds().next()?;
    let taken = bounds.of(of.len());
    let at = |k: usize| of.get(taken.first.checked_add_signed(taken.stride * k as isize)?).cloned();
    (0..taken.count).map(at).collect()
}

fn combine(kind: BinaryKind, a: &Dim, b: &Dim) -> Option<Dim> {
    match kind {
        BinaryKind::Add => (a + b).ok(),
        BinaryKind::Sub => (a - b).ok(),
        BinaryKind::Mul => (a * b).ok(),
        BinaryKind::FloorDiv => a.floor_div(b),
        _ => None,
    }
}

impl Draft {
    /// The known elements of a value.
    pub(in crate::convert) fn known_of(&self, var: VarId) -> Option<&[Known]> {
        self.known.get(&var).map(Vec::as_slice)
    }

    /// The elements of a constant.
    pub(in crate::convert) fn constant_of(&self, var: VarId) -> Option<Vec<Number>> {
        let number = |known: &Known| match known {
            Known::Number(number) => Some(*number),
            Known::Size(_) => None,
        };
        self.known_of(var)?.iter().map(number).collect()
    }
}
