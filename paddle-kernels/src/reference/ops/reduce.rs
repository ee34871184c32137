//! `reduce_sum`, `reduce_mean`, `reduce_max`, `reduce_min`, `reduce_prod`, `reduce_any`, `reduce_all`.

use paddle_core::ops::{Reduce, ReduceKind};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::{extent, reduction};
use crate::reference::values::Values;

/// Folds the elements: starts from `none`, and combines with `with`.
fn fold<T: Copy>(call: &Call<'_>, op: &Reduce, x: &[T], none: T, with: impl Fn(T, T) -> T) -> Vec<T> {
    let mut out = vec![none; call.output_shape(0).iter().product()];
    for (x, target) in x.iter().zip(reduction(&call.shape(0), &op.axes)) {
        out[target] = with(out[target], *x);
    }
    out
}

macro_rules! whole {
    ($call:ident, $op:ident, $x:ident, $type:ident, $kind:ident) => {
        Values::$kind(match $op.kind {
            ReduceKind::Sum => fold($call, $op, $x, 0, $type::wrapping_add),
            ReduceKind::Prod => fold($call, $op, $x, 1, $type::wrapping_mul),
            ReduceKind::Max => fold($call, $op, $x, $type::MIN, $type::max),
            ReduceKind::Min => fold($call, $op, $x, $type::MAX, $type::min),
            kind => panic!("integers have no {kind:?}"),
        })
    };
}

impl Evaluate for Reduce {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let out = match &call.read(0) {
            Values::Bool(x) => Values::Bool(match self.kind {
                ReduceKind::Any => fold(call, self, x, false, |found, x| found || x),
                ReduceKind::All => fold(call, self, x, true, |found, x| found && x),
                kind => panic!("truth values have no {kind:?}"),
            }),
            Values::I32(x) => whole!(call, self, x, i32, I32),
            Values::I64(x) => whole!(call, self, x, i64, I64),
            x @ (Values::F32(_) | Values::F64(_)) => of_floats(self, call, &x.floats()),
        };
        Ok(vec![out])
    }
}

fn of_floats(op: &Reduce, call: &Call<'_>, x: &[f64]) -> Values {
    let out = match op.kind {
        ReduceKind::Sum => fold(call, op, x, 0.0, |sum, x| sum + x),
        // Over no elements, the mean is 0, like the sum.
        ReduceKind::Mean => {
            let divisor = extent(&call.shape(0), &op.axes).max(1) as f64;
            fold(call, op, x, 0.0, |sum, x| sum + x).into_iter().map(|sum| sum / divisor).collect()
        }
        ReduceKind::Prod => fold(call, op, x, 1.0, |product, x| product * x),
        ReduceKind::Max => fold(call, op, x, f64::NEG_INFINITY, f64::max),
        ReduceKind::Min => fold(call, op, x, f64::INFINITY, f64::min),
        kind => panic!("floating-point numbers have no {kind:?}"),
    };
    Values::round(call.output_dtype(0), out)
}
