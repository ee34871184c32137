//! `top_k_v2`, `argsort`.

use std::cmp::Ordering;

use paddle_core::ops::TopK;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::{index, positions};
use crate::reference::values::Values;

/// Ascending order, with NaN behind all numbers.
fn ascending(x: f64, y: f64) -> Ordering {
    x.is_nan().cmp(&y.is_nan()).then(x.partial_cmp(&y).unwrap_or(Ordering::Equal))
}

/// The order of two elements.
fn compare(x: &Values, i: usize, j: usize) -> Ordering {
    match x {
        Values::Bool(x) => x[i].cmp(&x[j]),
        Values::I32(x) => x[i].cmp(&x[j]),
        Values::I64(x) => x[i].cmp(&x[j]),
        Values::F32(x) => ascending(x[i].into(), x[j].into()),
        Values::F64(x) => ascending(x[i], x[j]),
    }
}

impl Evaluate for TopK {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, shape, axis) = (call.read(0), call.shape(0), self.axis as usize);
        let taken_shape = call.output_shape(0);
        let count = taken_shape.iter().product();
        let (mut taken, mut indices) = (vec![0; count], vec![0; count]);
        for mut at in positions(&taken_shape).filter(|at| at[axis] == 0) {
            let mut element = |along: usize, shape: &[usize]| {
                at[axis] = along;
                index(&at, shape)
            };
            let column: Vec<usize> = (0..shape[axis]).map(|along| element(along, &shape)).collect();
            let mut order: Vec<usize> = (0..shape[axis]).collect();
            order.sort_by(|&i, &j| {
                let order = compare(&x, column[i], column[j]);
                if self.largest { order.reverse() } else { order }
            });
            for place in 0..taken_shape[axis] {
                let out = element(place, &taken_shape);
                (taken[out], indices[out]) = (column[order[place]], order[place] as i64);
            }
        }
        Ok(vec![x.at(&taken), Values::I64(indices)])
    }
}
