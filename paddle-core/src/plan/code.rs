//! What a plan consists of: slots for values, and instructions over slots.

use super::backend::Extent;
use super::numbers::Numbers;
use super::stats::RunStats;
use crate::ops::Join;
use crate::program::{Check, Dim, Located, Place, SymbolId};

/// A place for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotId(pub(super) usize);

/// A loop of the plan that saves values for its gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LoopId(pub(super) usize);

/// Which memory a slot is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Shared over time, by lifetimes.
    Arena,
    /// In the frame of the current iteration.
    Frame(LoopId),
    /// Its own, kept after the run.
    Pool,
    /// At this byte of the parameters.
    Parameter(usize),
    /// At this byte of the states.
    State(usize),
}

/// A slot: memory for one value.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The value's name, for messages.
    pub(super) name: String,
    /// Dimensions.
    pub(super) shape: Vec<Extent>,
    /// Bytes of one element on the backend.
    pub(super) element_bytes: usize,
    /// Its element type; none for row numbers.
    pub(super) dtype: Option<crate::program::DType>,
    /// Where it lives.
    pub(super) home: Home,
    /// The first and the last instruction, counted through all blocks, that need it.
    pub(super) life: (usize, usize),
}

/// A step of a run.
#[derive(Debug)]
pub(super) enum Instruction<K> {
    /// Runs a kernel on operands: so many inputs, then outputs.
    Launch { kernel: K, operands: Vec<SlotId>, inputs: usize, origin: Origin, product: Option<Product> },
    /// Brings the rows of a block's row space.
    Gather { space: usize, from: SlotId, to: SlotId },
    /// Copies a value.
    Copy(Copy),
    /// `if`.
    If(Box<IfCode>),
    /// `while`.
    While(Box<WhileCode>),
    /// The gradient of `while`.
    WhileGrad(Box<WhileGradCode>),
}

/// What an instruction was made from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// The operators, in order; more than one in a fused group.
    pub(super) operators: Vec<&'static str>,
    /// The source place of the first.
    pub(super) place: Option<Place>,
}

/// A matrix product, which is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    /// The counter of its place.
    pub(super) counter: usize,
    /// Its rows.
    pub(super) rows: Extent,
}

/// A copy between slots of one type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) from: SlotId,
    pub(super) to: SlotId,
}

/// The rows that a branch runs on.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// How many.
    pub(super) size: SymbolId,
    /// Their numbers in the parent's rows.
    pub(super) index: SlotId,
}

#[derive(Debug)]
pub(super) struct IfCode {
    pub(super) condition: SlotId,
    /// The spaces of the branches, for a condition per row.
    pub(super) spaces: Option<[usize; 2]>,
    /// Whether this operator splits the rows; a gradient finds them split.
    pub(super) splits: bool,
    /// Number of rows of the condition.
    pub(super) rows: Extent,
    pub(super) branches: [usize; 2],
    pub(super) joins: Vec<JoinCode>,
}

#[derive(Debug)]
pub(super) struct JoinCode {
    pub(super) join: Join,
    pub(super) from: [SlotId; 2],
    pub(super) to: SlotId,
}

#[derive(Debug)]
pub(super) struct WhileCode {
    pub(super) limit: usize,
    pub(super) origin: Origin,
    pub(super) condition: usize,
    pub(super) holds: SlotId,
    pub(super) body: usize,
    /// Initial state → state.
    pub(super) enter: Vec<Copy>,
    /// State → what the body saves of it.
    pub(super) save: Vec<Copy>,
    /// Results of the body → state.
    pub(super) advance: Vec<Copy>,
    /// The loop, if its gradient will run.
    pub(super) recorded: Option<LoopId>,
}

#[derive(Debug)]
pub(super) struct WhileGradCode {
    pub(super) recorded: LoopId,
    pub(super) body: usize,
    /// Gradients of the final state → gradients of the state.
    pub(super) enter: Vec<Copy>,
    /// Results of the body → gradients of the state.
    pub(super) advance: Vec<Copy>,
    /// Results of the body that are summed over the iterations.
    pub(super) sums: Vec<Copy>,
}

/// A loop that saves values.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopInfo {
    /// Sizes that each iteration sets.
    pub(super) sizes: Vec<SymbolId>,
    /// Loops directly inside whose numbers of iterations each iteration sets.
    pub(super) inner: Vec<LoopId>,
}

/// An input of the program.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) slot: Option<SlotId>,
    pub(super) name: String,
    /// The shape in the user's names.
    pub(super) shown: String,
    pub(super) dtype: crate::program::DType,
    pub(super) shape: Vec<Dim>,
    pub(super) scalar: bool,
    /// For sequences, how they lie in the rows.
    pub(super) sequences: Option<Sequences>,
}

/// Sequences that are fed.
#[derive(Clone, Debug)]
pub(super) struct Sequences {
    /// How many.
    pub(super) count: SymbolId,
    /// Their offsets, where something reads them.
    pub(super) offsets: Option<SlotId>,
}

/// An output of the program.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) slot: SlotId,
    pub(super) dtype: crate::program::DType,
    /// Offsets, where its rows are tokens.
    pub(super) offsets: Option<SlotId>,
}

/// A program, ready to be run.
#[derive(Debug)]
pub(super) struct Plan<K> {
    /// The instructions of each block; the global one first.
    pub(super) code: Vec<Vec<Instruction<K>>>,
    /// The first instruction of the global block that updates.
    pub(super) update_from: usize,
    pub(super) slots: Vec<Slot>,
    pub(super) spaces: Vec<Space>,
    pub(super) loops: Vec<LoopInfo>,
    /// Every size that instructions need.
    pub(super) extents: Vec<Dim>,
    /// The extents that a symbol is in.
    pub(super) extents_of: Vec<Vec<usize>>,
    /// For the size of a row space, that of its parent; none for roots and other symbols.
    pub(super) bounds: Vec<Option<SymbolId>>,
    /// Names of the size symbols.
    pub(super) symbols: Vec<String>,
    pub(super) inputs: Vec<Input>,
    /// What has to hold of the sizes of a batch.
    pub(super) checks: Vec<Check>,
    pub(super) outputs: Vec<Output>,
    pub(super) files: Vec<String>,
    pub(super) numbers: Numbers,
    /// The counters, at zero.
    pub(super) stats: RunStats,
}

impl<K> Plan<K> {
    /// A place with its file's name.
    pub(super) fn place(&self, place: Place) -> Located {
        let file = self.files.get(place.file.0 as usize).cloned().unwrap_or_default();
        Located { file, line: place.line, column: place.column }
    }
}
