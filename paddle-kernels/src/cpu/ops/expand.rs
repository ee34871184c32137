//! `expand_as_v2`, `size`.

use std::marker::PhantomData;

use paddle_core::ops::{Assign, Expand, Size};
use paddle_core::plan::{Extent, Group, GroupOp, KernelError, Operand, Unsupported};
use paddle_core::program::DType;

use super::elementwise::Link;
use super::{Compile, elementwise};
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::{Operands, Signature};

/// Whether a reduction over `axes` removes this axis.
fn is_reduced(axes: &[i64], axis: usize) -> bool {
    axes.is_empty() || axes.contains(&(axis as i64))
}

impl Compile for Expand {
    /// An element-wise copy of x. An axis that x lacks has size 1 in it. Only the shape of y is read.
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let ((at, mut x), out) = (single.input(0)?, single.output(0)?);
        let mut kept = x.shape.iter().copied();
        let mut shape = Vec::with_capacity(out.1.shape.len());
        for axis in 0..out.1.shape.len() {
            let reduced = is_reduced(&self.axes, axis);
            let own = if reduced && !self.keep_dim { None } else { kept.next() };
            shape.push(own.filter(|_| !reduced).unwrap_or(Extent::Fixed(1)));
        }
        x.shape = shape;
        let copy =
            GroupOp { op: Assign.into(), inputs: vec![Operand::Input(0)], outputs: vec![Operand::Output(0)] };
        let group = Group::of(copy, vec![x.clone()], vec![out.1.clone()], 0);
        let (_, body) = elementwise::compile(&group)?;
        let in_place = true;
        Ok((Signature { reads: vec![(at, x)], writes: vec![out], in_place }, body))
    }

    fn link(&self, dtype: DType) -> Option<Link> {
        Some(Link::copy(dtype))
    }
}

/// The sizes of these axes, or of all if there are none.
pub(super) fn counted(shape: &[Extent], axes: &[i64]) -> Vec<Extent> {
    let counted = shape.iter().enumerate().filter(|(axis, _)| is_reduced(axes, *axis));
    counted.map(|(_, extent)| *extent).collect()
}

/// The product of sizes, as numbers that may be larger than any memory.
pub(super) fn product(extents: &[Extent], sizes: &[usize]) -> f64 {
    extents.iter().fold(1.0, |count, extent| count * extent.get(sizes) as f64)
}

struct Count<T> {
    extents: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for Size {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let ((_, x), out) = (single.input(0)?, single.output(0)?);
        let extents = counted(&x.shape, &self.axes);
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Count::<T> { extents, element: PhantomData }));
        Ok((single.signature([], [out]), body))
    }

    fn link(&self, _dtype: DType) -> Option<Link> {
        Some(Link::Count(self.axes.clone()))
    }
}

impl<T: Float> Body for Count<T> {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let count = product(&self.extents, operands.sizes());
        let (_, writes) = operands.split();
        writes.one::<T>().fill(T::of(count));
        Ok(())
    }
}
