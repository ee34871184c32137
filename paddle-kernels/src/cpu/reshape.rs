//! `reshape2`: a copy, since layouts are dense.

use std::marker::PhantomData;

use paddle_core::plan::{KernelError, Unsupported};
use paddle_core::program::DType;

use super::kernel::{Body, Compiled, Machine, Single};
use super::number::Element;
use super::operands::Operands;
use super::pieces::pieces;

struct Copy<T>(PhantomData<T>);

/// Elements that one thread copies at a time.
const PIECE: usize = 1 << 16;

pub(super) fn compile(single: &Single<'_>) -> Result<Compiled, Unsupported> {
    let (x, out) = (single.input(0)?, single.output(0)?);
    let body: Box<dyn Body> = match x.1.dtype {
        DType::Bool => Box::new(Copy::<u8>(PhantomData)),
        DType::I32 => Box::new(Copy::<i32>(PhantomData)),
        DType::I64 => Box::new(Copy::<i64>(PhantomData)),
        DType::F32 => Box::new(Copy::<f32>(PhantomData)),
        DType::F64 => Box::new(Copy::<f64>(PhantomData)),
    };
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
