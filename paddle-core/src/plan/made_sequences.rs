//! Sequences that come to be as a program runs, of given lengths.

use super::backend::{Backend, HostSlice, HostSliceMut, Memory};
use super::code::Made;
use super::error::RunError;
use super::machine::Machine;
use crate::memory::TryGrow;

impl<B: Backend> Machine<'_, B> {
    /// Adds up lengths to offsets, and makes room for the tokens.
    pub(super) fn make(&mut self, made: &Made) -> Result<(), RunError> {
        let plan = self.plan;
        let symbol = plan.made[made.tokens].size;
        let from = self.locate(made.lengths);
        let offsets = &mut self.state.lengths;
        offsets.clear();
        let room = offsets.try_resize(plan.slots[made.offsets.0].shape[0].get(&self.state.sizes), 0);
        room.map_err(|error| error.wanted_for("offsets of the sequences that an operator makes"))?;
        let lengths = &mut offsets[1..];
        self.backend.download(&self.buffers[from.memory as usize], from.offset, HostSliceMut::I64(lengths));
        let mut end = 0i64;
        for (row, length) in lengths.iter_mut().enumerate() {
            let wrong = |message: String| RunError::Kernel {
                operator: made.origin.operators.join(" + "),
                place: made.origin.place.map(|place| plan.place(place)),
                message,
            };
            if *length < 0 {
                return Err(wrong(format!(
                    "the length of sequence {row} is {length}; it has to be at least 0"
                )));
            }
            end = end.checked_add(*length).ok_or_else(|| {
                wrong(format!("sequences up to {row} have more tokens than can be counted"))
            })?;
            *length = end;
        }
        let tokens = usize::try_from(end).unwrap_or(usize::MAX);
        self.resize(symbol, tokens)?;
        let tape = &mut self.buffers[Memory::Tape as usize];
        self.state.tape.reserve_tokens(self.backend, plan, made.tokens, tokens, tape)?;
        // Only now: room is made by moving what is there.
        let to = self.locate(made.offsets);
        let buffer = &mut self.buffers[to.memory as usize];
        self.backend.upload(HostSlice::I64(&self.state.lengths), buffer, to.offset);
        Ok(())
    }
}
