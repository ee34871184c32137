//! Layers of classes and entries: embeddings, losses of labels, accuracy.

use super::{Call, initializers};
use crate::ops::{
    Accuracy, CrossEntropy, LookupTable, MismatchKind, RankLoss, SoftmaxWithCrossEntropy, TopK,
};
use crate::program::{BuildError, DType, Type, VarId};

pub(super) fn embedding(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let ids = call.value("ids")?;
    let dims = call.sizes("size").unwrap_or_default();
    if dims.len() != 2 {
        let but = "a table has two sizes: `[entries, size of one]`";
        return Err(call.wrong("size", MismatchKind::Count, but));
    }
    let ty = Type { dtype: DType::F32, rows: None, dims };
    let table = initializers::xavier(ty).map_err(|error| BuildError::Mismatch(error.into()))?;
    let table = call.parameter("w", table)?;
    let op = LookupTable { padding_idx: call.int("padding_idx").unwrap_or(-1) };
    Ok(call.emit_with("padding_idx", op, &[ids, table])?[0])
}

pub(super) fn cross_entropy(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, label) = (call.value("x")?, call.value("label")?);
    let (soft_label, ignore_index) = labels(call);
    Ok(call.emit(CrossEntropy { soft_label, ignore_index }, &[x, label])?[0])
}

pub(super) fn softmax_with_cross_entropy(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (logits, label) = (call.value("logits")?, call.value("label")?);
    let (soft_label, ignore_index) = labels(call);
    Ok(call.emit(SoftmaxWithCrossEntropy { soft_label, ignore_index }, &[logits, label])?[1])
}

fn labels(call: &Call<'_>) -> (bool, i64) {
    (call.flag("soft_label").unwrap_or(false), call.int("ignore_index").unwrap_or(-100))
}

pub(super) fn rank_loss(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("label")?, call.value("left")?, call.value("right")?];
    Ok(call.emit(RankLoss, &inputs)?[0])
}

pub(super) fn accuracy(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, label) = (call.value("x")?, call.value("label")?);
    let top = call.emit_with("k", TopK { k: call.int("k").unwrap_or(1) }, &[x])?;
    Ok(call.emit(Accuracy, &[top[0], top[1], label])?[0])
}
