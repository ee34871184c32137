//! Variables whose sizes differ between iterations of a loop, such as words to which each iteration appends one.
//!
//! The state of our loops keeps its types. So such a variable is in a buffer that is as long as the variable may become, beside its
//! length: an iteration reads the beginning of the buffer as a value of a new size, and what it leaves fills a buffer again. To know how long
//! a buffer has to be, the body is read once with a symbol for each size.

use std::collections::BTreeMap;

use super::iteration_bound::Bound;
use crate::convert::draft::At;
use crate::convert::from_wire::Fault;
use crate::ops::{BinaryKind, Concat, Fill, Gather};
use crate::program::{Answer, DType, Dim, Mark, SymbolId, Type, VarId};

/// A variable, and one of its axes behind the rows.
pub(super) type Axis<'a> = (&'a str, usize);

/// A size before the loop, and behind the first iteration.
pub(super) type Change = [Dim; 2];

/// The sizes that differ.
#[derive(Default)]
pub(super) struct Varying<'a> {
    /// The number of the size that each axis has.
    axes: BTreeMap<Axis<'a>, usize>,
    sizes: Vec<Change>,
    /// How long the buffers for each size are, once that is known.
    lengths: Option<Lengths>,
}

/// How long buffers are.
struct Lengths {
    /// For each size, what a buffer has room for without an iteration, and how much more for each iteration.
    of: Vec<[Dim; 2]>,
    bound: Option<Bound>,
}

/// The sizes while a loop is read.
pub(super) struct Sizes {
    /// What an iteration calls each size, if its body is read with symbols.
    pub(super) symbols: Vec<SymbolId>,
    /// How long the buffers are, if there are some.
    lengths: Vec<Dim>,
}

/// The most sizes of a loop that may differ.
const MOST_SIZES: usize = 16;

fn overflow() -> Fault {
    Fault::Size { message: "a variable would be of a size that overflows".into() }
}

impl<'a> Varying<'a> {
    /// The size that an axis has.
    pub(super) fn size(&self, axis: &Axis<'a>) -> Option<usize> {
        self.axes.get(axis).copied()
    }

    /// Whether the axes are new, and not too many. Axes whose sizes change alike have one size, unless they have been told apart.
    pub(super) fn add(&mut self, changes: Vec<(Axis<'a>, Change)>) -> bool {
        for (axis, change) in changes {
            let alike =
                self.sizes.iter().position(|of| *of == change).filter(|_| !self.axes.contains_key(&axis));
            let size = alike.unwrap_or(self.sizes.len());
            if size == self.sizes.len() {
                self.sizes.push(change);
            }
            self.axes.insert(axis, size);
        }
        self.sizes.len() <= MOST_SIZES
    }

    /// What an iteration calls each size, what it is behind one, and before the loop.
    pub(super) fn known(&self, symbols: &[SymbolId], behind: &[Dim]) -> Vec<(SymbolId, Dim, Dim)> {
        let all = symbols.iter().zip(behind).zip(&self.sizes);
        all.map(|((&symbol, behind), [first, _])| (symbol, behind.clone(), first.clone())).collect()
    }

    /// With buffers that are long enough, or what is not known for that. An iteration leaves the sizes `behind`.
    pub(super) fn with_lengths(
        mut self,
        before: Mark,
        found: &[(SymbolId, Dim, Dim)],
        bound: Option<Bound>,
    ) -> Result<Result<Self, &'static str>, Fault> {
        const UNKNOWN: &str =
            "how long a variable becomes follows from more than how long it was, and how often the loop runs";
        let is_there = |dim: &Dim| dim.symbols().into_iter().all(|symbol| before.has_size(symbol));
        let zero = Dim::from(0);
        let mut of: Vec<Option<[Dim; 2]>> = Vec::new();
        for (symbol, behind, first) in found {
            let grows = (behind - &Dim::symbol(*symbol)).map_err(|_| overflow())?;
            of.push(if is_there(behind) {
                Some([(first + behind).map_err(|_| overflow())?, zero.clone()])
            } else if is_there(&grows) && grows.is_positive() == Answer::Holds {
                Some([first.clone(), grows])
            } else if grows.constant().is_some_and(|grows| grows <= 0) {
                Some([first.clone(), zero.clone()])
            } else {
                None
            });
        }
        // What follows from another size.
        for (at, (_, behind, first)) in found.iter().enumerate() {
            if of[at].is_some() {
                continue;
            }
            for (other, (symbol, ..)) in found.iter().enumerate() {
                let more = (behind - &Dim::symbol(*symbol)).map_err(|_| overflow())?;
                if let (Some(more), Some([room, each])) = (more.constant(), &of[other]) {
                    let room = (room + &Dim::from(more.max(0))).and_then(|room| &room + first);
                    of[at] = Some([room.map_err(|_| overflow())?, each.clone()]);
                    break;
                }
            }
        }
        let Some(of) = of.into_iter().collect::<Option<Vec<_>>>() else { return Ok(Err(UNKNOWN)) };
        if bound.is_none() && of.iter().any(|[_, each]| each.constant() != Some(0)) {
            return Ok(Err(
                "a variable becomes longer, and the condition has no counter that says how often",
            ));
        }
        self.lengths = Some(Lengths { of, bound });
        Ok(Ok(self))
    }

    /// Makes the initial values of variables buffers, and appends the lengths to the state.
    pub(super) fn begun(
        &self,
        at: &mut At<'_>,
        names: &[&'a str],
        initial: &mut Vec<VarId>,
    ) -> Result<Sizes, Fault> {
        let Some(lengths) = &self.lengths else {
            let symbols = self.sizes.iter().map(|_| at.draft.size("varying")).collect();
            return Ok(Sizes { symbols, lengths: Vec::new() });
        };
        let most = match &lengths.bound {
            Some(bound) if lengths.of.iter().any(|[_, each]| each.constant() != Some(0)) => bound.most(at)?,
            _ => Dim::from(0),
        };
        let all = lengths.of.iter().map(|[room, each]| {
            let length = (each * &most).and_then(|more| room + &more);
            length.map_err(|_| overflow())
        });
        let sizes = Sizes { symbols: Vec::new(), lengths: all.collect::<Result<_, Fault>>()? };
        self.filled(at, &sizes, names, initial)?;
        Ok(sizes)
    }

    /// The type of a variable where a body is read with symbols.
    pub(super) fn symbolic(&self, sizes: &Sizes, name: &'a str, ty: &mut Type) {
        for (axis, dim) in ty.dims.iter_mut().enumerate() {
            if let Some(&symbol) = self.size(&(name, axis)).and_then(|size| sizes.symbols.get(size)) {
                *dim = Dim::symbol(symbol);
            }
        }
    }

    /// Makes buffers of the values of variables, and appends how long the values are. All values that have one size have it alike.
    pub(super) fn filled(
        &self,
        at: &mut At<'_>,
        sizes: &Sizes,
        names: &[&'a str],
        values: &mut Vec<VarId>,
    ) -> Result<(), Fault> {
        let mut lengths = vec![None; sizes.lengths.len()];
        for (place, &name) in names.iter().enumerate() {
            for (axis, length) in self.axes_of(name, sizes) {
                let value = values[place];
                let rows = usize::from(at.ty(value).rows.is_some());
                let size = at.ty(value).dims[axis].clone();
                let count = match lengths[length] {
                    Some(count) => count,
                    None => at.size_as(&size, DType::I64)?,
                };
                lengths[length] = Some(count);
                // Behind the value come zeros.
                let mut ty = at.ty(value).clone();
                ty.dims[axis] = Dim::from(1);
                let zeros = at.emit(Fill::zeros(ty), &[])?;
                let axis = (axis + rows) as i64;
                let value = at.emit(Concat { axis }, &[value, zeros])?;
                let numbers = at.count_to(sizes.lengths[length].clone())?;
                let numbers = at.binary(BinaryKind::Min, numbers, count)?;
                values[place] = at.emit(Gather { axis }, &[value, numbers])?;
            }
        }
        values.extend(lengths.into_iter().flatten());
        Ok(())
    }

    /// The values that are in buffers, whose lengths are the last values.
    pub(super) fn taken(
        &self,
        at: &mut At<'_>,
        sizes: &Sizes,
        names: &[&'a str],
        values: &mut Vec<VarId>,
    ) -> Result<(), Fault> {
        let lengths = values.split_off(values.len() - sizes.lengths.len());
        let mut numbers = Vec::with_capacity(lengths.len());
        for length in lengths {
            numbers.push(at.numbers_before(length, "varying")?);
        }
        for (value, name) in values.iter_mut().zip(names) {
            for (axis, length) in self.axes_of(name, sizes) {
                let axis = (axis + usize::from(at.ty(*value).rows.is_some())) as i64;
                *value = at.emit(Gather { axis }, &[*value, numbers[length]])?;
            }
        }
        Ok(())
    }

    /// The axes of a variable that are in a buffer, and the size of each.
    fn axes_of(&self, name: &str, sizes: &Sizes) -> Vec<(usize, usize)> {
        let axes = self.axes.iter().filter(|((of, _), _)| *of == name && !sizes.lengths.is_empty());
        axes.map(|(&(_, axis), &size)| (axis, size)).collect()
    }
}
