//! Kernels that are launched together: the shares of all of them are handed out to threads at once.

use paddle_core::memory::OutOfMemory;
use paddle_core::plan::KernelError;

use super::kernel::{Body, Compiled, Machine, Shares};
use super::operands::{Operands, Signature};

/// The fewest elements for which other threads are called.
const FEWEST: usize = 1 << 14;

/// Kernels none of which changes what another one reads or changes.
struct Together {
    /// Each with its operands.
    kernels: Vec<Compiled>,
}

/// The kernel of a group whose operators have these ones.
pub(super) fn together(kernels: Vec<Compiled>) -> Compiled {
    let mut all = Signature { reads: Vec::new(), writes: Vec::new(), in_place: false };
    for (signature, _) in &kernels {
        let pairs = [(&mut all.reads, &signature.reads), (&mut all.writes, &signature.writes)];
        for (all, own) in pairs {
            for slot in own {
                if all.iter().all(|known| known.0 != slot.0) {
                    all.push(slot.clone());
                }
            }
        }
    }
    (all, Box::new(Together { kernels }))
}

impl Together {
    /// The kernels that have shares, and their operands.
    fn shared<'a>(&'a self, operands: Operands<'a>) -> impl Iterator<Item = (&'a dyn Shares, Operands<'a>)> {
        let shared = move |(signature, body): &'a Compiled| Some((body.shares()?, operands.of(signature)));
        self.kernels.iter().filter_map(shared)
    }
}

impl Body for Together {
    fn reserve(&self, _signature: &Signature, sizes: &[usize]) -> Result<(), OutOfMemory> {
        self.kernels.iter().try_for_each(|(signature, body)| body.reserve(signature, sizes))
    }

    #[allow(unsafe_code, reason = "threads change parts of the same operands")]
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        for (signature, body) in self.kernels.iter().filter(|(_, body)| body.shares().is_none()) {
            body.launch(machine, operands.of(signature))?;
        }
        let (mut total, mut elements) = (0, 0);
        for (shares, operands) in self.shared(operands) {
            let [count, each] = shares.count(operands);
            total += count;
            elements += count * each;
        }
        machine.team.run_if(elements > FEWEST, total, &|tile| {
            let mut share = tile;
            for (shares, operands) in self.shared(operands) {
                let [count, _] = shares.count(operands);
                if share < count {
                    // SAFETY: each tile is another share, and the operands are borrowed for the launch. Those of other kernels
                    // do not overlap what this one changes.
                    return unsafe { shares.share(machine, operands, share) };
                }
                share -= count;
            }
        });
        self.shared(operands).for_each(|(shares, operands)| shares.finish(operands));
        Ok(())
    }
}
