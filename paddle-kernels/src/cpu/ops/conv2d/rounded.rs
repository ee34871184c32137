//! Convolutions in bf16: by tiles, where these are faster than numbers as they are.

use paddle_core::plan::KernelError;

use super::{Call, Conv2dGradKind, Convolution, Pass, amx};
use crate::cpu::kernel::{Body, Machine};
use crate::cpu::operands::Operands;

/// A convolution of `f32` numbers, which tiles round to bf16.
pub(super) struct Rounded {
    exact: Convolution<f32>,
    tiles: amx::Memory,
}

impl Rounded {
    pub(super) fn new(exact: Convolution<f32>) -> Rounded {
        Rounded { exact, tiles: amx::Memory::default() }
    }

    /// Computes the convolution by tiles, if they multiply what it is; otherwise the result is false.
    fn by_tiles(&self, machine: &Machine, call: &mut Call<'_, f32>) -> Result<bool, KernelError> {
        let Call { sizes, from, out, version, finish } = call;
        let is_done = match self.exact.pass {
            Pass::Forward => {
                sizes.forward_in_bf16(machine, (&self.tiles, *version), *from, (out, *finish))?
            }
            Pass::Grad(Conv2dGradKind::Input) => {
                let is_done = sizes.grad_input_in_bf16(machine, &self.tiles, *from, out)?;
                if is_done {
                    finish.all(&machine.team, out);
                }
                is_done
            }
            Pass::Grad(Conv2dGradKind::Filter) => {
                sizes.grad_filter_in_bf16(machine, &self.tiles, *from, out)?
            }
        };
        Ok(is_done)
    }
}

impl Body for Rounded {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let mut call = self.exact.call(operands);
        let repays = machine.isa.has_tiles() && call.sizes.repays_tiles(self.exact.pass);
        if repays && self.by_tiles(machine, &mut call)? {
            return Ok(());
        }
        self.exact.compute(machine, call)
    }
}
