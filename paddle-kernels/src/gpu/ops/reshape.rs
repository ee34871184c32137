//! What copies elements: `reshape2`, rows as an axis, `transpose2`, `store`; and the numbers of rows.

use paddle_core::ops::{AxisToRows, Reshape, RowNumbers, RowsToAxis, Store, Transpose};
use paddle_core::plan::Unsupported;

use super::Compile;
use crate::gpu::form::{Long, each};
use crate::gpu::index::{element, position};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Element};

macro_rules! copies {
    ($($name:ident),*) => {$(
        impl Compile for $name {
            fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
                Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
                    let (x, out) = (call.input(0), call.output(0));
                    each(out.elements(), |index| out.copy(index, &x, index));
                }))
            }
        }
    )*};
}
copies!(AxisToRows, Reshape, RowsToAxis);

impl Compile for Store {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(Kernel::new().stage(Grid::Items(call.shape(0).to_vec()), || {
            let (to, from) = (call.input(0), call.input(1));
            each(to.elements(), |index| to.copy(index, &from, index));
        }))
    }
}

impl Compile for Transpose {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let (x, out) = (call.input(0), call.output(0));
            each(out.elements(), |index| {
                let at = position(index, call.out_shape(0));
                let mut source = at.clone();
                for (&axis, at) in self.perm.iter().zip(at) {
                    source[axis as usize] = at;
                }
                out.copy(index, &x, element(&source, call.shape(0)));
            });
        }))
    }
}

impl Compile for RowNumbers {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let out = call.output(0);
            each(out.elements(), |index| out.store(index, Element::Long(Long::of_unsigned(index))));
        }))
    }
}
