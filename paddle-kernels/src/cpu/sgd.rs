//! `sgd`.

use std::marker::PhantomData;

use paddle_core::plan::{KernelError, Unsupported};

use super::isa::dispatch;
use super::kernel::{Body, Compiled, Machine, Single, with_float};
use super::number::Float;
use super::operands::Operands;
use super::pieces::pieces;

struct Sgd<T>(PhantomData<T>);

/// Elements that one thread updates at a time.
const PIECE: usize = 1 << 14;

pub(super) fn compile(single: &Single<'_>) -> Result<Compiled, Unsupported> {
    let (parameter, rate, grad) = (single.input(0)?, single.input(1)?, single.input(2)?);
    let dtype = parameter.1.dtype;
    let body: Box<dyn Body> = with_float!(single, dtype, T => Box::new(Sgd::<T>(PhantomData)));
    Ok((single.signature([rate, grad], [parameter]), body))
}

dispatch! {
    fn update<const FUSED: bool, T: Float>(isa, rate: T, grad: &[T], parameter: &mut [T]) {
        for (parameter, grad) in parameter.iter_mut().zip(grad) {
            *parameter -= rate * *grad;
        }
    }
}

impl<T: Float> Body for Sgd<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (rate, grad) = (reads.get::<T>(0)[0], reads.get::<T>(1));
        let parameter = writes.one::<T>();
        assert_eq!(parameter.len(), grad.len(), "a gradient of its parameter's shape");
        pieces(&machine.team, parameter, PIECE, &|index, parameter| {
            update(machine.isa, rate, &grad[index * PIECE..][..parameter.len()], parameter);
        });
        Ok(())
    }
}
