//! The block structure of a wire program, read before the operators: the tree of blocks, whose depth is limited, and
//! the declarations of each block.

use std::collections::BTreeMap;

use super::error::{ConvertError, Fault};
use super::sites::place;
use crate::ops::Program;
use crate::wire::{BlockDesc, OpDesc, ProgramDesc, VarDesc};

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

/// The only variable of a slot.
pub(super) fn one<'a>(arguments: &'a [String], slot: &'static str) -> Result<&'a str, Fault> {
    match arguments {
        [name] => Ok(name),
        _ => Err(Fault::Slot { slot, found: arguments.len(), expected: 1 }),
    }
}

/// The variables that the `feed` operators of a block write, in the order of their columns.
pub(super) fn fed<'a>(blocks: &[WireBlock<'a>], block: usize) -> Result<Vec<&'a str>, ConvertError> {
    let ops = blocks[block].desc.ops.iter().enumerate();
    let mut columns = Vec::new();
    for (at, op) in ops.filter(|(_, op)| op.r#type == "feed") {
        let read = || Ok((column(op)?, one(op.output("Out"), "Out")?));
        columns.push(read().map_err(|fault| place(fault, block, at, op))?);
    }
    in_order(columns).ok_or(Fault::Columns { operator: "feed", block }.into())
}

/// The place of a `feed` or `fetch` operator among those of its block.
pub(super) fn column(op: &OpDesc) -> Result<i32, Fault> {
    op.attr_int("col")?.ok_or(Fault::MissingAttribute { attribute: "col" })
}

/// The entries in the order of their columns; `None` unless the columns are 0, 1, 2, ….
pub(super) fn in_order<T>(mut columns: Vec<(i32, T)>) -> Option<Vec<T>> {
    columns.sort_by_key(|&(column, _)| column);
    let counted = columns.iter().enumerate().all(|(at, &(column, _))| usize::try_from(column) == Ok(at));
    counted.then(|| columns.into_iter().map(|(_, found)| found).collect())
}

/// The block in an attribute of an operator of `block`, if the operator can own it. `is_taken` says whether another one does.
pub(super) fn owned(
    blocks: &[WireBlock<'_>],
    op: &OpDesc,
    attribute: &'static str,
    block: usize,
    is_taken: impl Fn(usize) -> bool,
) -> Result<usize, Fault> {
    let index = op.attr_block(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
    let wrong = |reason| Fault::BlockReference { attribute, index, reason };
    let inner = usize::try_from(index).ok().filter(|&inner| inner < blocks.len());
    let inner = inner.ok_or_else(|| wrong("which does not exist"))?;
    if blocks[inner].parent != Some(block) {
        return Err(wrong("whose parent is not the block of this operator"));
    }
    if is_taken(inner) {
        return Err(wrong("which another operator owns"));
    }
    Ok(inner)
}
