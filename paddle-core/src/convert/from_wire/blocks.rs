//! The block structure of a wire program, read before the operators: the tree of blocks, whose depth is limited, and
//! the declarations of each block.

use std::collections::BTreeMap;

use super::error::{ConvertError, Fault};
use crate::ops::Program;
use crate::wire::{BlockDesc, ProgramDesc, VarDesc};

/// A block, and its position in the tree.
pub(super) struct WireBlock<'a> {
    pub(super) desc: &'a BlockDesc,
    /// The block around it; `None` for block 0.
    pub(super) parent: Option<usize>,
    /// The blocks in it.
    pub(super) children: Vec<usize>,
    /// The index of the block that it differentiates, as it is written.
    pub(super) forward: i32,
    /// The variables that it declares, by name.
    pub(super) declared: BTreeMap<&'a str, &'a VarDesc>,
}

/// Checks indices, parents, depth and declarations. A parent comes before its children, so there is no cycle.
pub(super) fn blocks(program: &ProgramDesc) -> Result<Vec<WireBlock<'_>>, ConvertError> {
    let mut found: Vec<WireBlock<'_>> = Vec::with_capacity(program.blocks.len());
    let mut depths: Vec<usize> = Vec::with_capacity(program.blocks.len());
    for (block, desc) in program.blocks.iter().enumerate() {
        if usize::try_from(desc.idx) != Ok(block) {
            return Err(Fault::BlockIndex { block, index: desc.idx }.into());
        }
        let parent = match block {
            0 => None,
            _ => Some(
                usize::try_from(desc.parent_idx)
                    .ok()
                    .filter(|&parent| parent < block)
                    .ok_or(Fault::BlockParent { block, parent: desc.parent_idx })?,
            ),
        };
        let depth = parent.map_or(0, |parent| depths[parent] + 1);
        if depth > Program::MAX_DEPTH {
            return Err(Fault::TooDeep { block, limit: Program::MAX_DEPTH }.into());
        }
        depths.push(depth);
        let mut declared = BTreeMap::new();
        for var in &desc.vars {
            if declared.insert(var.name.as_str(), var).is_some() {
                return Err(Fault::DeclaredTwice { block, name: var.name.clone() }.into());
            }
        }
        if let Some(parent) = parent {
            found[parent].children.push(block);
        }
        let forward = desc.forward_block_idx.unwrap_or(-1);
        found.push(WireBlock { desc, parent, children: Vec::new(), forward, declared });
    }
    if found.is_empty() { Err(Fault::NoBlocks.into()) } else { Ok(found) }
}
