//! Compiled groups: the forms of a kernel, and how many threads run them.

use std::sync::Arc;

use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::form::{Form, LANES, build};

/// The most workgroups of a launch along one axis. Threads take what is left in turns.
const MOST_GROUPS: usize = 65_535;

/// How many threads run a stage.
#[derive(Clone, Debug)]
pub(super) enum Grid {
    /// A thread for each of as many items as this product of extents.
    Items(Vec<Extent>),
    /// A workgroup for each.
    Groups(Vec<Extent>),
    /// A workgroup for each tile of a matrix: rows, columns and matrices, and the sides of a tile.
    Tiles([Vec<Extent>; 3], usize),
    /// One workgroup.
    One,
}

/// The product of extents in a launch with these sizes.
pub(super) fn product(extents: &[Extent], sizes: &[usize]) -> usize {
    extents.iter().fold(1, |product: usize, extent| product.saturating_mul(extent.get(sizes)))
}

impl Grid {
    /// The number of workgroups in a launch with these sizes.
    pub(super) fn groups(&self, sizes: &[usize]) -> usize {
        let groups = match self {
            Grid::Items(items) => product(items, sizes).div_ceil(LANES as usize),
            Grid::Groups(groups) => product(groups, sizes),
            Grid::Tiles([rows, columns, matrices], side) => {
                let tiles = |extents| product(extents, sizes).div_ceil(*side);
                tiles(rows).saturating_mul(tiles(columns)).saturating_mul(product(matrices, sizes))
            }
            Grid::One => 1,
        };
        groups.min(MOST_GROUPS)
    }
}

/// What says why a launch failed, from the position that it reports, and the whole numbers of 64 bits among its operands.
pub(super) type Explain = Arc<dyn Fn(&Evidence<'_>, usize) -> KernelError + Send + Sync>;

/// The operands of a launch that failed.
pub(super) struct Evidence<'a> {
    /// The sizes of the launch.
    pub(super) sizes: &'a [usize],
    /// Gives an element of an operand, by the operand's number and the element's.
    pub(super) number: &'a dyn Fn(usize, usize) -> i64,
}

impl Evidence<'_> {
    /// An element of an operand whose elements have 32 bits.
    pub(super) fn word(&self, operand: usize, at: usize) -> u32 {
        ((self.number)(operand, at / 2) >> (at % 2 * 32)) as u32
    }

    /// All offsets of an operand with this shape.
    pub(super) fn offsets(&self, operand: usize, shape: &[Extent]) -> Vec<i64> {
        (0..product(shape, self.sizes)).map(|at| (self.number)(operand, at)).collect()
    }
}

/// One dispatch of a kernel.
pub(super) struct Stage {
    pub(super) form: Form,
    pub(super) grid: Grid,
}

/// A group as forms.
pub(super) struct Kernel {
    pub(super) stages: Vec<Stage>,
    /// The memory beside its operands, in words. Operands behind those of the group are in it.
    pub(super) scratch: Vec<Vec<Extent>>,
    /// Why a launch may fail.
    pub(super) explain: Option<Explain>,
}

impl Kernel {
    /// A kernel of no stages.
    pub(super) fn new() -> Self {
        Kernel { stages: Vec::new(), scratch: Vec::new(), explain: None }
    }

    /// Kernels one after the other. Those that need memory beside their operands need the same, one after the other.
    pub(super) fn joined(kernels: Vec<Kernel>) -> Self {
        let scratch = kernels.iter().map(|kernel| &kernel.scratch).max_by_key(|scratch| scratch.len());
        let scratch = scratch.cloned().unwrap_or_default();
        Kernel {
            stages: kernels.into_iter().flat_map(|kernel| kernel.stages).collect(),
            scratch,
            ..Kernel::new()
        }
    }

    /// Adds a stage.
    pub(super) fn stage(mut self, grid: Grid, write: impl FnOnce()) -> Self {
        let (form, ()) = build(write);
        self.stages.push(Stage { form, grid });
        self
    }

    /// Adds memory of as many words as the product of the extents.
    pub(super) fn scratch(mut self, words: Vec<Extent>) -> Self {
        self.scratch.push(words);
        self
    }

    /// Says why launches fail.
    pub(super) fn explain(
        mut self,
        explain: impl Fn(&Evidence<'_>, usize) -> KernelError + Send + Sync + 'static,
    ) -> Self {
        self.explain = Some(Arc::new(explain));
        self
    }

    /// Says why launches fail in which an operand has a whole number that it may not have.
    pub(super) fn explain_number(
        self,
        operand: usize,
        explain: impl Fn(i64, usize, &[usize]) -> KernelError + Send + Sync + 'static,
    ) -> Self {
        self.explain(move |evidence, at| explain((evidence.number)(operand, at), at, evidence.sizes))
    }
}

/// The error of a group for which there is no kernel.
pub(super) fn unsupported<T>(message: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported { message: format!("there is no kernel on this device for {}", message.into()) })
}
