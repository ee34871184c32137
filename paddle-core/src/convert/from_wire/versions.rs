//! Wire variables and program values. A variable may be written many times, a value is written once: each write
//! starts a new version of the variable.

use std::collections::{BTreeMap, BTreeSet};

use crate::convert::blocks::WireBlock;
use crate::convert::error::Fault;
use crate::program::{BlockId, VarId};
use crate::wire::VarKind;

/// The variables of one block while the program is read.
#[derive(Clone, Default)]
struct Scope<'a> {
    /// The block of the program, once the reader has entered it.
    id: Option<BlockId>,
    /// Variables of outer blocks that are state of a loop, if this block is the loop's body.
    state: BTreeSet<&'a str>,
    /// Whether its operators are read in the place of the one that owns it.
    is_inlined: bool,
    /// The latest version of each variable; `None` where the operator that writes it is not supported.
    values: BTreeMap<&'a str, Option<VarId>>,
}

/// The latest version of every variable, block by block.
#[derive(Clone)]
pub(super) struct Versions<'a> {
    scopes: Vec<Scope<'a>>,
}

impl<'a> Versions<'a> {
    pub(super) fn new(blocks: usize) -> Self {
        Versions { scopes: (0..blocks).map(|_| Scope::default()).collect() }
    }

    /// The block of the program for a block of the wire.
    pub(super) fn id(&self, block: usize) -> Option<BlockId> {
        self.scopes[block].id
    }

    /// Enters a block. Returns false if it was entered before, as a block is owned by one operator.
    pub(super) fn enter(&mut self, block: usize, id: BlockId, state: BTreeSet<&'a str>) -> bool {
        let scope = &mut self.scopes[block];
        scope.state = state;
        scope.id.replace(id).is_none()
    }

    /// Enters a block whose operators are read in the place of the one that owns it.
    pub(super) fn enter_inlined(&mut self, block: usize, id: BlockId) {
        self.scopes[block] = Scope { id: Some(id), is_inlined: true, ..Scope::default() };
    }

    /// Forgets that a block, and those in it, have been entered: they are read once more.
    pub(super) fn leave(&mut self, blocks: &[WireBlock<'a>], block: usize) {
        let mut left = vec![block];
        while let Some(block) = left.pop() {
            // Blocks in one that was not entered have not been entered, either.
            if self.scopes[block].id.is_some() {
                left.extend(&blocks[block].children);
                self.scopes[block] = Scope::default();
            }
        }
    }

    fn owns(&self, blocks: &[WireBlock<'a>], block: usize, name: &str) -> bool {
        blocks[block].declared.contains_key(name) || self.scopes[block].state.contains(name)
    }

    /// The value of a variable at this point: that of the nearest block around `block` that has such a variable. A
    /// block that differentiates another one sees the variables of that one too.
    pub(super) fn read(&self, blocks: &[WireBlock<'a>], block: usize, name: &str) -> Result<VarId, Fault> {
        let mut at = Some(block);
        while let Some(block) = at {
            let forward = usize::try_from(blocks[block].forward).ok().filter(|&f| f < blocks.len());
            for scope in [Some(block), forward].into_iter().flatten() {
                if let Some(&value) = self.scopes[scope].values.get(name) {
                    return value.ok_or_else(|| Fault::Unread { name: name.to_string() });
                }
                if self.owns(blocks, scope, name) {
                    return Err(Fault::Undefined { name: name.to_string() });
                }
            }
            at = blocks[block].parent;
        }
        Err(Fault::Undefined { name: name.to_string() })
    }

    /// Starts a new version of a variable of `block`.
    pub(super) fn write(
        &mut self,
        blocks: &[WireBlock<'a>],
        block: usize,
        name: &'a str,
        value: VarId,
    ) -> Result<(), Fault> {
        if self.owns(blocks, block, name) {
            self.scopes[block].values.insert(name, Some(value));
            return Ok(());
        }
        let (mut at, mut is_inlined) = (blocks[block].parent, self.scopes[block].is_inlined);
        while let Some(outer) = at {
            if self.owns(blocks, outer, name) {
                if !is_inlined {
                    return Err(Fault::WritesOuter { name: name.to_string() });
                }
                self.scopes[outer].values.insert(name, Some(value));
                return Ok(());
            }
            is_inlined &= self.scopes[outer].is_inlined;
            at = blocks[outer].parent;
        }
        Err(Fault::Undeclared { name: name.to_string() })
    }

    /// Makes a variable unknown: what writes it is not supported.
    pub(super) fn forget(&mut self, blocks: &[WireBlock<'a>], block: usize, name: &'a str) {
        let mut at = Some(block);
        while let Some(holder) = at.filter(|&holder| !self.owns(blocks, holder, name)) {
            at = blocks[holder].parent;
        }
        self.scopes[at.unwrap_or(block)].values.insert(name, None);
    }
}

/// The tensors of blocks outside of `body` that `body`, or a block in it, writes.
pub(super) fn written_outside<'a>(blocks: &[WireBlock<'a>], body: usize) -> BTreeSet<&'a str> {
    let mut written = BTreeSet::new();
    let mut left = vec![body];
    while let Some(block) = left.pop() {
        left.extend(&blocks[block].children);
        let outputs =
            blocks[block].desc.ops.iter().flat_map(|op| &op.outputs).flat_map(|slot| &slot.arguments);
        for name in outputs.map(String::as_str) {
            // Goes from the operator's block outwards to the one that declares the variable.
            let (mut at, mut inside) = (Some(block), true);
            while let Some(holder) = at.filter(|&holder| !blocks[holder].declared.contains_key(name)) {
                inside &= holder != body;
                at = blocks[holder].parent;
            }
            // An undeclared variable is reported by the operator that writes it. Variables that are not tensors hold
            // PaddlePaddle's own data.
            let is_tensor =
                |holder: usize| blocks[holder].declared[name].r#type.r#type == i32::from(VarKind::LodTensor);
            if !inside && at.is_some_and(is_tensor) {
                written.insert(name);
            }
        }
    }
    written
}
