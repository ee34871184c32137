//! `sequence_reshape`: a copy.

use std::marker::PhantomData;

use paddle_core::ops::SequenceReshape;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::messages::same_elements;

/// Elements that one thread copies at a time.
const PIECE: usize = 1 << 14;

struct Reshape<T> {
    /// The dimensions of a token, before and after.
    dims: [Vec<Extent>; 2],
    element: PhantomData<T>,
}

impl Compile for SequenceReshape {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, out) = (single.input(0)?, single.output(0)?);
        let ([_, from @ ..], [_, to @ ..]) = (&x.1.shape[..], &out.1.shape[..]) else {
            return single.refuse("of a scalar");
        };
        let (dims, dtype) = ([from.to_vec(), to.to_vec()], x.1.dtype);
        let operands = [x, single.input(2)?, single.input(3)?];
        let body: Box<dyn Body> =
            with_element!(dtype, T => Box::new(Reshape::<T> { dims, element: PhantomData }));
        Ok((single.signature(operands, [out]), body))
    }
}

impl<T: Element> Body for Reshape<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let [from, to] = [0, 1].map(|side| product(&self.dims[side], operands.sizes()));
        let (reads, writes) = operands.split();
        same_elements((reads.get::<i64>(1), from), (reads.get::<i64>(2), to))?;
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        pieces(&machine.team, out, PIECE, &|index, out| {
            out.copy_from_slice(&x[index * PIECE..][..out.len()]);
        });
        Ok(())
    }
}
