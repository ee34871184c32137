//! Convolutions in bf16.

use paddle_core::plan::KernelError;

use super::{Call, Convolution};
#[cfg(target_arch = "x86_64")]
use super::{Conv2dGradKind, Pass, amx};
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::kernel::{Body, Machine};
use crate::cpu::operands::Operands;
use crate::cpu::pairs;
use crate::cpu::pieces::pieces;
use crate::cpu::scratch::Scratch;
use crate::team::Team;

/// A convolution of `f32` numbers that are rounded to bf16.
pub(super) struct Rounded {
    exact: Convolution<f32>,
    /// The factors, rounded.
    factors: Scratch<f32>,
    #[cfg(target_arch = "x86_64")]
    tiles: amx::Memory,
}

impl Rounded {
    pub(super) fn new(exact: Convolution<f32>) -> Rounded {
        Rounded {
            exact,
            factors: Scratch::default(),
            #[cfg(target_arch = "x86_64")]
            tiles: amx::Memory::default(),
        }
    }

    /// Computes the convolution by tiles, if they multiply what it is; otherwise the result is false.
    #[cfg(target_arch = "x86_64")]
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
        #[cfg_attr(
            not(target_arch = "x86_64"),
            expect(unused_mut, reason = "tiles write what is called for")
        )]
        let mut call = self.exact.call(operands);
        #[cfg(target_arch = "x86_64")]
        if machine.isa.has_tiles() && self.by_tiles(machine, &mut call)? {
            return Ok(());
        }
        let [first, second] = call.from;
        self.factors.lend(first.len() + second.len(), |factors| {
            let (first_factor, second_factor) = factors.split_at_mut(first.len());
            round(machine.isa, &machine.team, first, first_factor);
            round(machine.isa, &machine.team, second, second_factor);
            self.exact.compute(machine, Call { from: [first_factor, second_factor], ..call })
        })?
    }
}

/// The numbers that a thread rounds at once.
const PIECE: usize = 1 << 14;

fn round(isa: Isa, team: &Team, from: &[f32], to: &mut [f32]) {
    pieces(team, to, PIECE, &|piece, to| round_piece(isa, &from[piece * PIECE..][..to.len()], to));
}

dispatch! {
    fn round_piece<const FUSED: bool>(isa, from: &[f32], to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = pairs::nearest(*from);
        }
    }
}
