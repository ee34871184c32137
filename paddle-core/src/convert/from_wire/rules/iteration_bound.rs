//! How often a loop runs at most, where its condition says that a counter is below a limit.

use crate::convert::draft::{At, Draft};
use crate::convert::from_wire::Fault;
use crate::ops::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Fill, Logical, LogicalKind, Number, Op, Scale, While,
};
use crate::program::{DType, Dim, Mark, SymbolId, Type, VarId};

/// The most operators between two values that are looked at.
const MOST_STEPS: usize = 64;

/// A value as another one that no operator writes, or that `is_base` accepts, plus a number.
pub(super) fn sum(draft: &Draft, mut value: VarId, is_base: impl Fn(VarId) -> bool) -> Option<(VarId, i64)> {
    let mut added = 0i64;
    for _ in 0..MOST_STEPS {
        if is_base(value) {
            return Some((value, added));
        }
        let writer = draft.program.writer(value)?;
        let (from, more) = match &writer.op {
            Op::Assign(_) | Op::Reshape(_) => (writer.inputs[0], 0),
            Op::Cast(_) if !draft.ty(value).dtype.is_float() => (writer.inputs[0], 0),
            Op::Scale(Scale { scale: 1.0, bias }) if bias.fract() == 0.0 => (writer.inputs[0], *bias as i64),
            Op::Binary(Binary { kind: kind @ (BinaryKind::Add | BinaryKind::Sub) }) => {
                let number = |at: usize| match draft.constant_of(writer.inputs[at]).as_deref() {
                    Some([number]) => number.as_i64(),
                    _ => None,
                };
                match (kind, number(0), number(1)) {
                    (BinaryKind::Add, _, Some(number)) => (writer.inputs[0], number),
                    (BinaryKind::Add, Some(number), _) => (writer.inputs[1], number),
                    (_, _, Some(number)) => (writer.inputs[0], number.checked_neg()?),
                    _ => return None,
                }
            }
            _ => return None,
        };
        value = from;
        added = added.checked_add(more)?;
    }
    None
}

/// That one number is less than another, or not greater.
pub(super) struct Below {
    pub(super) less: VarId,
    pub(super) limit: VarId,
    pub(super) or_equal: bool,
}

/// All that has to hold so that a condition holds. `None` stands for what is no comparison of this kind.
pub(super) fn parts_of(draft: &Draft, condition: VarId) -> Vec<Option<Below>> {
    let (mut parts, mut left) = (Vec::new(), vec![condition]);
    for _ in 0..MOST_STEPS {
        let Some(value) = left.pop() else { return parts };
        let writer = draft.program.writer(value);
        let of = |writer: &crate::ops::Operator| [writer.inputs[0], writer.inputs[1]];
        parts.push(match writer.map(|writer| (writer, &writer.op)) {
            Some((writer, Op::Assign(_) | Op::Reshape(_))) => {
                left.push(writer.inputs[0]);
                continue;
            }
            Some((writer, Op::Logical(Logical { kind: LogicalKind::And }))) => {
                left.extend(of(writer));
                continue;
            }
            Some((writer, Op::Compare(Compare { kind }))) => {
                let [a, b] = of(writer);
                match kind {
                    CompareKind::LessThan => Some(Below { less: a, limit: b, or_equal: false }),
                    CompareKind::LessEqual => Some(Below { less: a, limit: b, or_equal: true }),
                    CompareKind::GreaterThan => Some(Below { less: b, limit: a, or_equal: false }),
                    CompareKind::GreaterEqual => Some(Below { less: b, limit: a, or_equal: true }),
                    CompareKind::Equal | CompareKind::NotEqual => None,
                }
            }
            _ => None,
        });
    }
    parts.push(None);
    parts
}

/// The state of a loop: its values before the loop, when an iteration begins, and behind it.
pub(super) struct States<'s> {
    pub(super) initial: &'s [VarId],
    pub(super) inside: &'s [VarId],
    pub(super) results: &'s [VarId],
}

/// A whole number that is there before a loop.
#[derive(Clone)]
enum Whole {
    Value(VarId),
    Size(Dim),
}

/// Iterations go on while `first + k · step` is below a limit, where `k` is the number of those before.
#[derive(Clone)]
pub(super) struct Bound {
    first: Whole,
    /// A number to be added to the first one.
    added: i64,
    step: i64,
    limit: Whole,
}

impl Bound {
    /// What the condition that an iteration leaves says about their number. `sizes` are those that iterations change: what an iteration
    /// calls it, what it is behind one, and before the loop. `before` is a moment before the body.
    pub(super) fn of(
        draft: &Draft,
        before: Mark,
        condition: VarId,
        states: &States<'_>,
        sizes: &[(SymbolId, Dim, Dim)],
    ) -> Option<Bound> {
        let bounds = parts_of(draft, condition).into_iter().flatten().filter_map(|below| {
            let (limit, over) = limit(draft, before, below.limit, states)?;
            let (first, added, step) =
                counter(draft, below.less, states, sizes).filter(|found| found.2 > 0)?;
            let added = added.checked_sub(over)?.checked_sub(i64::from(below.or_equal))?;
            Some(Bound { first, added, step, limit })
        });
        // A number that is known makes sizes that are known.
        let (known, computed): (Vec<Bound>, Vec<Bound>) = bounds.partition(|bound| bound.count().is_some());
        known.into_iter().min_by_key(Bound::count).or_else(|| computed.into_iter().next())
    }

    /// The number, if it is known.
    fn count(&self) -> Option<i64> {
        let (Whole::Size(first), Whole::Size(limit)) = (&self.first, &self.limit) else { return None };
        let length = limit.constant()?.checked_sub(first.constant()?)?.checked_sub(self.added)?;
        let steps = length.max(0).saturating_add(self.step - 1) / self.step;
        Some(steps.saturating_add(1).min(While::DEFAULT_LIMIT))
    }

    /// No less than the number of iterations, as a size: a number, or a new size that a run computes.
    pub(super) fn most(&self, at: &mut At<'_>) -> Result<Dim, Fault> {
        if let Some(count) = self.count() {
            return Ok(Dim::from(count));
        }
        let [first, limit] = [at.whole(&self.first)?, at.whole(&self.limit)?];
        // One, and ⌈(limit - first) / step⌉, which is -⌊(first - limit) / step⌋.
        let back = at.binary(BinaryKind::Sub, first, limit)?;
        let back = at.scaled(back, 1.0, self.added as f64)?;
        let step = at.number(self.step as f64, DType::I64)?;
        let back = at.binary(BinaryKind::FloorDiv, back, step)?;
        let count = at.scaled(back, -1.0, 1.0)?;
        let [least, most] = [1, While::DEFAULT_LIMIT].map(|count| count as f64);
        let [least, most] = [at.number(least, DType::I64)?, at.number(most, DType::I64)?];
        let count = at.binary(BinaryKind::Max, count, least)?;
        let count = at.binary(BinaryKind::Min, count, most)?;
        let numbers = at.numbers_before(count, "iterations")?;
        Ok(at.ty(numbers).dims[0].clone())
    }
}

impl At<'_> {
    /// A whole number as i64 without dimensions.
    fn whole(&mut self, number: &Whole) -> Result<VarId, Fault> {
        let value = match number {
            Whole::Value(value) => self.emit(Cast { dtype: DType::I64 }, &[*value])?,
            Whole::Size(size) if size.constant().is_some() => {
                let value = Number::Int(size.constant().unwrap_or_default());
                self.emit(Fill { value, ty: Type::scalar(DType::I64) }, &[])?
            }
            Whole::Size(size) => self.size_as(size, DType::I64)?,
        };
        self.shaped(value, Vec::new())
    }
}

/// The only element of a value that is known.
fn only(draft: &Draft, value: VarId) -> Option<Dim> {
    match draft.known_of(value)? {
        [known] => known.dim(),
        _ => None,
    }
}

fn is_whole(draft: &Draft, value: VarId) -> bool {
    let ty = draft.ty(value);
    ty.is_scalar() && matches!(ty.dtype, DType::I32 | DType::I64)
}

/// A value that is the same in all iterations, as one that is there before the loop, and a number that is added to it.
fn limit(draft: &Draft, before: Mark, value: VarId, states: &States<'_>) -> Option<(Whole, i64)> {
    if let Some(size) = only(draft, value) {
        let is_there = size.symbols().into_iter().all(|symbol| before.has_size(symbol));
        return is_there.then_some((Whole::Size(size), 0));
    }
    let unchanged = |value: VarId| {
        let at = states.inside.iter().position(|&inside| inside == value)?;
        let (result, _) = sum(draft, *states.results.get(at)?, |result| result == value)
            .filter(|&(_, added)| added == 0)?;
        (result == value).then_some(states.initial[at])
    };
    let (base, added) = sum(draft, value, |value| before.has(value) || unchanged(value).is_some())?;
    let base = if before.has(base) { base } else { unchanged(base)? };
    match only(draft, base) {
        Some(size) => Some((Whole::Size(size), added)),
        None => is_whole(draft, base).then_some((Whole::Value(base), added)),
    }
}

/// A value that every iteration raises by the same number: what it is behind the first one, as a number before the loop and another
/// one that is added, and by how much it is raised.
fn counter(
    draft: &Draft,
    value: VarId,
    states: &States<'_>,
    sizes: &[(SymbolId, Dim, Dim)],
) -> Option<(Whole, i64, i64)> {
    if let Some(size) = only(draft, value) {
        let mut all = sizes.iter();
        return all.find_map(|(symbol, behind, first)| {
            let own = Dim::symbol(*symbol);
            let [added, step] = [&size, behind].map(|of| (of - &own).ok().and_then(|more| more.constant()));
            Some((Whole::Size(first.clone()), added?, step?))
        });
    }
    let (base, added) = sum(draft, value, |value| states.inside.contains(&value))?;
    let at = states.inside.iter().position(|&inside| inside == base)?;
    let (_, step) = sum(draft, *states.results.get(at)?, |result| result == base)?;
    let first = states.initial[at];
    match only(draft, first).filter(|_| !draft.ty(first).dtype.is_float()) {
        Some(size) => Some((Whole::Size(size), added, step)),
        None => is_whole(draft, first).then_some((Whole::Value(first), added, step)),
    }
}
