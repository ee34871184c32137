//! `top_k_v2`, `argsort`.

use std::cmp::Ordering;

use paddle_core::ops::TopK;
use paddle_core::plan::KernelError;

use super::call::Call;
use super::shape::{index, positions};
use super::values::Values;

/// The smaller first, NaN behind all.
fn ascending(x: f64, y: f64) -> Ordering {
    x.is_nan().cmp(&y.is_nan()).then(x.partial_cmp(&y).unwrap_or(Ordering::Equal))
}

/// How two elements are ordered.
fn compare(x: &Values, i: usize, j: usize) -> Ordering {
    match x {
        Values::Bool(x) => x[i].cmp(&x[j]),
        Values::I32(x) => x[i].cmp(&x[j]),
        Values::I64(x) => x[i].cmp(&x[j]),
        Values::F32(x) => ascending(x[i].into(), x[j].into()),
        Values::F64(x) => ascending(x[i], x[j]),
    }
}

pub(super) fn top_k(op: TopK, call: &Call<'_>) -> Result<Vec<Values>, KernelError> {
    let (x, shape, axis) = (call.read(0), call.shape(0), op.axis as usize);
    let (mut taken, mut indices) = (Vec::new(), Vec::new());
    for mut at in positions(&call.output_shape(0)) {
        let place = at[axis];
        let mut element = |along: usize| {
            at[axis] = along;
            index(&at, &shape)
        };
        let column: Vec<usize> = (0..shape[axis]).map(&mut element).collect();
        let mut order: Vec<usize> = (0..shape[axis]).collect();
        order.sort_by(|&i, &j| {
            let order = compare(&x, column[i], column[j]);
            if op.largest { order.reverse() } else { order }
        });
        taken.push(column[order[place]]);
        indices.push(order[place] as i64);
    }
    Ok(vec![x.at(&taken), Values::I64(indices)])
}
