//! `cumsum`.

use paddle_core::ops::CumSum;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::{index, positions};
use crate::reference::values::Values;

impl Evaluate for CumSum {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (x, shape, axis) = (call.read(0), call.shape(0), self.axis as usize);
        // For each element, the elements that are added to it.
        let (mut targets, mut terms) = (Vec::new(), Vec::new());
        for at in positions(&shape) {
            let mut before = match self.reverse {
                true => (at[axis] + 1..shape[axis]).rev().collect::<Vec<_>>(),
                false => (0..at[axis]).collect(),
            };
            if !self.exclusive {
                before.push(at[axis]);
            }
            for along in before {
                let mut term = at.clone();
                term[axis] = along;
                targets.push(index(&at, &shape));
                terms.push(index(&term, &shape));
            }
        }
        let out = match x {
            Values::F32(_) | Values::F64(_) => {
                let mut sums = vec![0.0; x.len()];
                let x = x.floats();
                targets.iter().zip(terms).for_each(|(&to, term)| sums[to] += x[term]);
                Values::round(call.output_dtype(0), sums)
            }
            x => Values::zeros(x.dtype(), x.len()).with_added(&targets, &x.at(&terms)),
        };
        Ok(vec![out])
    }
}
