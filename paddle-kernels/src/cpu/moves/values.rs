//! Kernels that copy values, set them to zero, and add gradients that come from several places.

use std::marker::PhantomData;

use paddle_core::plan::{KernelError, OperandType, Unsupported};
use paddle_core::program::DType;

use crate::cpu::isa::dispatch;
use crate::cpu::kernel::{Body, Machine, unsupported};
use crate::cpu::number::Summed;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;

/// The number of elements that one thread adds at a time.
const PIECE: usize = 1 << 15;

/// [`Move::Copy`](paddle_core::plan::Move::Copy).
pub(super) struct Copying;

impl Body for Copying {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (from, to) = (reads.bytes(0), writes.one_bytes());
        let bytes = from.len().min(to.len());
        to[..bytes].copy_from_slice(&from[..bytes]);
        Ok(())
    }
}

/// [`Move::Zero`](paddle_core::plan::Move::Zero).
pub(super) struct Zeroing;

impl Body for Zeroing {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (_, writes) = operands.split();
        writes.one_bytes().fill(0);
        Ok(())
    }
}

/// Calls a constructor with the type of numbers of an operand.
macro_rules! of_number {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty.dtype {
            DType::I32 => {
                type $T = i32;
                Ok(Box::new($body))
            }
            DType::I64 => {
                type $T = i64;
                Ok(Box::new($body))
            }
            DType::F32 => {
                type $T = f32;
                Ok(Box::new($body))
            }
            DType::F64 => {
                type $T = f64;
                Ok(Box::new($body))
            }
            DType::Bool => unsupported("a sum of truth values"),
        }
    };
}

/// [`Move::Add`](paddle_core::plan::Move::Add).
struct Adding<T>(PhantomData<T>);

pub(super) fn adding(output: &OperandType) -> Result<Box<dyn Body>, Unsupported> {
    of_number!(output, T => Adding::<T>(PhantomData))
}

impl<T: Summed> Body for Adding<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (from, to) = (reads.get::<T>(0), writes.one::<T>());
        let count = from.len().min(to.len());
        pieces(&machine.team, &mut to[..count], PIECE, &|index, to| {
            add_slices(machine.isa, &from[index * PIECE..][..to.len()], to);
        });
        Ok(())
    }
}

/// [`Move::AddRows`](paddle_core::plan::Move::AddRows).
struct AddingRows<T> {
    to: OperandType,
    element: PhantomData<T>,
}

pub(super) fn adding_rows(output: &OperandType) -> Result<Box<dyn Body>, Unsupported> {
    of_number!(output, T => AddingRows::<T> { to: output.clone(), element: PhantomData })
}

impl<T: Summed> Body for AddingRows<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = self.to.row_elements(operands.sizes());
        let (reads, writes) = operands.split();
        let (from, index, to) = (reads.get::<T>(0), reads.get::<i32>(1), writes.one::<T>());
        if width == 0 {
            return Ok(());
        }
        for (from, &row) in from.chunks_exact(width).zip(index) {
            add_slices(machine.isa, from, &mut to[row as usize * width..][..width]);
        }
        Ok(())
    }
}

dispatch! {
    fn add_slices<const FUSED: bool, T: Summed>(isa, from: &[T], to: &mut [T]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = to.plus(*from);
        }
    }
}
