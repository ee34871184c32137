//! Layers that move elements, or work along axes.

use super::Call;
use crate::ops::{Concat, MismatchKind, Reshape, Slice, Transpose};
use crate::program::{Answer, BuildError, Dim, DimOverflow, Type, VarId};

/// Passes the layers that move elements to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_shape_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Values one after another along an axis.
            concat(x: Values "Which values: `[x, y]`.";
                   axis: Ints = 1 "Along which axis, that of the rows counted as 0.")
                => concat;

            /// The same elements of each row in another shape.
            reshape(x: Value "What to shape.", shape: Shape "The sizes behind the rows; one may be -1, for what is left.";)
                => reshape;

            /// The elements from `starts` to before `ends` along axes. Negative bounds count from the end.
            slice(x: Value "What to take from.", axes: Ints "Along which axes, that of the rows counted as 0.",
                  starts: Ints "The first element along each.", ends: Ints "The one behind the last.";
                  strides: Ints "How far apart the elements are; side by side if it is left out. With a stride below 0 they go backward, from `starts` down to behind `ends`, of which -1 is the place before the first.")
                => slice;

            /// Axes from `start_axis` to `stop_axis` become one.
            flatten(x: Value "What to shape.";
                    start_axis: Int = 1 "The first of them, that of the rows counted as 0.",
                    stop_axis: Int = -1 "The last of them.")
                => flatten;

            /// `x` without some of its axes of size 1.
            squeeze(x: Value "What to shape.", axis: Ints "Which axes, that of the rows counted as 0.";)
                => squeeze;

            /// `x` with new axes of size 1.
            unsqueeze(x: Value "What to shape.",
                      axis: Ints "Which axes of the result they are, ascending, that of the rows counted as 0.";)
                => unsqueeze;

            /// `x` with its axes in another order, in which rows stay first.
            transpose(x: Value "What to turn.", axes: Ints "All axes, that of the rows counted as 0: `[0, 2, 1]`.";)
                => transpose;
        }
    };
}

with_shape_layers!(layers);

/// The axes of `x` in the argument `name`. The axis of the rows counts as 0; negative axes count from the end.
pub(super) fn axes(call: &Call<'_>, name: &str, x: VarId) -> Result<Option<Vec<i64>>, BuildError> {
    let rank = call.ty(x).rank() as i64;
    let axis = |axis: i64| {
        let counted = if axis < 0 { axis.saturating_add(rank) } else { axis };
        if (0..rank).contains(&counted) {
            return Ok(counted);
        }
        if call.given_ints(name).is_none() {
            return Err(along_none(call, x, axis));
        }
        let shown = call.program.show(call.ty(x));
        Err(call.wrong(name, MismatchKind::Attribute, &format!("{shown} has {rank} axes, counted from 0")))
    };
    call.ints(name).map(|given| given.into_iter().map(axis).collect()).transpose()
}

/// The axis in the argument `axis`, counted in the same way.
pub(super) fn axis(call: &Call<'_>, x: VarId) -> Result<i64, BuildError> {
    axis_or(call, x, call.int("axis")?)
}

/// The axis in the argument `axis`, or `otherwise` if it is left out, counted in the same way.
pub(super) fn axis_or(call: &Call<'_>, x: VarId, otherwise: i64) -> Result<i64, BuildError> {
    let rank = call.ty(x).rank() as i64;
    let axis = call.given_int("axis").unwrap_or(otherwise);
    let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
    if (0..rank).contains(&axis) {
        return Ok(axis);
    }
    let but = format!("{} has {rank} axes, counted from 0", call.program.show(call.ty(x)));
    match call.given_int("axis") {
        Some(_) => Err(call.wrong("axis", MismatchKind::Attribute, &but)),
        None => Err(along_none(call, x, axis)),
    }
}

/// The error for a default axis that `x` does not have.
fn along_none(call: &Call<'_>, x: VarId, axis: i64) -> BuildError {
    call.wrong_value(x, MismatchKind::Shape, &format!("`{}` goes along axis {axis}", call.layer.name))
}

fn concat(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = call.values("x")?;
    // The default does not depend on the first value alone: the operator checks that all values have the axis.
    let axes = match inputs.first() {
        Some(&first) if call.given_ints("axis").is_some() => axes(call, "axis", first)?,
        _ => call.ints("axis"),
    };
    let &[axis, ..] = &axes.unwrap_or_default()[..] else { return Err(BuildError::NoSuch { what: "axis" }) };
    Ok(call.emit_with("axis", Concat { axis }, &inputs)?[0])
}

fn slice(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let axes = axes(call, "axes", x)?.unwrap_or_default();
    let starts = call.ints("starts").unwrap_or_default();
    let ends = call.ints("ends").unwrap_or_default();
    let strides = call.ints("strides").unwrap_or_default();
    let rows = usize::from(call.ty(x).rows.is_some());
    let sizes = axes.iter().map(|&axis| call.ty(x).dims.get((axis as usize).checked_sub(rows)?)?.constant());
    for (at, size) in sizes.enumerate() {
        let Some(size) = size else { continue };
        let is_backward = strides.get(at).is_some_and(|stride| *stride < 0);
        for (name, bounds) in [("starts", &starts), ("ends", &ends)] {
            // A slice that goes backward ends behind its last element, so -1 stands for the place before the first
            // element.
            let lowest = if is_backward && name == "ends" { -1 - size } else { -size };
            if bounds.get(at).is_some_and(|bound| !(lowest..=size).contains(bound)) {
                let shown = call.program.show(call.ty(x));
                let but = format!("{shown} has {size} elements along axis {}", axes[at]);
                return Err(call.wrong(name, MismatchKind::Attribute, &but));
            }
        }
    }
    Ok(call.emit_with("axes", Slice { axes, starts, ends, strides }, &[x])?[0])
}

fn transpose(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let perm = axes(call, "axes", x)?.unwrap_or_default();
    Ok(call.emit_with("axes", Transpose { perm }, &[x])?[0])
}

/// One size may be -1; it follows from the others.
fn reshape(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let mut dims = call.sizes("shape").unwrap_or_default();
    let wrong = |but: &str| Err(call.wrong("shape", MismatchKind::Attribute, but));
    let is_left = |dim: &Dim| dim.constant() == Some(-1);
    if dims.iter().filter(|dim| is_left(dim)).count() > 1 {
        return wrong("only one may be -1, for what is left");
    }
    let product = |dims: &[Dim]| {
        let product = dims.iter().try_fold(Dim::from(1), |product, dim| &product * dim);
        product.map_err(|error: DimOverflow| BuildError::Mismatch(error.into()))
    };
    let known: Vec<Dim> = dims.iter().filter(|dim| !is_left(dim)).cloned().collect();
    let (all, known) = (product(&call.ty(x).dims)?, product(&known)?);
    let Some(left) = all.floor_div(&known) else { return wrong("sizes are above 0") };
    if dims.iter().any(is_left) && divides_by_luck(&all, &known) {
        let (of_row, asked) = (call.program.show_dim(&all), call.program.show_dim(&known));
        let but =
            format!("a row has {of_row} elements, which {asked} does not divide: there is no size for -1");
        return wrong(&but);
    }
    dims.iter_mut().filter(|dim| is_left(dim)).for_each(|dim| *dim = left.clone());
    if let Some(moved) = moved_dimension(&call.ty(x).dims, &dims)? {
        let moved = call.program.show_dim(&moved);
        let shape = call.program.show_shape(&Type { dims: dims.clone(), ..call.ty(x).clone() });
        let but = format!(
            "as {shape} it would mix the elements along `{moved}`, as the order of all elements stays; keep `{moved}` \
             where it is, and move it by `transpose`"
        );
        return Err(call.wrong_value(x, MismatchKind::Shape, &but));
    }
    Ok(call.emit(Reshape { dims }, &[x])?[0])
}

/// Whether a division leaves no remainder for some values of a symbol only. `by` neither divides the number in `all`
/// nor is divided by it: `T · 64` by 60. A division by 16 is always possible, and one by 128 if `T` is even.
fn divides_by_luck(all: &Dim, by: &Dim) -> bool {
    let (Some(by), None) = (by.constant(), all.constant()) else { return false };
    let (by, content) = (by.unsigned_abs(), all.content());
    by > 0 && content % by != 0 && by % content != 0
}

/// A symbol that is a dimension before and after, but with another number of elements in front of it: its elements
/// would be mixed with others.
fn moved_dimension(before: &[Dim], behind: &[Dim]) -> Result<Option<Dim>, BuildError> {
    let place = |dims: &[Dim], symbol: &Dim| {
        let mut places = dims.iter().enumerate().filter(|(_, dim)| *dim == symbol);
        let at = places.next().map(|(at, _)| at).filter(|_| places.next().is_none());
        let in_front = at.map(|at| dims[..at].iter().try_fold(Dim::from(1), |product, dim| &product * dim));
        in_front.transpose().map_err(|error: DimOverflow| BuildError::Mismatch(error.into()))
    };
    for symbol in before.iter().filter(|dim| dim.as_symbol().is_some()) {
        if let (Some(was), Some(is)) = (place(before, symbol)?, place(behind, symbol)?)
            && was.equals(&is) == Answer::Fails
        {
            return Ok(Some(symbol.clone()));
        }
    }
    Ok(None)
}

/// The position of an axis among the dimensions. The axis of the rows is an error.
pub(super) fn inner(call: &Call<'_>, name: &str, x: VarId, axis: i64) -> Result<usize, BuildError> {
    let rows = usize::from(call.ty(x).rows.is_some());
    (axis as usize).checked_sub(rows).ok_or_else(|| {
        call.wrong(name, MismatchKind::Attribute, "axis 0 is that of the rows, which stay as they are")
    })
}

fn flatten(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let rank = call.ty(x).rank() as i64;
    let mut ends = [0; 2];
    for (end, name) in ends.iter_mut().zip(["start_axis", "stop_axis"]) {
        let axis = call.int(name)?;
        let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
        if !(0..rank).contains(&axis) {
            let but = format!("{} has {rank} axes, counted from 0", call.program.show(call.ty(x)));
            return Err(match call.given_int(name) {
                Some(_) => call.wrong(name, MismatchKind::Attribute, &but),
                None => call.wrong_value(x, MismatchKind::Shape, "`flatten` needs two axes"),
            });
        }
        *end = inner(call, name, x, axis)?;
    }
    let [start, stop] = ends;
    if start > stop {
        return Err(call.wrong("start_axis", MismatchKind::Attribute, "the last axis comes before it"));
    }
    let dims = call.ty(x).dims.clone();
    let one = dims[start..=stop].iter().try_fold(Dim::from(1), |product, dim| &product * dim);
    let one = one.map_err(|error: DimOverflow| BuildError::Mismatch(error.into()))?;
    let dims = [&dims[..start], &[one], &dims[stop + 1..]].concat();
    Ok(call.emit(Reshape { dims }, &[x])?[0])
}

fn squeeze(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let mut gone = Vec::new();
    for axis in axes(call, "axis", x)?.unwrap_or_default() {
        let at = inner(call, "axis", x, axis)?;
        if call.ty(x).dims[at].constant() != Some(1) {
            return Err(call.wrong_value(x, MismatchKind::Shape, &format!("axis {axis} has to have size 1")));
        }
        gone.push(at);
    }
    let dims = call.ty(x).dims.iter().enumerate().filter(|(at, _)| !gone.contains(at));
    let dims = dims.map(|(_, dim)| dim.clone()).collect();
    Ok(call.emit(Reshape { dims }, &[x])?[0])
}

fn unsqueeze(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let given = call.ints("axis").unwrap_or_default();
    let (rows, mut dims) = (i64::from(call.ty(x).rows.is_some()), call.ty(x).dims.clone());
    let rank = rows + (dims.len() + given.len()) as i64;
    for axis in given {
        let at = if axis < 0 { axis.saturating_add(rank) } else { axis } - rows;
        let Some(at) = usize::try_from(at).ok().filter(|&at| at <= dims.len()) else {
            let but = format!("the result has {rank} axes, of which rows stay first");
            return Err(call.wrong("axis", MismatchKind::Attribute, &but));
        };
        dims.insert(at, Dim::from(1));
    }
    Ok(call.emit(Reshape { dims }, &[x])?[0])
}
