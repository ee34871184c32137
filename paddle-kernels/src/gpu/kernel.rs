//! Compiled groups: the forms of a kernel, and how many threads run them.

use std::sync::Arc;

use paddle_core::plan::{Extent, KernelError, Precision, Unsupported};

use super::form::{Form, LANES, build};
use super::launch::WORD;

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
    Tiles([Vec<Extent>; 3], [u32; 2]),
    /// One workgroup.
    One,
}

/// The product of extents in a launch with these sizes.
pub(super) fn product(extents: &[Extent], sizes: &[usize]) -> usize {
    extents.iter().fold(1, |product: usize, extent| product.saturating_mul(extent.get(sizes)))
}

impl Stage {
    /// The number of workgroups in a launch with these sizes; 0 if it is not run.
    pub(super) fn groups(&self, sizes: &[usize]) -> usize {
        let runs = self.condition.as_ref().is_none_or(|condition| condition(sizes));
        if runs { self.grid.groups(sizes) } else { 0 }
    }
}

impl Grid {
    /// The number of workgroups in a launch with these sizes.
    fn groups(&self, sizes: &[usize]) -> usize {
        let groups = match self {
            Grid::Items(items) => product(items, sizes).div_ceil(LANES as usize),
            Grid::Groups(groups) => product(groups, sizes),
            Grid::Tiles([rows, columns, matrices], sides) => {
                let tiles = |extents, side: u32| product(extents, sizes).div_ceil(side as usize);
                let tiles = tiles(rows, sides[0]).saturating_mul(tiles(columns, sides[1]));
                tiles.saturating_mul(product(matrices, sizes))
            }
            Grid::One => 1,
        };
        groups.min(MOST_GROUPS)
    }
}

/// What says why a launch failed, from the position that it reports, and the whole numbers of 64 bits among its operands.
pub(super) type Explain = dyn Fn(&Evidence<'_>, usize) -> KernelError + Send + Sync;

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

/// What a device can do beside running forms.
#[derive(Clone, Copy)]
pub(super) struct Abilities {
    /// It has a library for products of matrices.
    pub(super) products: bool,
    /// It has a library for convolutions.
    pub(super) convolutions: bool,
    /// The most operands of a form.
    pub(super) operands: usize,
}

/// What a library computes.
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "no other device has libraries"))]
pub(super) enum LibraryCall {
    /// Products of matrices.
    Product(MatrixProduct),
    /// A convolution, or one of its gradients.
    #[cfg_attr(not(feature = "cudnn"), allow(dead_code, reason = "no other device has such a library"))]
    Convolution(Convolution),
}

/// Products of matrices, `to[m, n] = x[m, k] · y[k, n]`.
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "no other device has libraries"))]
pub(super) struct MatrixProduct {
    /// The numbers of the operands. Factors in bf16 have two elements in a word.
    pub(super) factors: [usize; 2],
    pub(super) to: usize,
    pub(super) m: Vec<Extent>,
    pub(super) n: Vec<Extent>,
    pub(super) k: Vec<Extent>,
    /// The number of matrices, one behind the other.
    pub(super) matrices: Vec<Extent>,
    /// Whether all products have a factor in common.
    pub(super) shared: [bool; 2],
    /// Whether the factors are stored as `[k, m]` and `[n, k]`.
    pub(super) trans: [bool; 2],
    /// The precision of the factors. Sums are in single precision.
    pub(super) precision: Precision,
}

/// What a convolution computes from the two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Conv2dKind {
    /// Results, from images and filters.
    Results,
    /// What the filters and the results' gradient give to the images.
    Images,
    /// What the images and the results' gradient give to the filters.
    Filters,
}

/// A convolution of images `[N, C, H, W]` with filters `[M, C / groups, h, w]`, or one of its gradients.
#[cfg_attr(not(feature = "cudnn"), expect(dead_code, reason = "no other device has libraries"))]
pub(super) struct Convolution {
    pub(super) of: Conv2dKind,
    /// The numbers of the operands. Factors in bf16 are rounded already.
    pub(super) factors: [usize; 2],
    pub(super) to: usize,
    pub(super) images: [Extent; 4],
    pub(super) filters: [Extent; 4],
    pub(super) results: [Extent; 4],
    /// Zeros above and to the left, and as many below and to the right.
    pub(super) before: [u32; 2],
    pub(super) stride: [u32; 2],
    pub(super) dilation: [u32; 2],
    pub(super) groups: u32,
    /// The precision of the factors. Sums are in single precision.
    pub(super) precision: Precision,
}

/// Whether launches with these sizes are meant.
pub(super) type Condition = Arc<dyn Fn(&[usize]) -> bool + Send + Sync>;

/// Memory beside the operands of a kernel.
pub(super) struct Scratch {
    words: Vec<Extent>,
    condition: Option<Condition>,
}

impl Scratch {
    /// The bytes that a launch with these sizes needs.
    pub(super) fn bytes(&self, sizes: &[usize]) -> usize {
        let is_used = self.condition.as_ref().is_none_or(|condition| condition(sizes));
        if is_used { product(&self.words, sizes).saturating_mul(WORD) } else { 0 }
    }
}

/// One dispatch of a kernel.
pub(super) struct Stage {
    pub(super) form: Form,
    pub(super) grid: Grid,
    /// The sizes of launches in which it is run; all, if there is none.
    pub(super) condition: Option<Condition>,
    /// The same by a library of the device.
    pub(super) library: Option<LibraryCall>,
}

/// A group as forms.
pub(super) struct Kernel {
    pub(super) stages: Vec<Stage>,
    /// Operands behind those of the group.
    pub(super) scratch: Vec<Scratch>,
    /// Why a launch may fail.
    pub(super) explain: Option<Arc<Explain>>,
}

impl Kernel {
    /// A kernel of no stages.
    pub(super) fn new() -> Self {
        Kernel { stages: Vec::new(), scratch: Vec::new(), explain: None }
    }

    /// Adds a stage.
    pub(super) fn stage(mut self, grid: Grid, write: impl FnOnce()) -> Self {
        let (form, ()) = build(write);
        self.stages.push(Stage { form, grid, condition: None, library: None });
        self
    }

    /// Says that the stages behind the first `from` are run in some launches only.
    pub(super) fn if_sizes(mut self, from: usize, condition: Condition) -> Self {
        self.stages[from..].iter_mut().for_each(|stage| stage.condition = Some(condition.clone()));
        self
    }

    /// Says what the last stage is to a library.
    pub(super) fn by_library(mut self, library: LibraryCall) -> Self {
        self.stages.last_mut().expect("a stage").library = Some(library);
        self
    }

    /// Adds memory of as many words as the product of the extents.
    pub(super) fn scratch(mut self, words: Vec<Extent>) -> Self {
        self.scratch.push(Scratch { words, condition: None });
        self
    }

    /// Adds memory that only some launches need.
    pub(super) fn scratch_if(mut self, words: Vec<Extent>, condition: Condition) -> Self {
        self.scratch.push(Scratch { words, condition: Some(condition) });
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
