//! Rules for PaddlePaddle's branches, which become our `if`.
//!
//! PaddlePaddle's `conditional_block` overwrites variables of the blocks around it, or leaves them as they were;
//! `select_input` then chooses the values of one of two branches. Each of the two operators becomes an `if`. The `if`
//! of a `conditional_block` returns the earlier values from its other block. The `if` of a `select_input` has two
//! blocks that only return the values to choose from.

use crate::convert::from_wire::versions::written_outside;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{Compare, CompareKind, Fill, If, Number};
use crate::program::VarId;

impl<'a> Reading<'_, 'a> {
    /// A block that is run where a scalar is true.
    pub(super) fn conditional_block(&mut self) -> Result<bool, ConvertError> {
        // Without this attribute, the condition is whether a value has elements.
        if !self.bool("is_scalar_condition", false)? {
            return Ok(false);
        }
        let condition = self.input("Cond")?;
        let block = self.owned("sub_block")?;
        if let Some(is_taken) = self.reader.draft.known_truth(condition) {
            if is_taken {
                self.inline(block)?;
            }
            return Ok(true);
        }
        let written: Vec<&'a str> = written_outside(&self.reader.blocks, block).into_iter().collect();
        let before: Vec<Option<VarId>> = written.iter().map(|name| self.read(name).ok()).collect();

        let outer = self.id();
        let ids = [
            self.reader.draft.program.create_block(outer, None)?,
            self.reader.draft.program.create_block(outer, None)?,
        ];
        self.reader.versions.enter(block, ids[0], written.iter().copied().collect());
        for (&name, value) in written.iter().zip(&before) {
            if let &Some(value) = value {
                self.reader.versions.write(&self.reader.blocks, block, name, value)?;
            }
        }
        let found = self.reader.count(block, "feed") + self.reader.block(block)?.len();
        if found > 0 {
            return Err(Fault::FeedCount { block, found, expected: 0 }.into());
        }
        let read = |name: &&'a str| self.reader.versions.read(&self.reader.blocks, block, name);
        let results = written.iter().map(read).collect::<Result<Vec<VarId>, Fault>>()?;
        // A variable without an earlier value has one only if the block runs, so any value will do for the other block.
        let mut others = Vec::with_capacity(before.len());
        for (&value, &result) in before.iter().zip(&results) {
            others.push(match value {
                Some(value) => value,
                None => {
                    let ty = self.ty(result).clone();
                    self.emit_in(ids[1], Fill::zeros(ty), &[])?
                }
            });
        }
        self.reader.draft.program.set_results(ids[0], &results)?;
        self.reader.draft.program.set_results(ids[1], &others)?;
        self.define(If, &[condition], &ids, &written)
    }

    /// The value whose number is in `Mask`.
    pub(super) fn select_input(&mut self) -> Result<bool, ConvertError> {
        let (desc, mask) = (self.desc, self.input("Mask")?);
        if let Some(chosen) = self.known_choice("Mask")? {
            let Some(name) = desc.input("X").get(chosen) else { return Ok(false) };
            let value = self.read(name)?;
            self.write(one(desc.output("Out"), "Out")?, value)?;
            return Ok(true);
        }
        let inputs = self.inputs("X")?;
        let Some((&first, others)) = inputs.split_first() else {
            return Err(Fault::Slot { slot: "X", found: 0, expected: 1 }.into());
        };
        let out = one(desc.output("Out"), "Out")?;
        let mut chosen = first;
        for (k, &other) in others.iter().enumerate() {
            let number = Fill { value: Number::Int(k as i64 + 1), ty: self.ty(mask).clone() };
            let number = self.emit(number, &[])?;
            let condition = self.emit(Compare { kind: CompareKind::Equal }, &[mask, number])?;
            let outer = self.id();
            let program = &mut self.reader.draft.program;
            let ids = [program.create_block(outer, None)?, program.create_block(outer, None)?];
            program.set_results(ids[0], &[other])?;
            program.set_results(ids[1], &[chosen])?;
            chosen = self.reader.draft.append(outer, If.into(), &[condition], &ids, &[out], self.site)?[0];
        }
        self.reader.versions.write(&self.reader.blocks, self.block, out, chosen)?;
        Ok(true)
    }
}
