//! Values that are known while a program is read: the numbers of small constants, and sizes that a program computes
//! from shapes. Dialects take some attributes from inputs; rules find their values here.

use super::Draft;
use crate::convert::types::is_moderate;
use crate::ops::{
    AssignValue, Binary, BinaryKind, Cast, Compare, CompareKind, Concat, Fill, Gather, Number, Op, Range,
    Reduce, ReduceKind, Scale, Transpose,
};
use crate::program::{Answer, DType, Dim, Type, VarId};

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

/// The elements of an operator's result that follow from known elements of its inputs, which have these types.
pub(super) fn known(op: &Op, inputs: &[Option<&[Known]>], types: &[&Type], ty: &Type) -> Option<Vec<Known>> {
    let shape = sizes_of(ty)?;
    let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
    if count > MOST_ELEMENTS {
        return None;
    }
    let is_whole = !ty.dtype.is_float();
    let input =
        |k: usize| Some(Elements { all: inputs.get(k).copied().flatten()?, shape: sizes_of(types.get(k)?)? });
    match op {
        Op::Fill(Fill { value, .. }) => Some(vec![Known::Number(*value); count]),
        Op::AssignValue(AssignValue { values, .. }) => {
            Some(values.iter().copied().map(Known::Number).collect())
        }
        Op::Range(Range { start, step, .. }) if is_whole => {
            let (start, step) = (start.as_i64()?, step.as_i64()?);
            (0..count as i64).map(|k| whole(start.checked_add(step.checked_mul(k)?)?.into())).collect()
        }
        Op::Assign(_) | Op::Reshape(_) => Some(input(0)?.all.to_vec()),
        Op::Cast(Cast { dtype: DType::Bool }) => {
            let is_true = |known: &Known| Some(truth(known.dim()?.constant()? != 0));
            input(0)?.all.iter().map(is_true).collect()
        }
        Op::Cast(_) if is_whole => input(0)?.all.iter().map(|known| whole(known.dim()?)).collect(),
        // A size stays one, but nothing computes with it as with whole numbers.
        Op::Cast(_) => {
            let float = |known: &Known| match known {
                Known::Number(number) => Known::Number(Number::Float(number.as_f64())),
                Known::Size(size) => Known::Size(size.clone()),
            };
            Some(input(0)?.all.iter().map(float).collect())
        }
        Op::Transpose(Transpose { perm }) => {
            let of = input(0)?;
            each(&shape, |at| {
                let mut from = vec![0; at.len()];
                for (&axis, &place) in perm.iter().zip(at) {
                    *from.get_mut(axis as usize)? = place;
                }
                of.at(&from)
            })
        }
        Op::Slice(slice) => {
            let of = input(0)?;
            each(&shape, |at| {
                let mut from = at.to_vec();
                for (axis, bounds) in slice.bounds() {
                    let taken = bounds.of(*of.shape.get(axis)?);
                    from[axis] = taken.first.checked_add_signed(taken.stride * at[axis] as isize)?;
                }
                of.at(&from)
            })
        }
        Op::Gather(Gather { axis }) => {
            let (of, index, axis) = (input(0)?, input(1)?, *axis as usize);
            let depth = index.shape.len();
            each(&shape, |at| {
                let place = index.at(at.get(axis..axis + depth)?)?.dim()?.constant()?;
                let (before, behind) = (at.get(..axis)?, at.get(axis + depth..)?);
                of.at(&[before, &[usize::try_from(place).ok()?], behind].concat())
            })
        }
        Op::Concat(Concat { axis }) => {
            let parts = (0..inputs.len()).map(input).collect::<Option<Vec<_>>>()?;
            let axis = *axis as usize;
            each(&shape, |at| {
                let mut from = at.to_vec();
                let part = parts.iter().find(|part| {
                    let fits = part.shape.get(axis).is_some_and(|&size| from[axis] < size);
                    if !fits {
                        from[axis] -= part.shape.get(axis).copied().unwrap_or(0);
                    }
                    fits
                })?;
                part.at(&from)
            })
        }
        Op::Scale(Scale { scale, bias }) if is_whole => {
            let (scale, bias) = (Dim::from(*scale as i64), Dim::from(*bias as i64));
            let scaled = |known: &Known| whole((&(&known.dim()? * &scale).ok()? + &bias).ok()?);
            input(0)?.all.iter().map(scaled).collect()
        }
        Op::Binary(Binary { kind }) if is_whole => {
            let (a, b) = (input(0)?, input(1)?);
            each(&shape, |at| whole(combine(*kind, &a.broadcast(at)?.dim()?, &b.broadcast(at)?.dim()?)?))
        }
        Op::Compare(Compare { kind }) => {
            let (a, b) = (input(0)?, input(1)?);
            each(&shape, |at| compare(*kind, &a.broadcast(at)?.dim()?, &b.broadcast(at)?.dim()?).map(truth))
        }
        Op::Not(_) => input(0)?.all.iter().map(|known| Some(truth(known.dim()?.constant()? == 0))).collect(),
        Op::Select(_) => {
            let [condition, a, b] = [input(0)?, input(1)?, input(2)?];
            each(&shape, |at| match condition.broadcast(at)?.dim()?.constant()? {
                0 => b.broadcast(at),
                _ => a.broadcast(at),
            })
        }
        // Over everything.
        Op::Reduce(Reduce { kind, axes, .. })
            if is_whole && (axes.is_empty() || types[0].rank() == axes.len()) =>
        {
            let dims = input(0)?.all.iter().map(Known::dim).collect::<Option<Vec<Dim>>>()?;
            let kind = match kind {
                ReduceKind::Sum => BinaryKind::Add,
                ReduceKind::Prod => BinaryKind::Mul,
                ReduceKind::Max => BinaryKind::Max,
                ReduceKind::Min => BinaryKind::Min,
                _ => return None,
            };
            let (first, others) = dims.split_first()?;
            let all = others.iter().try_fold(first.clone(), |all, dim| combine(kind, &all, dim))?;
            Some(vec![whole(all)?])
        }
        _ => None,
    }
}

/// The sizes of a value, if they are numbers.
fn sizes_of(ty: &Type) -> Option<Vec<usize>> {
    let size = |dim: &Dim| dim.constant().and_then(|size| usize::try_from(size).ok());
    if ty.rows.is_some() { None } else { ty.dims.iter().map(size).collect() }
}

/// A whole number. Arithmetic on long sizes makes longer ones.
fn whole(dim: Dim) -> Option<Known> {
    is_moderate(&dim).then(|| Known::of(dim))
}

fn truth(value: bool) -> Known {
    Known::Number(Number::Bool(value))
}

/// Known elements, row by row.
struct Elements<'a> {
    all: &'a [Known],
    shape: Vec<usize>,
}

impl Elements<'_> {
    fn at(&self, place: &[usize]) -> Option<Known> {
        let inside =
            place.len() == self.shape.len() && place.iter().zip(&self.shape).all(|(at, size)| at < size);
        let flat = place.iter().zip(&self.shape).fold(0, |flat, (at, size)| flat * size + at);
        self.all.get(flat).filter(|_| inside).cloned()
    }

    /// The element at a place of a shape that this one broadcasts to.
    fn broadcast(&self, place: &[usize]) -> Option<Known> {
        let lead = place.len().checked_sub(self.shape.len())?;
        let place: Vec<usize> = place[lead..]
            .iter()
            .zip(&self.shape)
            .map(|(&at, &size)| if size == 1 { 0 } else { at })
            .collect();
        self.at(&place)
    }
}

/// An element for each place of a shape.
fn each(shape: &[usize], of: impl Fn(&[usize]) -> Option<Known>) -> Option<Vec<Known>> {
    let count = shape.iter().product::<usize>();
    let mut place = vec![0; shape.len()];
    (0..count)
        .map(|flat| {
            let mut rest = flat;
            for (at, size) in place.iter_mut().zip(shape).rev() {
                (*at, rest) = (rest % size, rest / size);
            }
            of(&place)
        })
        .collect()
}

fn combine(kind: BinaryKind, a: &Dim, b: &Dim) -> Option<Dim> {
    let numbers = a.constant().zip(b.constant());
    match kind {
        BinaryKind::Add => (a + b).ok(),
        BinaryKind::Sub => (a - b).ok(),
        BinaryKind::Mul => (a * b).ok(),
        BinaryKind::FloorDiv => a.floor_div(b),
        // What is not negative is rounded alike.
        BinaryKind::Div if (a + &Dim::from(1)).ok()?.is_positive() == Answer::Holds => a.floor_div(b),
        BinaryKind::Div | BinaryKind::Mod | BinaryKind::Max | BinaryKind::Min => {
            let (a, b) = numbers?;
            Some(kind.apply_int(a, b).into())
        }
        _ => None,
    }
}

fn compare(kind: CompareKind, a: &Dim, b: &Dim) -> Option<bool> {
    let numbers = a.constant().zip(b.constant());
    match (kind, numbers) {
        (CompareKind::LessThan, Some((a, b))) => Some(a < b),
        (CompareKind::LessEqual, Some((a, b))) => Some(a <= b),
        (CompareKind::GreaterThan, Some((a, b))) => Some(a > b),
        (CompareKind::GreaterEqual, Some((a, b))) => Some(a >= b),
        (CompareKind::Equal, _) => is_equal(a, b),
        (CompareKind::NotEqual, _) => is_equal(a, b).map(|equal| !equal),
        _ => None,
    }
}

/// Whether two sizes are equal, if that does not depend on a batch. No size is negative.
fn is_equal(a: &Dim, b: &Dim) -> Option<bool> {
    let is_below = |dim: &Dim| dim.constant().is_some_and(|size| size < 0);
    match a.equals(b) {
        Answer::Holds => Some(true),
        Answer::Fails => Some(false),
        Answer::Depends if is_below(a) && b.as_symbol().is_some() => Some(false),
        Answer::Depends if is_below(b) && a.as_symbol().is_some() => Some(false),
        Answer::Depends => None,
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
