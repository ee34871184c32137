//! `assign_value`, `range`: numbers from the program.

use paddle_core::ops::{AssignValue, Fill, Number, Range};
use paddle_core::plan::Unsupported;
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{Long, Unsigned, double, each, lane, when};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Element};

/// The most numbers that are part of a kernel's text. More of them are copied from where the CPU has them.
const MOST: usize = 1024;

impl Compile for AssignValue {
    fn is_supported(&self, _: &[DType]) -> bool {
        self.values.len() <= MOST
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(Kernel::new().stage(Grid::One, || {
            let out = call.output(0);
            when(lane().is(Unsigned::of(0)), || {
                for (at, &value) in (0..).zip(&self.values) {
                    let fill = Fill { value, ty: self.ty.clone() };
                    let element = fill.evaluate(&[], out.dtype).expect("double precision is not supported");
                    out.store(Unsigned::of(at), element);
                }
            });
        }))
    }
}

impl Compile for Range {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let out = call.output(0);
            each(out.elements(), |index| {
                let at = Long::of_unsigned(index);
                let whole = |number: Number| Long::of(number.as_i64().unwrap_or_default());
                let exact = |number: Number| Long::of(number.as_f64().to_bits() as i64);
                let sum = whole(self.start) + at * whole(self.step);
                out.store(
                    index,
                    match (out.dtype, self.start, self.step) {
                        (DType::I64, ..) => Element::Long(sum),
                        (DType::I32, ..) => Element::Signed(sum.low.as_signed()),
                        (_, Number::Int(_), Number::Int(_)) => Element::Float(sum.to_float()),
                        (_, start, step) => {
                            let distance = double::multiply(double::of_whole(at), exact(step));
                            Element::Float(double::to_single(double::add(exact(start), distance)))
                        }
                    },
                );
            });
        }))
    }
}
