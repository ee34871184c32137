//! `concat`, `split`.

use paddle_core::ops::{Concat, Split};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::moved;
use crate::reference::values::Values;

impl Evaluate for Concat {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (axis, out) = (self.axis as usize, call.output_shape(0));
        let inputs = call.op.inputs.len();
        let shapes: Vec<Vec<usize>> = (0..inputs).map(|k| call.shape(k)).collect();
        // For each element of the output, the input that it comes from, and the element there.
        let mut indices = vec![0; out.iter().product()];
        let (mut start, mut before) = (0, 0);
        for shape in &shapes {
            let size = shape[axis];
            let taken = moved(shape, &out, |mut position| {
                position[axis] = position[axis].checked_sub(start).filter(|at| *at < size)?;
                Some(position)
            });
            for (index, taken) in indices.iter_mut().zip(taken) {
                *index = taken.map_or(*index, |taken| before + taken);
            }
            start += size;
            before += shape.iter().product::<usize>();
        }
        Ok(vec![Values::join(&(0..inputs).map(|k| call.read(k)).collect::<Vec<_>>()).at(&indices)])
    }
}

impl Evaluate for Split {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (axis, x, shape) = (self.axis as usize, call.read(0), call.shape(0));
        let mut start = 0;
        let part = |k: usize| {
            let out = call.output_shape(k);
            let taken = moved(&shape, &out, |mut position| {
                position[axis] += start;
                Some(position)
            });
            start += out[axis];
            x.at_or_zero(&taken)
        };
        Ok((0..self.sections.len()).map(part).collect())
    }
}
