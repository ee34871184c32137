//! Launches: what the machine puts into the queues, and what a profile measures of it.

use super::backend::{Backend, Fault, HostVec, Launch, Side};
use super::code::{Kernel, LaunchCode};
use super::machine::{FallbackRun, Machine};
use crate::memory::OutOfMemory;
use crate::program::DType;

impl<B: Backend> Machine<'_, B> {
    /// Puts a launch into the queue of its side.
    pub(super) fn launch(&mut self, code: &LaunchCode<Kernel<B>>) {
        if self.fault.is_some() {
            return;
        }
        match self.recorder {
            None => self.enqueue(code),
            Some(_) => self.measure(code),
        }
    }

    /// Runs a launch to its end, and records how long it took. Queues are empty before it and behind it, so the time is
    /// that of this launch alone: by the device's clock that of its work, by the host's also of putting it into the queue
    /// and of waiting for it, which on a card may take longer than the work.
    #[cold]
    fn measure(&mut self, code: &LaunchCode<Kernel<B>>) {
        let begun = self.recorder.as_ref().map(|recorder| recorder.now());
        self.enqueue(code);
        // As nothing is launched behind a fault, the first one is still the first when the run ends.
        self.fault = self.drain().err();
        let worked = match code.kernel {
            Kernel::Own(_) => self.backend.worked(self.queue),
            // The fallback is the CPU, and both sides take part in a transfer.
            Kernel::Fallback(_) | Kernel::Transfer(_) => None,
        };
        if let (Some(recorder), Some(begun)) = (&mut self.recorder, begun) {
            let work = &self.plan.work[code.number as usize].work;
            recorder.launched(code.number, begun, worked, work, &self.state.sizes);
        }
    }

    fn enqueue(&mut self, code: &LaunchCode<Kernel<B>>) {
        let plan = self.plan;
        for at in code.operands.clone() {
            if plan.moving[at] {
                self.state.locations[at] = self.locate(plan.operands[at]);
            }
        }
        let launch = Launch {
            sizes: &self.state.sizes,
            locations: &self.state.locations[code.operands.clone()],
            seed: self.seed,
            number: code.number,
            version: Some(self.version),
        };
        match (&code.kernel, &mut self.fallback) {
            (Kernel::Own(kernel), _) => self.backend.launch(self.queue, kernel, launch, &mut self.memories),
            (Kernel::Fallback(kernel), Some(fallback)) => {
                fallback.backend.launch(fallback.queue, kernel, launch, &mut fallback.memories);
            }
            (Kernel::Transfer(dtype), Some(_)) => self.transfer(code, *dtype),
            (Kernel::Fallback(_) | Kernel::Transfer(_), None) => {}
        }
    }

    /// Copies a value from one side to the other.
    fn transfer(&mut self, code: &LaunchCode<Kernel<B>>, dtype: DType) {
        let [from, to] = *self.plan.operands(code) else { return };
        let count = self.elements(to);
        let sides = [from, to].map(|slot| self.plan.slots[slot.0].home.side());
        let [from, to] = [from, to].map(|slot| self.locate(slot));
        let Some(fallback) = &mut self.fallback else { return };
        let mut copy = || {
            let failed = |error: OutOfMemory| Fault { launch: code.number, error: error.into() };
            let mut elements = HostVec::zeros(dtype, count).map_err(failed)?;
            match sides {
                [Side::Own, _] => {
                    let token = self.backend.read(self.queue, from, dtype, count, &mut self.memories);
                    self.backend.wait(self.queue, token, elements.as_mut_slice())?;
                    let FallbackRun { backend, queue, memories } = fallback;
                    backend.write(queue, elements.as_slice(), to, memories);
                }
                [Side::Fallback, _] => {
                    let FallbackRun { backend, queue, memories } = fallback;
                    let token = backend.read(queue, from, dtype, count, memories);
                    backend.wait(queue, token, elements.as_mut_slice())?;
                    self.backend.write(self.queue, elements.as_slice(), to, &mut self.memories);
                }
            }
            Ok(())
        };
        self.fault = copy().err();
    }
}
