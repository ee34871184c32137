//! `top_k_v2`, `argsort`, `accuracy`.

use paddle_core::ops::{Accuracy, Real, TopK};
use paddle_core::plan::Unsupported;
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::fold::scan;
use crate::gpu::form::{Float, Long, Truth, Unsigned, Variable, each, for_each, lane, scalar, when};
use crate::gpu::index::{element, position};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Element};

/// Whether an element is in front of another one; equal ones stay as they are. What is not a number is larger than any.
fn is_before((x, at): (Float, Unsigned), (y, other): (Float, Unsigned), largest: bool) -> Truth {
    let (no_x, no_y) = (x.is_not_a_number(), y.is_not_a_number());
    let numbers = !no_x & !no_y;
    let (above, below) = (x.greater(y) & numbers, x.less(y) & numbers);
    let (first, last) = match largest {
        true => (above | (no_x & !no_y), below | (no_y & !no_x)),
        false => (below | (no_y & !no_x), above | (no_x & !no_y)),
    };
    first | (!last & at.less(other))
}

impl Compile for TopK {
    fn is_supported(&self, types: &[DType]) -> bool {
        types[0] == DType::F32
    }

    /// The thread of an element counts the elements in front of it, which is its place.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, taken, axis) = (call.shape(0).to_vec(), call.out_shape(0).to_vec(), self.axis as usize);
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (x, out, indices, u) = (call.input(0), call.output(0), call.output(1), Unsigned::of);
            each(x.elements(), |index| {
                let mut at = position(index, &shape);
                let own = at[axis];
                let value = x.float(index);
                let place = Variable::new(u(0));
                for_each(u(0), scalar(&[shape[axis]]), u(1), |along| {
                    at[axis] = along;
                    let other = (x.float(element(&at, &shape)), along);
                    place.set(place.get() + is_before(other, (value, own), self.largest).to_unsigned());
                });
                let place = place.get();
                when(place.less(scalar(&[taken[axis]])), || {
                    at[axis] = place;
                    let to = element(&at, &taken);
                    out.copy(to, &x, index);
                    indices.store(to, Element::Long(Long::of_unsigned(own)));
                });
            });
        }))
    }
}

impl Compile for Accuracy {
    fn is_supported(&self, types: &[DType]) -> bool {
        types[3] == DType::F32
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let k = call.shape(1)[call.shape(1).len() - 1];
        Ok(Kernel::new().stage(Grid::One, || {
            let (indices, labels) = (call.input(1), call.input(2));
            let [share, correct, total] = [0, 1, 2].map(|output| call.output(output));
            let u = Unsigned::of;
            let is_right = |row: Unsigned| {
                let label = labels.load(row).long();
                let found = Variable::new(Truth::of(false));
                for_each(u(0), scalar(&[k]), u(1), |place| {
                    when(indices.load(row * scalar(&[k]) + place).long().is(label), || {
                        found.set(Truth::of(true))
                    });
                });
                found.get().to_unsigned()
            };
            let right = scan(labels.elements(), is_right, |_, _| ());
            when(lane().is(u(0)), || {
                let rows = labels.elements();
                let divisor = rows.max_with(u(1)).to_float();
                share.set(u(0), right.to_float() / divisor);
                correct.store(u(0), Element::Signed(right.as_signed()));
                total.store(u(0), Element::Signed(rows.as_signed()));
            });
        }))
    }
}
