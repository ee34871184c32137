//! `reshape2`: a copy, since layouts are dense.

use std::marker::PhantomData;

use paddle_core::ops::{AxisToRows, Reshape, RowsToAxis, ToDevice};
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::{Operands, Slot};
use crate::cpu::pieces::pieces;

struct Copy<T>(PhantomData<T>);

/// Elements that one thread copies at a time.
const PIECE: usize = 1 << 16;

macro_rules! copies {
    ($($name:ident),*) => {$(
        impl Compile for $name {
            fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
                copy(single, single.input(0)?, single.output(0)?)
            }
        }
    )*};
}
copies!(AxisToRows, Reshape, RowsToAxis, ToDevice);

/// Copies all elements of an operand to another one.
pub(super) fn copy(single: &Single<'_>, x: Slot, out: Slot) -> Result<Compiled, Unsupported> {
    let body: Box<dyn Body> = with_element!(x.1.dtype, T => Box::new(Copy::<T>(PhantomData)));
    Ok((single.signature([x], [out]), body))
}

impl<T: Element> Body for Copy<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let x = reads.get::<T>(0);
        let out = writes.one::<T>();
        assert_eq!(x.len(), out.len(), "a shape with as many elements");
        pieces(&machine.team, out, PIECE, &|index, out| {
            out.copy_from_slice(&x[index * PIECE..][..out.len()]);
        });
        Ok(())
    }
}
