//! `slice`, `strided_slice` and their gradient.

use paddle_core::ops::{Slice, SliceGrad};
use paddle_core::plan::{Extent, Unsupported};

use super::Compile;
use crate::gpu::form::{Register, Signed, Truth, Unsigned, each, otherwise, scalar, when};
use crate::gpu::index::{element, position};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::Call;

/// The first element that is taken along each axis of `shape`, and the distance of the elements.
fn taken(op: &Slice, shape: &[Extent]) -> Vec<(Signed, Signed)> {
    let mut axes: Vec<_> = shape.iter().map(|_| (Signed::of(0), Signed::of(1))).collect();
    for (axis, bounds) in op.bounds() {
        let size = scalar(&[shape[axis]]).as_signed();
        // Bounds beyond any size are at its end.
        let start = Signed::of(bounds.start.clamp(i32::MIN.into(), i32::MAX.into()) as i32);
        let least = |x: Signed, y: Signed| Signed::choose(x.less(y), x, y);
        let from_start = match bounds.start < 0 {
            true => Signed::choose((start + size).less(Signed::of(0)), Signed::of(0), start + size),
            false => start,
        };
        let last = if bounds.stride > 0 { size } else { size - Signed::of(1) };
        axes[axis] = (least(from_start, last), Signed::of(bounds.stride as i32));
    }
    axes
}

impl Compile for Slice {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, part) = (call.shape(0).to_vec(), call.out_shape(0).to_vec());
        Ok(Kernel::new().stage(Grid::Items(part.clone()), || {
            let (x, out) = (call.input(0), call.output(0));
            let axes = taken(self, &shape);
            each(out.elements(), |index| {
                let at = position(index, &part).into_iter().zip(&axes);
                let source: Vec<Unsigned> = at
                    .map(|(at, &(first, stride))| (first + at.as_signed() * stride).as_unsigned())
                    .collect();
                out.copy(index, &x, element(&source, &shape));
            });
        }))
    }
}

impl Compile for SliceGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, part) = (call.shape(0).to_vec(), call.shape(1).to_vec());
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (grad, out) = (call.input(1), call.output(0));
            let axes = taken(&self.0, &shape);
            each(out.elements(), |index| {
                let mut is_taken = Truth::of(true);
                let mut source = Vec::new();
                for ((at, &(first, stride)), &count) in
                    position(index, &shape).into_iter().zip(&axes).zip(&part)
                {
                    let distance = at.as_signed() - first;
                    let found = distance / stride;
                    let whole = (found * stride).is(distance);
                    let inside =
                        found.as_unsigned().less(scalar(&[count])) & found.greater_equal(Signed::of(0));
                    is_taken = is_taken & whole & inside;
                    source.push(found.as_unsigned());
                }
                when(is_taken, || out.copy(index, &grad, element(&source, &part)));
                otherwise(|| out.clear(index));
            });
        }))
    }
}
