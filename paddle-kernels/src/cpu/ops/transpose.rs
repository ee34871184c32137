//! `transpose2`.

use std::marker::PhantomData;

use paddle_core::ops::Transpose;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::cpu::view::{MOST_AXES, View};

/// Elements that one thread moves at a time.
const PIECE: usize = 1 << 14;

struct Transposition<T> {
    perm: Vec<usize>,
    shape: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for Transpose {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        let perm: Vec<usize> = self.perm.iter().map(|&axis| axis as usize).collect();
        if perm.len() != x.1.shape.len() || perm.len() > MOST_AXES {
            return single.refuse("of so many axes");
        }
        let shape = x.1.shape.clone();
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Transposition::<T> { perm, shape, element: PhantomData }));
        Ok((single.signature([x], [out]), body))
    }
}

impl<T: Element> Body for Transposition<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let mut strides = [1; MOST_AXES];
        for axis in (1..self.shape.len()).rev() {
            strides[axis - 1] = strides[axis] * self.shape[axis].get(sizes);
        }
        let axes = self.perm.iter().map(|&axis| (self.shape[axis].get(sizes), strides[axis]));
        let view = axes.fold(View::at(0), |view, (extent, stride)| view.axis(extent, stride));
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        assert_eq!(x.len(), out.len(), "a shape with as many elements");
        pieces(&machine.team, out, PIECE, &|index, out| view.copy(x, index * PIECE, out));
        Ok(())
    }
}
