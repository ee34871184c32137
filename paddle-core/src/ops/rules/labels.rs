//! The checks of labels that losses of classes share.

use crate::ops::{Infer, Mismatch, MismatchKind};
use crate::program::{DType, Dim, RowsId, Type};

/// Checks that labels have the rows of the values and one class id each. With `soft`, they have one probability for
/// each class.
pub(in crate::ops) fn check(cx: &Infer<'_>, values: usize, label: usize, soft: bool) -> Result<(), Mismatch> {
    let (of, ty) = (cx.ty(values), cx.ty(label));
    if soft {
        let needs = format!(
            "`{}` with `soft_label = true` needs one probability per class, {}",
            cx.operator,
            cx.program.show(of)
        );
        let wrong = |kind| cx.wrong(label, kind, format!("{}, but {needs}", cx.is(label)));
        cx.need_equal_dims(&ty.dims, &of.dims, || wrong(MismatchKind::Shape))?;
        if ty.dtype != of.dtype {
            return Err(wrong(MismatchKind::ElementType));
        }
        return check_rows(cx, values, label, "probabilities");
    }
    // One id goes with each row of values. Values without rows have one for each of the dimensions before the classes.
    let outer = &of.dims[..of.dims.len() - 1];
    let (before, last) = ty.dims.split_at(ty.dims.len().min(outer.len()));
    let needs = || {
        let ids = cx.program.show(&Type { dims: [outer, &[Dim::from(1)]].concat(), ..of.clone() });
        format!("`{}` needs class ids {}", cx.operator, &ids[ids.find('[').unwrap_or(0)..])
    };
    let wrong = || {
        let hint =
            if ty.dims == of.dims { "; for one probability per class write `soft_label = true`" } else { "" };
        cx.wrong(label, MismatchKind::Shape, format!("{}, but {}{hint}", cx.is(label), needs()))
    };
    cx.need_equal_dims(before, outer, wrong)?;
    match last {
        [] => {}
        [one] => cx.need_equal(one, &Dim::from(1), wrong)?,
        _ => return Err(wrong()),
    }
    if ty.dtype != DType::I64 {
        let message = format!("{}, but {} of element type i64", cx.is(label), needs());
        return Err(cx.wrong(label, MismatchKind::ElementType, message));
    }
    check_rows(cx, values, label, "an id")
}

fn check_rows(cx: &Infer<'_>, values: usize, label: usize, what: &str) -> Result<(), Mismatch> {
    if cx.ty(label).rows == cx.ty(values).rows {
        return Ok(());
    }
    cx.common_rows(values, label)?;
    let message = format!("{}, but {}: every row needs {what}", cx.is(label), cx.is(values));
    Err(cx.wrong(label, MismatchKind::Rows, message))
}

/// Class ids of tokens of their own, whose sequences belong to the same rows as those of the values: which.
pub(in crate::ops) fn check_sequences(
    cx: &Infer<'_>,
    values: usize,
    label: usize,
) -> Result<RowsId, Mismatch> {
    let rows = cx.need_sequences_of_one(values, label)?;
    let ty = cx.ty(label);
    if ty.dims.len() > 1 || ty.dims.iter().any(|dim| dim.constant() != Some(1)) {
        let message = format!("{}, but `{}` needs one class id for each token", cx.is(label), cx.operator);
        return Err(cx.wrong(label, MismatchKind::Shape, message));
    }
    cx.need_dtype(label, DType::I64)?;
    Ok(rows)
}
