//! Kernels that copy values to another layout.

use paddle_core::plan::{KernelError, OperandType, Unsupported};
use paddle_core::program::DType;

use crate::cpu::images::{Images, ImagesType};
use crate::cpu::kernel::{Body, Machine, unsupported};
use crate::cpu::number::Element;
use crate::cpu::operands::Operands;
use crate::team::Team;

/// [`Move::Relayout`](paddle_core::plan::Move::Relayout): images in row-major order to those with the channels as the
/// fastest axis, or back.
struct Relaying<T> {
    from: ImagesType,
    turn: fn(Images, &Team, &[T], &mut [T]),
}

pub(super) fn relaying(from: &OperandType, to: &OperandType) -> Result<Box<dyn Body>, Unsupported> {
    let turns = from.layout.is_row_major() != to.layout.is_row_major();
    match (ImagesType::new(from).filter(|_| turns), from.dtype) {
        (Some(from), DType::F32) => Ok(Box::new(Relaying::<f32> { from, turn: Images::turn })),
        (Some(from), DType::F64) => Ok(Box::new(Relaying::<f64> { from, turn: Images::turn })),
        (Some(from), DType::I32) => Ok(Box::new(Relaying::<i32> { from, turn: Images::turn_any })),
        (Some(from), DType::I64) => Ok(Box::new(Relaying::<i64> { from, turn: Images::turn_any })),
        (Some(from), DType::Bool) => Ok(Box::new(Relaying::<u8> { from, turn: Images::turn_any })),
        (None, _) => unsupported("a copy between these layouts"),
    }
}

impl<T: Element> Body for Relaying<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let images = self.from.get(operands.sizes());
        let (reads, writes) = operands.split();
        (self.turn)(images, &machine.team, reads.get::<T>(0), writes.one::<T>());
        Ok(())
    }
}
