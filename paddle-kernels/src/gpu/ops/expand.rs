//! `expand_as_v2`, `size`.

use paddle_core::ops::{Expand, Size};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::{Compile, elementwise};
use crate::gpu::form::{each, scalar};
use crate::gpu::index::{element, position};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Element};

/// Whether an axis is among these; empty are all axes.
pub(super) fn is_along(axes: &[i64], axis: usize) -> bool {
    axes.is_empty() || axes.contains(&(axis as i64))
}

/// The number of elements of a value of this shape along the axes.
pub(super) fn count(size: &Size, shape: &[Extent]) -> Element {
    let along: Vec<Extent> = shape
        .iter()
        .enumerate()
        .filter(|(axis, _)| is_along(&size.axes, *axis))
        .map(|(_, extent)| *extent)
        .collect();
    Element::Float(scalar(&along).to_float())
}

impl Compile for Expand {
    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        Some(inputs[0])
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        if call.group.body.is_none() {
            return elementwise::compile(call.group);
        }
        let shape = call.out_shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (x, out) = (call.input(0), call.output(0));
            each(out.elements(), |index| {
                let at = position(index, &shape);
                let kept = |axis: &usize| !is_along(&self.axes, *axis);
                let (at, extents): (Vec<_>, Vec<_>) =
                    (0..shape.len()).filter(kept).map(|axis| (at[axis], shape[axis])).unzip();
                out.copy(index, &x, element(&at, &extents));
            });
        }))
    }
}

impl Compile for Size {
    fn is_supported(&self, types: &[DType]) -> bool {
        types.last() == Some(&DType::F32)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        if call.group.body.is_none() {
            return elementwise::compile(call.group);
        }
        let shape = call.shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let out = call.output(0);
            each(out.elements(), |index| out.store(index, count(self, &shape)));
        }))
    }
}
