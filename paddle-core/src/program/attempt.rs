//! What was appended since some moment, taken back: for readers that try one way after another.

use super::{BlockId, Program, RowsId, SymbolId, VarId};

/// How much a program has at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    block: BlockId,
    ops: usize,
    vars: usize,
    blocks: usize,
    symbols: usize,
    row_spaces: usize,
    checks: usize,
}

impl Mark {
    /// Whether the program had this value.
    pub(crate) fn has(&self, var: VarId) -> bool {
        (var.0 as usize) < self.vars
    }

    /// Whether the program had this size.
    pub(crate) fn has_size(&self, size: SymbolId) -> bool {
        (size.0 as usize) < self.symbols
    }

    /// Whether the program had this row space.
    pub(crate) fn has_rows(&self, rows: RowsId) -> bool {
        (rows.0 as usize) < self.row_spaces
    }
}

impl<O> Program<O> {
    /// The moment before something is appended to this block.
    pub(crate) fn mark(&self, block: BlockId) -> Mark {
        Mark {
            block,
            ops: self.blocks.get(block.0 as usize).map_or(0, |block| block.ops.len()),
            vars: self.vars.len(),
            blocks: self.blocks.len(),
            symbols: self.symbols.len(),
            row_spaces: self.row_spaces.len(),
            checks: self.checks.len(),
        }
    }

    /// Takes back all operators that were appended to the marked block since, with their values, blocks, sizes and row
    /// spaces.
    pub(crate) fn take_back(&mut self, mark: Mark) {
        if let Some(block) = self.blocks.get_mut(mark.block.0 as usize) {
            block.ops.truncate(mark.ops);
        }
        for var in self.vars.drain(mark.vars..) {
            self.names.remove(&var.name);
        }
        self.unwritten.retain(|&var| mark.has(var));
        self.blocks.truncate(mark.blocks);
        self.symbols.truncate(mark.symbols);
        self.row_spaces.truncate(mark.row_spaces);
        self.checks.truncate(mark.checks);
    }
}
