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

    /// A thread for each column along the axis: each place is the first element behind that of the place before.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, taken, axis) = (call.shape(0).to_vec(), call.out_shape(0).to_vec(), self.axis as usize);
        let columns = [&shape[..axis], &shape[axis + 1..]].concat();
        Ok(Kernel::new().stage(Grid::Items(columns.clone()), || {
            let (x, out, indices, u) = (call.input(0), call.output(0), call.output(1), Unsigned::of);
            each(scalar(&columns), |column| {
                let around = position(column, &columns);
                let at = |along: Unsigned, shape: &[_]| {
                    let mut place = around.clone();
                    place.insert(axis, along);
                    element(&place, shape)
                };
                let (size, count) = (scalar(&[shape[axis]]), scalar(&[taken[axis]]));
                let last = Variable::new(u(0));
                for_each(u(0), count, u(1), |place| {
                    let best = Variable::new(size);
                    for_each(u(0), size, u(1), |along| {
                        let value = (x.float(at(along, &shape)), along);
                        let is_behind = Variable::new(Truth::of(true));
                        when(place.greater(u(0)), || {
                            let previous = (x.float(at(last.get(), &shape)), last.get());
                            is_behind.set(is_before(previous, value, self.largest));
                        });
                        when(is_behind.get(), || {
                            let is_better = Variable::new(best.get().is(size));
                            when(best.get().less(size), || {
                                let found = (x.float(at(best.get(), &shape)), best.get());
                                is_better.set(is_before(value, found, self.largest));
                            });
                            when(is_better.get(), || best.set(along));
                        });
                    });
                    last.set(best.get());
                    let to = at(place, &taken);
                    out.copy(to, &x, at(best.get(), &shape));
                    indices.store(to, Element::Long(Long::of_unsigned(best.get())));
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
