//! Values that are known while a program is read: the numbers of small constants, and sizes that a program computes
//! from shapes. PaddlePaddle takes some attributes from inputs; rules find their values here.

use super::Reading;
use super::error::Fault;
use crate::convert::types::is_moderate;
use crate::ops::{AssignValue, Binary, BinaryKind, Cast, Concat, Fill, Number, Op, Scale, Slice};
use crate::program::{DType, Dim, RowsId, Type, VarId};

/// The most elements of a value that may become an attribute.
const MOST_ELEMENTS: usize = 16;

/// One element of a value.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// A number.
    Number(Number),
    /// A size that is known when a batch is fed.
    Size(Dim),
}

impl Known {
    /// The element as a size, or as any other whole number.
    fn dim(&self) -> Option<Dim> {
        match self {
            Known::Number(number) => number.as_i64().map(Dim::from),
            Known::Size(dim) => Some(dim.clone()),
        }
    }

    pub(super) fn of(dim: Dim) -> Known {
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

impl Reading<'_, '_> {
    /// The known elements of a value.
    pub(super) fn known(&self, var: VarId) -> Option<&[Known]> {
        self.reader.known.get(&var).map(Vec::as_slice)
    }

    /// The elements of a constant.
    pub(super) fn constant_of(&self, var: VarId) -> Option<Vec<Number>> {
        let number = |known: &Known| match known {
            Known::Number(number) => Some(*number),
            Known::Size(_) => None,
        };
        self.known(var)?.iter().map(number).collect()
    }

    /// The only whole number of a constant in an input slot.
    pub(super) fn constant_int(&self, slot: &'static str) -> Result<Option<i64>, Fault> {
        let numbers = self.constant_of(self.input(slot)?);
        Ok(numbers.and_then(|numbers| if let [one] = numbers[..] { one.as_i64() } else { None }))
    }

    /// Whole numbers from an attribute, or from values in one of two slots; `None` if they are not known.
    pub(super) fn dims(&self, name: &str, slot: &str, list: &str) -> Result<Option<Vec<Dim>>, Fault> {
        let [tensor, list] = [self.inputs(slot)?, self.inputs(list)?];
        if tensor.is_empty() && list.is_empty() {
            let numbers = self.desc.attr_longs(name)?.unwrap_or_default();
            return Ok(Some(numbers.into_iter().map(Dim::from).collect()));
        }
        let vars = if tensor.is_empty() { list } else { tensor };
        let known: Option<Vec<&[Known]>> = vars.into_iter().map(|var| self.known(var)).collect();
        Ok(known.and_then(|known| known.concat().iter().map(Known::dim).collect()))
    }

    /// Whole numbers like those of [`Self::dims`], if all of them are numbers.
    pub(super) fn numbers(&self, name: &str, slot: &str, list: &str) -> Result<Option<Vec<i64>>, Fault> {
        let dims = self.dims(name, slot, list)?;
        Ok(dims.and_then(|dims| dims.iter().map(Dim::constant).collect()))
    }

    /// The type with these sizes. If the first is the number of rows of a row space, the type has these rows.
    pub(super) fn type_of(&self, dtype: DType, mut dims: Vec<Dim>) -> Type {
        let spaces = self.reader.program.row_spaces();
        let symbol = dims.first().and_then(Dim::as_symbol);
        let rows = symbol.and_then(|symbol| spaces.iter().position(|rows| rows.size == symbol));
        let rows = rows.map(|rows| RowsId(rows as u32));
        if rows.is_some() {
            dims.remove(0);
        }
        Type { dtype, rows, dims }
    }
}
