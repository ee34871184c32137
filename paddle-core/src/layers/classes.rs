//! Layers of classes and entries: embeddings, losses of labels, accuracy.

use super::Call;
use super::shapes::{axis, inner};
use crate::ops::{
    Accuracy, CrossEntropy, LookupTable, MismatchKind, Op, Softmax, SoftmaxWithCrossEntropy, TopK, Transpose,
    initializers,
};
use crate::program::{BuildError, DType, Dim, Type, VarId};

/// Passes the layers of classes and entries to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_class_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Normalised exponentials along an axis.
            softmax(x: Value "The logits.";
                    axis: Int = -1 "Along which axis, that of the rows counted as 0, but not along that.") activation
                => softmax;

            /// The cross-entropy of labels under the softmax of logits: `[_, 1]`. Labels get no gradient.
            softmax_with_cross_entropy(logits: Value "Before softmax: `[_, classes]`.",
                                       label: Value "Class ids, i64: `[_, 1]` or `[_]`, or a probability for each class.";
                                       axis: Int = -1 "Along which axis the classes are, that of the rows counted as 0. The result has size 1 there.",
                                       soft_label: Flag = false "Whether labels are probabilities, and not class ids.",
                                       ignore_index: Int = -100 "The id of rows without a class, whose loss is 0.")
                => softmax_with_cross_entropy;

            /// The cross-entropy of labels and probabilities: `[_, 1]`. Labels get no gradient.
            cross_entropy(x: Value "Probabilities: `[_, classes]`.",
                          label: Value "Class ids, i64: `[_, 1]` or `[_]`, or a probability for each class.";
                          axis: Int = -1 "Along which axis the classes are, that of the rows counted as 0. The result has size 1 there.",
                          soft_label: Flag = false "Whether labels are probabilities, and not class ids.",
                          ignore_index: Int = -100 "The id of rows without a class, whose loss is 0.")
                => cross_entropy;

            /// The share of rows whose class is among the `k` that have the largest values; 0 over no rows.
            accuracy(x: Value "Values of classes: `[_, classes]`.", label: Value "Class ids, i64: `[_, 1]`.";
                     k: Int = 1 "How many.")
                => accuracy;

            /// The entries of a table with these ids: `[_]` gives `[_, size]`, `[_, 1]` gives `[_, 1, size]`.
            ///
            /// Parameter: `w`, `[entries, size]`, uniform by Xavier's rule at first.
            embedding(ids: Value "Numbers of entries, i64.", size: Sizes "The table: `[entries, size of one]`.";
                      padding_idx: Int "An entry that reads as zeros and is not trained; none if it is left out.") parameters
                => embedding;
        }
    };
}

with_class_layers!(layers);

fn embedding(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let ids = call.value("ids")?;
    let dims = call.sizes("size").unwrap_or_default();
    if dims.len() != 2 {
        let but = "a table has two sizes: `[entries, size of one]`";
        return Err(call.wrong("size", MismatchKind::Count, but));
    }
    let ty = Type { dtype: DType::F32, rows: None, dims };
    let table = initializers::xavier(ty).map_err(|error| BuildError::Mismatch(error.into()))?;
    let table = call.parameter("w", table)?;
    let op = LookupTable { padding_idx: call.given_int("padding_idx").unwrap_or(-1) };
    Ok(call.emit_with("padding_idx", op, &[ids, table])?[0])
}

fn cross_entropy(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (soft_label, ignore_index) = labels(call)?;
    loss_of_classes(call, "x", CrossEntropy { soft_label, ignore_index })
}

fn softmax_with_cross_entropy(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (soft_label, ignore_index) = labels(call)?;
    loss_of_classes(call, "logits", SoftmaxWithCrossEntropy { soft_label, ignore_index })
}

/// The last output of a loss of values of classes and labels.
fn loss_of_classes(call: &mut Call<'_>, values: &str, loss: impl Into<Op>) -> Result<VarId, BuildError> {
    let (values, label) = (call.value(values)?, call.value("label")?);
    let rank = call.ty(values).rank();
    let axis = if call.given_int("axis").is_none() { rank as i64 - 1 } else { axis(call, values)? };
    if let (None, Some(other)) = (call.given_int("axis"), axis_without(call, values, label)) {
        let but =
            format!("classes are along the last axis; for classes along axis {other} write `axis = {other}`");
        return Err(call.wrong("label", MismatchKind::Shape, &but));
    }
    if axis + 1 == rank as i64 || rank == 0 {
        let outputs = call.emit(loss, &[values, label])?;
        return Ok(outputs[outputs.len() - 1]);
    }
    inner(call, "axis", values, axis)?;
    let last = rank as i64 - 1;
    let classes_last = Transpose { perm: (0..axis).chain(axis + 1..=last).chain([axis]).collect() };
    let classes_back = Transpose { perm: (0..axis).chain([last]).chain(axis..last).collect() };
    let turned = call.emit_one(classes_last.clone(), &[values])?;
    // Ids may have no axis of classes.
    let of_label = match call.ty(label).rank() == rank {
        true => call.emit_one(classes_last, &[label])?,
        false => label,
    };
    let outputs = call.emit_for(loss, &[turned, of_label], &[values, label])?;
    Ok(call.emit_for(classes_back, &outputs[outputs.len() - 1..], &[values])?[0])
}

/// The axis of values without which they have the shape of class ids, if that is another one than the last.
fn axis_without(call: &Call<'_>, values: VarId, ids: VarId) -> Option<usize> {
    let [values, ids] = [values, ids].map(|value| call.ty(value));
    let without = |axis: usize, size: &[Dim]| {
        ids.dims == [&values.dims[..axis], size, &values.dims[axis + 1..]].concat()
    };
    let has_ids = |axis: &usize| without(*axis, &[]) || without(*axis, &[Dim::from(1)]);
    let last = values.dims.len().checked_sub(1)?;
    let found = (0..last).find(has_ids).filter(|_| ids.dtype == DType::I64 && !has_ids(&last))?;
    Some(found + usize::from(values.rows.is_some()))
}

fn labels(call: &Call<'_>) -> Result<(bool, i64), BuildError> {
    Ok((call.flag("soft_label")?, call.int("ignore_index")?))
}

fn accuracy(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, label) = (call.value("x")?, call.value("label")?);
    let axis = call.ty(x).rank().saturating_sub(1) as i64;
    let op = TopK { k: Some(call.int("k")?), axis, largest: true };
    let top = call.emit_with("k", op, &[x])?;
    Ok(call.emit(Accuracy, &[top[0], top[1], label])?[0])
}

fn softmax(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let rank = call.ty(x).rank();
    if call.given_int("axis").is_none() {
        return Ok(call.emit(Softmax, &[x])?[0]);
    }
    let axis = axis(call, x)?;
    inner(call, "axis", x, axis)?;
    if axis as usize + 1 == rank {
        return Ok(call.emit(Softmax, &[x])?[0]);
    }
    let turn = Transpose::to_last(axis as usize, rank);
    let turned = call.emit(turn.clone(), &[x])?;
    let softmax = call.emit_for(Softmax, &turned, &[x])?;
    Ok(call.emit_for(turn, &softmax, &[x])?[0])
}
