//! Blocks that are read in the place of the operator that owns them: the branch that is taken, the iterations of a loop.

use super::operator::Reading;
use crate::convert::error::{ConvertError, Fault};
use crate::wire::{AttrType, OpDesc, VarKind};

impl Reading<'_, '_> {
    /// Reads the operators of a block as if they stood here.
    pub(super) fn inline(&mut self, block: usize) -> Result<(), ConvertError> {
        let id = self.id();
        let reader = &mut *self.reader;
        // What takes time and appends nothing is counted, too.
        reader.draft.spend(64 * (1 + reader.blocks[block].desc.ops.len()))?;
        reader.versions.leave(&reader.blocks, block);
        reader.versions.enter_inlined(block, id);
        let found = reader.count(block, "feed") + reader.block(block)?.len();
        match found {
            0 => Ok(()),
            _ => Err(Fault::FeedCount { block, found, expected: 0 }.into()),
        }
    }

    /// What `read` appends, or else the faults that it found, where nothing is left of it but the names that it wrote in blocks
    /// within `block`.
    pub(super) fn attempted(
        &mut self,
        block: usize,
        read: impl FnOnce(&mut Self) -> Result<bool, ConvertError>,
    ) -> Result<bool, Vec<ConvertError>> {
        let before = self.reader.draft.program.mark(self.id());
        let (arrays, loops) = (self.reader.arrays.clone(), self.reader.array_loops.len());
        let mut found = self.reader.found.as_mut().map(std::mem::take);
        let result = read(self);
        if let Some(found) = &mut found {
            std::mem::swap(found, self.reader.found.get_or_insert_default());
        }
        let mut faults = found.unwrap_or_default();
        match result {
            Ok(known) if faults.is_empty() => return Ok(known),
            Ok(_) => {}
            Err(ConvertError { fault: Fault::Unread { .. }, .. }) if !faults.is_empty() => {}
            Err(error) => faults.push(error),
        }
        let reader = &mut *self.reader;
        reader.take_back(before);
        reader.arrays = arrays;
        reader.array_loops.truncate(loops);
        reader.versions.leave(&reader.blocks, block);
        Err(faults)
    }

    /// Reports faults: all but the last one are noted if all of them are collected.
    pub(super) fn fails(&mut self, mut faults: Vec<ConvertError>) -> Result<bool, ConvertError> {
        let Some(last) = faults.pop() else { return Ok(false) };
        if let Some(found) = &mut self.reader.found {
            found.extend(faults);
        }
        Err(last)
    }

    /// Whether operators of a block, or of one in it, read or write arrays.
    pub(super) fn has_arrays(&self, block: usize) -> bool {
        let names = |op: &OpDesc| {
            let slots = op.inputs.iter().chain(&op.outputs);
            slots.flat_map(|slot| &slot.arguments).any(|name| self.is_array_in(block, name))
        };
        let inner = |op: &OpDesc| {
            let owned = op.attrs.iter().filter(|attr| attr.r#type == i32::from(AttrType::Block));
            let owned = owned.filter_map(|attr| usize::try_from(attr.block_idx?).ok());
            owned
                .into_iter()
                .any(|inner| inner > block && inner < self.reader.blocks.len() && self.has_arrays(inner))
        };
        self.reader.blocks[block].desc.ops.iter().any(|op| names(op) || inner(op))
    }

    /// Whether this variable, as a block sees it, is an array.
    pub(super) fn is_array_in(&self, block: usize, name: &str) -> bool {
        let var = self.reader.declaration(block, name);
        var.is_some_and(|var| var.r#type.r#type == i32::from(VarKind::LodTensorArray))
    }
}
