//! Layers that find elements: by index, by order, and by running sums.

use super::Call;
use super::shapes::{axis, axis_or};
use crate::ops::compositions::along_axis;
use crate::ops::{
    Auc, Binary, BinaryKind, CumSum, Fill, Gather, GatherNd, MismatchKind, Number, OneHot, Range, Reshape,
    Scatter, ScatterNdAdd, TakeAlongAxis, TopK,
};
use crate::program::{BuildError, DType, Dim, Type, VarId};

/// Passes the layers that find elements to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_place_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// The numbers 0, 1, 2, …, i64: `[size]`.
            arange(size: Size "How many.";
                   start: Int = 0 "The first one.",
                   step: Int = 1 "From one to the next.")
                => arange;

            /// The index of the largest element along an axis, i64. Among equal elements, it is that of the first.
            argmax(x: Value "Where to look.";
                   axis: Int = -1 "Along which axis, that of the rows counted as 0.",
                   keep_dim: Flag = false "Whether the axis stays, with size 1.")
                => |call| argmax(call, true);

            /// The index of the smallest element along an axis, i64. Among equal elements, it is that of the first.
            argmin(x: Value "Where to look.";
                   axis: Int = -1 "Along which axis, that of the rows counted as 0.",
                   keep_dim: Flag = false "Whether the axis stays, with size 1.")
                => |call| argmax(call, false);

            /// The elements along an axis in order, and where they were: `let (sorted, indices) = argsort(x)`.
            argsort(x: Value "What to sort.";
                    axis: Int = -1 "Along which axis, that of the rows counted as 0.",
                    descending: Flag = false "Whether the largest come first, and not the smallest.") several
                => argsort;

            /// How probable it is that a row of class 1 ranks above one of class 0: the area under the ROC curve, over all
            /// batches so far, f64. It counts the rows in each of `num_thresholds + 1` equal parts from 0 to 1.
            ///
            /// The counts, `positives` and `negatives`, are kept with the parameters, and are not trained.
            auc(x: Value "Probabilities: `[_, 2]`, of which the last is that of class 1, or `[_, 1]`.",
                label: Value "Class ids, i64: `[_, 1]`.";
                num_thresholds: Size = 4095 "How many bounds lie between the parts.",
                param: Name "The name of the counts: every use of a name shares.")
                => auc;

            /// Running sums along an axis.
            cumsum(x: Value "What to sum.";
                   axis: Int = -1 "Along which axis, that of the rows counted as 0.",
                   exclusive: Flag = false "Whether an element itself is left out of its sum.",
                   reverse: Flag = false "Whether sums are from each element on, and not up to it.")
                => cumsum;

            /// The elements of `x` along an axis that numbers say. What has rows is gathered row by row: with `x`
            /// `[_, BEAM, H]` and `index` `[_, BEAM]`, each row puts its own beams in another order.
            gather(x: Value "What to take from.", index: Whole "Their numbers, i64.";
                   axis: Int "Along which axis, that of the rows counted as 0; the first behind the rows if it is left out.")
                => gather;

            /// The parts of `x`, which has no rows, at the positions that `index` has along its last dimension.
            gather_nd(x: Value "What to take from.", index: Value "Positions, i64: `[.., n]`.";)
                => gather_nd;

            /// Ids as rows with a single 1: `[_]` gives `[_, depth]`.
            one_hot(ids: Value "Numbers from 0 to below `depth`, i64.", depth: Size "How many ids there are.";)
                => one_hot;

            /// `x` with other values at places along an axis, the inverse of `take_along_axis`: `index` and `values` have the
            /// same shape. Of a place that occurs several times, the last value stays.
            put_along_axis(x: Value "What is there.", index: Value "Their numbers along the axis, i64.",
                           values: Value "The other ones, one for each of `index`.";
                           axis: Int = -1 "Which axis, that of the rows counted as 0.",
                           add: Flag = false "Whether values are added to what is there, and to each other.")
                => put_along_axis;

            /// `x` with other parts along its first axis. None of the values has rows.
            scatter(x: Value "What is there.", ids: Value "Which parts, i64: `[n]`.", updates: Value "The other ones.";
                    overwrite: Flag = true "Whether the last of several stays, and not their sum.")
                => scatter;

            /// `x`, which has no rows, with updates added at the positions that `index` has along its last dimension.
            scatter_nd_add(x: Value "What is there.", index: Value "Positions, i64: `[.., n]`.",
                           updates: Value "What to add.";)
                => scatter_nd_add;

            /// For each place, an element from along an axis: `index` has the shape of the result.
            take_along_axis(x: Value "What to take from.", index: Value "Their numbers along the axis, i64.";
                            axis: Int = -1 "Which axis, that of the rows counted as 0.")
                => take_along_axis;

            /// The `k` largest elements along an axis, largest first, and where they are:
            /// `let (values, indices) = top_k(x, 3)`.
            top_k(x: Value "Where to look.", k: Int "How many.";
                  axis: Int = -1 "Along which axis, that of the rows counted as 0.",
                  largest: Flag = true "Whether it is the largest, and not the smallest.") several
                => top_k;
        }
    };
}

with_place_layers!(layers);

fn arange(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (start, step) = (Number::Int(call.int("start")?), Number::Int(call.int("step")?));
    let ty = Type { dtype: DType::I64, rows: None, dims: vec![call.size("size")?] };
    Ok(call.emit(Range { start, step, ty }, &[])?[0])
}

fn argmax(call: &mut Call<'_>, largest: bool) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let axis = axis(call, x)?;
    let indices = call.emit_with("axis", TopK { k: Some(1), axis, largest }, &[x])?[1];
    if call.flag("keep_dim")? {
        return Ok(indices);
    }
    let mut dims = call.ty(indices).dims.clone();
    dims.remove(axis as usize - usize::from(call.ty(x).rows.is_some()));
    Ok(call.emit(Reshape { dims }, &[indices])?[0])
}

fn argsort(call: &mut Call<'_>) -> Result<Vec<VarId>, BuildError> {
    let x = call.value("x")?;
    let op = TopK { k: None, axis: axis(call, x)?, largest: call.flag("descending")? };
    call.emit_with("axis", op, &[x])
}

fn auc(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, label) = (call.value("x")?, call.value("label")?);
    let thresholds = call.size("num_thresholds")?.constant();
    let op = thresholds.map(|num_thresholds| Auc { num_thresholds, slide_steps: 0 });
    let Some((op, ty)) = op.and_then(|op| Some((op, op.counts()?))) else {
        return Err(call.wrong("num_thresholds", MismatchKind::Attribute, "it has to be a number"));
    };
    let zeros = Fill { value: Number::Int(0), ty };
    let inputs = [x, label, call.statistic("positives", zeros.clone())?, call.statistic("negatives", zeros)?];
    Ok(call.emit(op, &inputs)?[0])
}

fn cumsum(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let (exclusive, reverse) = (call.flag("exclusive")?, call.flag("reverse")?);
    let op = CumSum { axis: axis(call, x)?, exclusive, reverse };
    Ok(call.emit_with("axis", op, &[x])?[0])
}

fn gather(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, index) = (call.value("x")?, call.value("index")?);
    let rows = i64::from(call.ty(x).rows.is_some());
    let axis = axis_or(call, x, rows)?;
    let size = usize::try_from(axis - rows).ok().and_then(|at| call.ty(x).dims.get(at)?.constant());
    let outside = |size| call.written_out(index)?.into_iter().find(|at| !(0..size).contains(at));
    if let Some((size, at)) = size.and_then(|size| Some((size, outside(size)?))) {
        let shown = call.program.show(call.ty(x));
        let but = format!("{shown} has {size} elements along axis {axis}, numbered from 0, and none at {at}");
        return Err(call.wrong_value(index, MismatchKind::Attribute, &but));
    }
    Ok(call.emit_with("axis", Gather { axis }, &[x, index])?[0])
}

fn gather_nd(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("x")?, call.value("index")?];
    Ok(call.emit(GatherNd, &inputs)?[0])
}

fn one_hot(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (ids, depth) = (call.value("ids")?, call.size("depth")?);
    Ok(call.emit_with("depth", OneHot { depth, dtype: DType::F32, allow_out_of_range: false }, &[ids])?[0])
}

fn put_along_axis(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let [x, index, values] = [call.value("x")?, call.value("index")?, call.value("values")?];
    let axis = axis(call, x)?;
    let [of, ids, new] = [x, index, values].map(|value| call.ty(value).clone());
    if ids.dtype != DType::I64 {
        return Err(call.wrong("index", MismatchKind::ElementType, "the numbers of places are i64"));
    }
    let Some(at) = (axis as usize).checked_sub(usize::from(of.rows.is_some())) else {
        let argument = if call.given_int("axis").is_some() { "axis" } else { "x" };
        let but = "values are put along a dimension of each row, and axis 0 is that of the rows";
        return Err(call.wrong(argument, MismatchKind::Shape, but));
    };
    let others = |dims: &[Dim]| {
        dims.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, dim)| dim.clone()).collect()
    };
    let [these, those]: [Vec<Dim>; 2] = [others(&of.dims), others(&ids.dims)];
    if of.rows != ids.rows || of.dims.len() != ids.dims.len() || these != those {
        let shown = call.program.show(&of);
        let but = format!("{} is {shown}: they agree in all dimensions but axis {axis}", call.words(x));
        return Err(call.wrong("index", MismatchKind::Shape, &but));
    }
    if new.dtype != of.dtype {
        let but = format!("{} is {}", call.words(x), of.dtype);
        return Err(call.wrong("values", MismatchKind::ElementType, &but));
    }
    if (new.rows, &new.dims) != (ids.rows, &ids.dims) {
        let but = format!(
            "{} is {}: there is one value for each place",
            call.words(index),
            call.program.show(&ids)
        );
        return Err(call.wrong("values", MismatchKind::Shape, &but));
    }
    if call.flag("add")? {
        let sum = along_axis::added(call, &of, axis, index, values)?;
        return call.emit_one(Binary { kind: BinaryKind::Add }, &[x, sum]);
    }
    match along_axis::put(call, x, axis, index, values)? {
        Ok(put) => Ok(put),
        Err(why) => Err(call.wrong("index", MismatchKind::Shape, why)),
    }
}

fn scatter(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("x")?, call.value("ids")?, call.value("updates")?];
    if call.flag("overwrite")? {
        return Ok(call.emit(Scatter, &inputs)?[0]);
    }
    let [x, ids, updates] = inputs;
    let ty = call.ty(updates).clone();
    if !ty.dtype.is_float() {
        return Err(call.wrong("updates", MismatchKind::ElementType, "sums are of floating-point numbers"));
    }
    let zeros = call.emit(Fill { value: Number::Float(0.0), ty }, &[])?[0];
    let without = call.emit_for(Scatter, &[x, ids, zeros], &inputs)?[0];
    let dims = call.ty(ids).dims.iter().cloned().chain([Dim::from(1)]).collect();
    let index = call.emit(Reshape { dims }, &[ids])?[0];
    Ok(call.emit_for(ScatterNdAdd, &[without, index, updates], &inputs)?[0])
}

fn scatter_nd_add(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("x")?, call.value("index")?, call.value("updates")?];
    Ok(call.emit(ScatterNdAdd, &inputs)?[0])
}

fn take_along_axis(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, index) = (call.value("x")?, call.value("index")?);
    let op = TakeAlongAxis { axis: axis(call, x)? };
    Ok(call.emit_with("axis", op, &[x, index])?[0])
}

fn top_k(call: &mut Call<'_>) -> Result<Vec<VarId>, BuildError> {
    let x = call.value("x")?;
    let op = TopK { k: call.given_int("k"), axis: axis(call, x)?, largest: call.flag("largest")? };
    call.emit_with("k", op, &[x])
}
