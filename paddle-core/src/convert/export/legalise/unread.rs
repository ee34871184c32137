//! Operators whose results nothing reads. Passes of PaddlePaddle's default predictor end the process on a constant without a
//! reader.

use std::collections::BTreeSet;

use super::Legaliser;
use crate::wire::OpDesc;

impl Legaliser<'_> {
    /// Leaves out operators whose results nothing reads, and those that only they read.
    pub(super) fn leave_out_unread(&mut self) {
        loop {
            let ops = self.blocks.iter().flat_map(|block| &block.ops);
            let inputs = ops.flat_map(|op| &op.inputs).flat_map(|slot| &slot.arguments);
            let read: BTreeSet<String> = inputs.cloned().collect();
            let is_read = |op: &OpDesc| {
                let mut outputs = op.outputs.iter().flat_map(|slot| &slot.arguments);
                stays(op) || outputs.any(|name| read.contains(name))
            };
            let mut is_done = true;
            for block in &mut self.blocks {
                let before = block.ops.len();
                block.ops.retain(is_read);
                is_done &= block.ops.len() == before;
            }
            if is_done {
                return;
            }
        }
    }
}

/// Whether an operator does something else than to write its results.
fn stays(op: &OpDesc) -> bool {
    matches!(op.r#type.as_str(), "feed" | "fetch" | "while" | "conditional_block")
}
