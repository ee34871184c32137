//! Layers that find elements: by their numbers, by their order, by sums so far.

use super::Call;
use super::shapes::axis_or;
use crate::ops::{
    Auc, CumSum, Fill, Gather, GatherNd, MismatchKind, Number, OneHot, Range, Reshape, Scatter, ScatterNdAdd,
    TakeAlongAxis, TopK,
};
use crate::program::{BuildError, DType, Dim, Type, VarId};

/// Passes the layers that find elements to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_place_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// The numbers 0, 1, 2, …, i64: `[size]`.
            arange(size: Size "How many.";
                   start: Int "The first one; 0 if it is left out.",
                   step: Int "From one to the next; 1 if it is left out.")
                => arange;

            /// Where the largest element along an axis is, i64; of equal ones, the first.
            argmax(x: Value "Where to look.";
                   axis: Int "Along which axis, that of the rows counted as 0; the last if it is left out.",
                   keep_dim: Flag "Whether the axis stays, with size 1; it goes if this is left out.")
                => |call| argmax(call, true);

            /// Where the smallest element along an axis is, i64; of equal ones, the first.
            argmin(x: Value "Where to look.";
                   axis: Int "Along which axis, that of the rows counted as 0; the last if it is left out.",
                   keep_dim: Flag "Whether the axis stays, with size 1; it goes if this is left out.")
                => |call| argmax(call, false);

            /// The elements along an axis in order, and where they were: `let (sorted, indices) = argsort(x)`.
            argsort(x: Value "What to sort.";
                    axis: Int "Along which axis, that of the rows counted as 0; the last if it is left out.",
                    descending: Flag "Whether the largest come first; the smallest do if this is left out.") several
                => argsort;

            /// How probable it is that a row of class 1 ranks above one of class 0: the area under the ROC curve, over all
            /// batches so far, f64. It counts the rows in each of `num_thresholds + 1` equal parts from 0 to 1.
            ///
            /// The counts, `positives` and `negatives`, are kept with the parameters, and are not trained.
            auc(x: Value "Probabilities: `[_, 2]`, of which the last is that of class 1, or `[_, 1]`.",
                label: Value "Class ids, i64: `[_, 1]`.";
                num_thresholds: Size "4095 if it is left out.",
                param: Name "The name of the counts: every use of a name shares.")
                => auc;

            /// Sums along an axis so far.
            cumsum(x: Value "What to sum.";
                   axis: Int "Along which axis, that of the rows counted as 0; the last if it is left out.",
                   exclusive: Flag "Whether an element itself is left out of its sum; it is in it if this is left out.",
                   reverse: Flag "Whether sums are from each element on; they are up to it if this is left out.")
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

            /// `x` with other parts along its first axis. None of the values has rows.
            scatter(x: Value "What is there.", ids: Value "Which parts, i64: `[n]`.", updates: Value "The other ones.";
                    overwrite: Flag "Whether the last of several stays, and not their sum; it does if this is left out.")
                => scatter;

            /// `x`, which has no rows, with updates added at the positions that `index` has along its last dimension.
            scatter_nd_add(x: Value "What is there.", index: Value "Positions, i64: `[.., n]`.",
                           updates: Value "What to add.";)
                => scatter_nd_add;

            /// For each place, an element from along an axis: `index` has the shape of the result.
            take_along_axis(x: Value "What to take from.", index: Value "Their numbers along the axis, i64.";
                            axis: Int "Which axis, that of the rows counted as 0; the last if it is left out.")
                => take_along_axis;

            /// The `k` largest elements along an axis, largest first, and where they are:
            /// `let (values, indices) = top_k(x, 3)`.
            top_k(x: Value "Where to look.", k: Int "How many.";
                  axis: Int "Along which axis, that of the rows counted as 0; the last if it is left out.",
                  largest: Flag "Whether it is the largest, and not the smallest; it is if this is left out.") several
                => top_k;
        }
    };
}

with_place_layers!(layers);

/// The argument `axis`, or the last one.
fn axis_or_last(call: &Call<'_>, x: VarId) -> Result<i64, BuildError> {
    axis_or(call, x, call.ty(x).rank() as i64 - 1)
}

fn arange(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let [start, step] =
        [("start", 0), ("step", 1)].map(|(name, or)| Number::Int(call.int(name).unwrap_or(or)));
    let ty = Type { dtype: DType::I64, rows: None, dims: vec![call.size("size")?] };
    Ok(call.emit(Range { start, step, ty }, &[])?[0])
}

fn argmax(call: &mut Call<'_>, largest: bool) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let axis = axis_or_last(call, x)?;
    let indices = call.emit_with("axis", TopK { k: Some(1), axis, largest }, &[x])?[1];
    if call.flag("keep_dim").unwrap_or(false) {
        return Ok(indices);
    }
    let mut dims = call.ty(indices).dims.clone();
    dims.remove(axis as usize - usize::from(call.ty(x).rows.is_some()));
    Ok(call.emit(Reshape { dims }, &[indices])?[0])
}

fn argsort(call: &mut Call<'_>) -> Result<Vec<VarId>, BuildError> {
    let x = call.value("x")?;
    let op =
        TopK { k: None, axis: axis_or_last(call, x)?, largest: call.flag("descending").unwrap_or(false) };
    call.emit_with("axis", op, &[x])
}

fn auc(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, label) = (call.value("x")?, call.value("label")?);
    let thresholds = call.given_size("num_thresholds").map_or(Some(4095), |size| size.constant());
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
    let [exclusive, reverse] = ["exclusive", "reverse"].map(|name| call.flag(name).unwrap_or(false));
    let op = CumSum { axis: axis_or_last(call, x)?, exclusive, reverse };
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

fn scatter(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("x")?, call.value("ids")?, call.value("updates")?];
    if call.flag("overwrite").unwrap_or(true) {
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
    let op = TakeAlongAxis { axis: axis_or_last(call, x)? };
    Ok(call.emit_with("axis", op, &[x, index])?[0])
}

fn top_k(call: &mut Call<'_>) -> Result<Vec<VarId>, BuildError> {
    let x = call.value("x")?;
    let op = TopK {
        k: call.int("k"),
        axis: axis_or_last(call, x)?,
        largest: call.flag("largest").unwrap_or(true),
    };
    call.emit_with("k", op, &[x])
}
