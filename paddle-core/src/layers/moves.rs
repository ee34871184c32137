//! Layers that cut values, join them, and put more elements around them.

use super::Call;
use super::shapes::{axes, axis, inner};
use crate::ops::{
    AssignValue, Concat, Gather, MismatchKind, Number, Pad, PadMode, Reshape, Slice, Split, Tile,
    compositions,
};
use crate::program::{BuildError, DType, Dim, Type, VarId};

/// Passes the layers that cut and join to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_move_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// `x`, repeated along dimensions of 1 until it has the sizes. There may be more sizes in front.
            expand(x: Value "What to repeat.",
                   shape: Shape "The sizes behind the rows; one may be -1, which stays as it is.";)
                => expand;

            /// `x` with its elements in reverse order along axes.
            flip(x: Value "What to turn around.", axis: Ints "Along which axes, that of the rows counted as 0.";)
                => flip;

            /// `x` with more elements around it.
            pad(x: Value "What to put elements around.",
                paddings: Ints "For each dimension behind the rows, how many come before and how many behind: `[1, 2]`.";
                value: Number = 0.0 "What they are.",
                mode: Choice(constant, reflect, replicate, circular) = "constant" "Whether they are that value, what stands inside as in a mirror, the first and the last element, or what stands at the other end.")
                => pad;

            /// `x` with its elements shifted along axes. Elements that leave at the end come in at the start.
            roll(x: Value "What to move.", shift: Ints "By how many elements, along each axis.";
                 axis: Ints = 1 "Along which axes, that of the rows counted as 0.")
                => roll;

            /// Parts of `x` along an axis: `let (a, b) = split(x, 2)`.
            split(x: Value "What to cut.",
                  parts: Sizes "How many parts of one size, `2`, or their sizes, `[3, 5]`.";
                  axis: Int = 1 "Along which axis, that of the rows counted as 0.") several
                => split;

            /// Values of one shape side by side along a new axis.
            stack(x: Values "Which values: `[x, y]`.";
                  axis: Int = 1 "Which axis of the result is new, that of the rows counted as 0.")
                => stack;

            /// `x` repeated along its dimensions.
            tile(x: Value "What to repeat.", times: Sizes "How many times along each dimension behind the rows.";)
                => tile;

            /// The elements of matrices, the last two axes, on a diagonal and to its left; 0 in place of the others.
            tril(x: Value "The matrices.";
                 diagonal: Int = 0 "How many columns to the right of the main diagonal it is.")
                => |call| triangle(call, true);

            /// The elements of matrices, the last two axes, on a diagonal and to its right; 0 in place of the others.
            triu(x: Value "The matrices.";
                 diagonal: Int = 0 "How many columns to the right of the main diagonal it is.")
                => |call| triangle(call, false);

            /// The elements of an axis as values of their own, without the axis: `let (a, b) = unstack(x)`.
            unstack(x: Value "What to take apart.";
                    axis: Int = 1 "Which axis, that of the rows counted as 0.") several
                => unstack;
        }
    };
}

with_move_layers!(layers);

/// The most parts of a value that is taken apart, and the most positions that are listed.
const MOST_PARTS: i64 = 1 << 12;

/// A list of positions along an axis.
fn positions(call: &mut Call<'_>, positions: Vec<i64>) -> Result<VarId, BuildError> {
    let ty = Type::new(DType::I64, [positions.len() as i64]);
    let values = positions.into_iter().map(Number::Int).collect();
    Ok(call.emit(AssignValue { values, ty }, &[])?[0])
}

/// The size of an axis, which has to be a number.
fn known_size(call: &Call<'_>, x: VarId, at: usize) -> Result<i64, BuildError> {
    let size = call.ty(x).dims[at].constant().filter(|&size| size <= MOST_PARTS);
    size.ok_or_else(|| {
        let but = format!("`{}` needs a size there that is a number, up to {MOST_PARTS}", call.layer.name);
        call.wrong_value(x, MismatchKind::Shape, &but)
    })
}

fn expand(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let (shape, ty) = (call.sizes("shape").unwrap_or_default(), call.ty(x).clone());
    let but = |call: &Call<'_>| {
        let wanted = Type { dims: shape.clone(), ..ty.clone() };
        let but = format!("only dimensions of 1 are repeated, to {}", call.program.show_shape(&wanted));
        call.wrong_value(x, MismatchKind::Shape, &but)
    };
    let Some(lead) = shape.len().checked_sub(ty.dims.len()) else { return Err(but(call)) };
    let own = std::iter::repeat_n(Dim::from(1), lead).chain(ty.dims.iter().cloned());
    let own: Vec<Dim> = own.collect();
    let mut repeat_times = Vec::with_capacity(shape.len());
    for (own, size) in own.iter().zip(&shape) {
        repeat_times.push(match (own.constant(), size.constant()) {
            (_, Some(-1)) => Dim::from(1),
            _ if own == size => Dim::from(1),
            (Some(1), _) => size.clone(),
            _ => return Err(but(call)),
        });
    }
    let x = if lead > 0 { call.emit(Reshape { dims: own }, &[x])?[0] } else { x };
    Ok(call.emit(Tile { repeat_times }, &[x])?[0])
}

fn flip(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let axes = axes(call, "axis", x)?.unwrap_or_default();
    let all = || vec![-1; axes.len()];
    let op = Slice { starts: all(), ends: all(), strides: all(), axes };
    Ok(call.emit_with("axis", op, &[x])?[0])
}

fn pad(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let mut x = call.value("x")?;
    let (sides, ty) = (call.ints("paddings").unwrap_or_default(), call.ty(x).clone());
    let (pairs, rest) = sides.as_chunks::<2>();
    if pairs.len() != ty.dims.len() || !rest.is_empty() {
        let but = format!("{} needs two numbers for each dimension behind the rows", call.words(x));
        return Err(call.wrong("paddings", MismatchKind::Count, &but));
    }
    let rows = usize::from(ty.rows.is_some());
    let mode = match call.choice("mode")? {
        "reflect" => PadMode::Reflect,
        "replicate" => PadMode::Replicate,
        "circular" => PadMode::Circular,
        _ => {
            let paddings = [&[0; 2][..2 * rows], &sides].concat();
            let op = Pad { paddings, pad_value: call.number("value")? };
            return Ok(call.emit_with("paddings", op, &[x])?[0]);
        }
    };
    for (at, &[before, behind]) in pairs.iter().enumerate().filter(|(_, pair)| **pair != [0, 0]) {
        let size = known_size(call, x, at)?;
        let inside = [before, behind].iter().all(|side| *side <= MOST_PARTS);
        let Some(from) = mode.positions(size, before, behind).filter(|_| inside) else {
            let but = format!("{} does not have as many elements there", call.words(x));
            return Err(call.wrong("paddings", MismatchKind::Attribute, &but));
        };
        let from = positions(call, from)?;
        x = call.emit(Gather { axis: (at + rows) as i64 }, &[x, from])?[0];
    }
    Ok(x)
}

fn roll(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let mut x = call.value("x")?;
    let shifts = call.ints("shift").unwrap_or_default();
    let axes = axes(call, "axis", x)?.unwrap_or_default();
    if axes.len() != shifts.len() {
        let but = format!("there are {} axes", axes.len());
        return Err(call.wrong("shift", MismatchKind::Count, &but));
    }
    for (axis, shift) in axes.into_iter().zip(shifts) {
        let at = inner(call, "axis", x, axis)?;
        let size = known_size(call, x, at)?.max(1);
        let from = positions(call, (0..size).map(|at| (at - shift % size).rem_euclid(size)).collect())?;
        x = call.emit_with("axis", Gather { axis }, &[x, from])?[0];
    }
    Ok(x)
}

fn split(call: &mut Call<'_>) -> Result<Vec<VarId>, BuildError> {
    let x = call.value("x")?;
    let axis = axis(call, x)?;
    let at = inner(call, "axis", x, axis)?;
    let mut sections = call.sizes("parts").unwrap_or_default();
    if let [parts] = &sections[..] {
        let size = call.ty(x).dims[at].clone();
        let count = parts.constant().filter(|&count| count <= MOST_PARTS);
        let part = size.floor_div(parts);
        let (Some(count), Some(part)) = (count, part) else {
            let but = format!("there are at most {MOST_PARTS} parts");
            return Err(call.wrong("parts", MismatchKind::Attribute, &but));
        };
        sections = vec![part; count as usize];
    }
    call.emit(Split { axis, sections }, &[x])
}

fn stack(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = call.values("x")?;
    let Some(&first) = inputs.first() else { return Err(BuildError::NoSuch { what: "value" }) };
    let ty = call.ty(first).clone();
    let (rows, rank) = (usize::from(ty.rows.is_some()), ty.rank() as i64);
    let axis = match call.given_int("axis") {
        Some(axis) => axis,
        None => call.int("axis")?.min(rank),
    };
    let axis = if axis < 0 { axis.saturating_add(rank + 1) } else { axis };
    let at = usize::try_from(axis).ok().and_then(|axis| axis.checked_sub(rows));
    let Some(at) = at.filter(|&at| at <= ty.dims.len()) else {
        let but = format!("a new axis of {} comes behind the rows", call.program.show(&ty));
        return Err(call.wrong("axis", MismatchKind::Attribute, &but));
    };
    let mut parts = Vec::with_capacity(inputs.len());
    for &input in &inputs {
        let mut dims = call.ty(input).dims.clone();
        if dims.len() != ty.dims.len() {
            let but = format!("{} is {}", call.words(first), call.program.show(&ty));
            return Err(call.wrong_value(input, MismatchKind::Shape, &but));
        }
        dims.insert(at, Dim::from(1));
        parts.push(call.emit(Reshape { dims }, &[input])?[0]);
    }
    call.emit_for(Concat { axis }, &parts, &inputs).map(|values| values[0])
}

fn tile(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let repeat_times = call.sizes("times").unwrap_or_default();
    Ok(call.emit_with("times", Tile { repeat_times }, &[x])?[0])
}

fn triangle(call: &mut Call<'_>, lower: bool) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let (ty, diagonal) = (call.ty(x).clone(), call.int("diagonal")?);
    let out = compositions::triangle((x, &ty), lower, diagonal, |op, inputs| call.emit_one(op, inputs))?;
    let but = format!("`{}` needs matrices behind the rows", call.layer.name);
    out.ok_or_else(|| call.wrong_value(x, MismatchKind::Shape, &but))
}

fn unstack(call: &mut Call<'_>) -> Result<Vec<VarId>, BuildError> {
    let x = call.value("x")?;
    let axis = axis(call, x)?;
    let at = inner(call, "axis", x, axis)?;
    let sections = vec![Dim::from(1); known_size(call, x, at)?.max(0) as usize];
    let mut dims = call.ty(x).dims.clone();
    dims.remove(at);
    let parts = call.emit(Split { axis, sections }, &[x])?;
    parts.into_iter().map(|part| Ok(call.emit(Reshape { dims: dims.clone() }, &[part])?[0])).collect()
}
