//! What a plan consists of: slots for values, and instructions over slots.

use super::backend::{Backend, Extent, Layout, Move, Side};
use super::numbers::Numbers;
use super::stats::RunStats;
use crate::ops::Join;
use crate::program::{Check, DType, Dim, Located, Place, SymbolId};

/// A place for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotId(pub(super) usize);

/// A loop of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LoopId(pub(super) usize);

/// A lane: the part of the tape that belongs to one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaneId(pub(super) usize);

/// Which memory a slot is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Shared over time, by lifetimes.
    Arena,
    /// In a lane of the tape, on one of the sides.
    Lane(Side, LaneId),
    /// Its own, kept after the run.
    Pool,
    /// On the fallback, shared over time like the arena.
    Staging,
    /// The parameter of this number, on one of the sides.
    Parameter(Side, u32),
    /// The state of this number, on one of the sides.
    State(Side, u32),
    /// Inside another slot, which has the rows of all iterations: this one is the rows of the current iteration, as many as the symbol
    /// says.
    Iteration { of: SlotId, rows: SymbolId },
}

impl Home {
    /// Where it is.
    pub(super) fn side(self) -> Side {
        match self {
            Home::Arena | Home::Pool | Home::Iteration { .. } => Side::Own,
            Home::Staging => Side::Fallback,
            Home::Lane(side, _) | Home::Parameter(side, _) | Home::State(side, _) => side,
        }
    }
}

/// A slot: memory for one value.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The value's name, for messages.
    pub(super) name: String,
    /// Dimensions.
    pub(super) shape: Vec<Extent>,
    /// How they lie in memory.
    pub(super) layout: Layout,
    /// Bytes of one element on the backend.
    pub(super) element_bytes: usize,
    /// Its element type.
    pub(super) dtype: DType,
    /// Where it lives.
    pub(super) home: Home,
    /// The first and the last instruction, counted through all blocks, that need it.
    pub(super) life: (usize, usize),
}

/// A step of a run.
#[derive(Debug)]
pub(super) enum Instruction<K> {
    /// Runs a kernel.
    Launch(LaunchCode<K>),
    /// Sorts sequences by length.
    Sort(SortCode<K>),
    /// Takes the sequences that belong to some rows.
    Take(TakeCode<K>),
    /// Makes sequences of given lengths.
    Make(MakeCode<K>),
    /// `if`.
    If(Box<IfCode<K>>),
    /// `for` or `while`.
    Loop(Box<LoopCode<K>>),
    /// The gradient of a loop.
    LoopGrad(Box<LoopGradCode<K>>),
}

impl<K> Instruction<K> {
    /// The launch that it begins with, where it is one.
    pub(super) fn launch(&self) -> Option<&LaunchCode<K>> {
        match self {
            Instruction::Launch(launch)
            | Instruction::Sort(SortCode { launch, .. })
            | Instruction::Take(TakeCode { launch, .. })
            | Instruction::Make(MakeCode { launch, .. }) => Some(launch),
            Instruction::If(_) | Instruction::Loop(_) | Instruction::LoopGrad(_) => None,
        }
    }
}

/// What a launch runs.
pub(super) enum Kernel<B: Backend> {
    /// A kernel of the backend.
    Own(B::Kernel),
    /// One of its fallback.
    Fallback(<B::Fallback as Backend>::Kernel),
    /// The runtime itself: it copies from one side to the other.
    Transfer(DType),
}

/// A kernel with its operands.
#[derive(Debug)]
pub(super) struct LaunchCode<K> {
    pub(super) kernel: K,
    /// So many inputs, then outputs.
    pub(super) operands: Vec<SlotId>,
    pub(super) inputs: usize,
    /// Its number, by which [`Plan::origins`] says where it comes from.
    pub(super) number: u32,
    pub(super) product: Option<Product>,
}

/// What a launch was made from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// Operators.
    Operators(Operators),
    /// The runtime itself.
    Move(Move),
}

/// The operators of a group.
#[derive(Clone, Debug)]
pub(super) struct Operators {
    /// In order; more than one in a fused group.
    pub(super) names: Vec<String>,
    /// The source place of the first.
    pub(super) place: Option<Place>,
}

/// Sorts sequences by length.
#[derive(Debug)]
pub(super) struct SortCode<K> {
    pub(super) launch: LaunchCode<K>,
    pub(super) order: usize,
}

/// Takes sequences.
#[derive(Debug)]
pub(super) struct TakeCode<K> {
    pub(super) launch: LaunchCode<K>,
    pub(super) taken: usize,
}

/// Makes sequences of given lengths.
#[derive(Debug)]
pub(super) struct MakeCode<K> {
    pub(super) launch: LaunchCode<K>,
    pub(super) offsets: SlotId,
    /// Which of the sizes in [`Plan::made`] is the number of their tokens.
    pub(super) tokens: usize,
}

/// A matrix product, which is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    /// The counter of its place.
    pub(super) counter: usize,
    /// Its rows.
    pub(super) rows: Extent,
}

/// Rows that are taken from others.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// How many.
    pub(super) size: SymbolId,
    /// Their numbers in the rows that they are taken from.
    pub(super) index: SlotId,
}

/// The order in which loops go along sequences.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// How many sequences there are.
    pub(super) sequences: Extent,
    pub(super) offsets: SlotId,
    /// Where the host has their offsets from.
    pub(super) known: KnownOffsets,
    /// The numbers of the sequences, the longest first.
    pub(super) order: SlotId,
    /// How many tokens there are.
    pub(super) tokens: SymbolId,
    /// The tokens in the order of the steps.
    pub(super) steps: usize,
}

/// Where the host has offsets from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownOffsets {
    /// They are fed: to this input, at this level.
    Fed { input: usize, level: usize },
    /// It has read them when these sequences were taken.
    Taken(usize),
    /// Nowhere yet: it has to read them.
    Unknown,
}

/// Sequences that are taken from others.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    /// The rows that they belong to.
    pub(super) parent: usize,
    pub(super) offsets: SlotId,
    /// Their tokens.
    pub(super) tokens: usize,
}

#[derive(Debug)]
pub(super) struct IfCode<K> {
    pub(super) condition: SlotId,
    /// For a condition per row.
    pub(super) rows: Option<RowsOfIf<K>>,
    /// Whether branches run in the order in which they were written; those of a gradient run backward.
    pub(super) forward: bool,
    pub(super) branches: [usize; 2],
    pub(super) joins: Vec<JoinCode<K>>,
}

/// The rows of the branches.
#[derive(Debug)]
pub(super) struct RowsOfIf<K> {
    pub(super) spaces: [usize; 2],
    /// Number of rows of the condition.
    pub(super) all: Extent,
    /// Splits the rows; none in a gradient, which finds them split.
    pub(super) select: Option<SelectCode<K>>,
}

/// Splits rows by a mask.
#[derive(Debug)]
pub(super) struct SelectCode<K> {
    pub(super) launch: LaunchCode<K>,
    /// How many rows are true.
    pub(super) count: SlotId,
}

#[derive(Debug)]
pub(super) struct JoinCode<K> {
    pub(super) join: Join,
    pub(super) from: [SlotId; 2],
    pub(super) to: SlotId,
    pub(super) how: JoinHow<K>,
}

#[derive(Debug)]
pub(super) enum JoinHow<K> {
    /// Each branch that runs puts its rows into the result.
    Rows([LaunchCode<K>; 2]),
    /// The result is that of the branch that runs, of both their sum, of none zero.
    Whole { copies: [LaunchCode<K>; 2], add_second: Option<LaunchCode<K>>, zero: Option<LaunchCode<K>> },
}

/// A loop.
#[derive(Debug)]
pub(super) struct LoopCode<K> {
    pub(super) id: LoopId,
    pub(super) place: Option<Place>,
    pub(super) kind: LoopKind<K>,
    /// Before the first iteration, on all rows.
    pub(super) enter: Vec<Instruction<K>>,
    /// Before each iteration: what it saves of the state.
    pub(super) save: Vec<Instruction<K>>,
    pub(super) body: Vec<Instruction<K>>,
    /// After each iteration: the next state, values that are collected.
    pub(super) advance: Vec<Instruction<K>>,
    /// State → results; of a `for` at the end, on all rows; of a `while` per row whenever rows leave.
    pub(super) leave: Vec<Instruction<K>>,
}

#[derive(Debug)]
pub(super) enum LoopKind<K> {
    /// Along sequences, on a prefix of the rows in their order.
    For {
        order: usize,
        /// The rows of an iteration.
        rows: usize,
    },
    /// While a condition holds.
    While {
        limit: usize,
        condition: Vec<Instruction<K>>,
        holds: SlotId,
        /// For a condition per row.
        rows: Option<Box<RowsOfWhile<K>>>,
    },
}

/// The rows of a `while` that leave it one by one.
#[derive(Debug)]
pub(super) struct RowsOfWhile<K> {
    /// How many rows there are before the first iteration.
    pub(super) all: Extent,
    /// The rows on which the condition is evaluated.
    pub(super) tested: usize,
    /// Those on which the body runs.
    pub(super) active: usize,
    /// Numbers all rows.
    pub(super) number: LaunchCode<K>,
    /// Splits them into those that go on and those that leave.
    pub(super) select: SelectCode<K>,
    /// Takes those that leave out of the state, and out of the numbers of the rows.
    pub(super) compact: Vec<LaunchCode<K>>,
    /// Copies the numbers of the rows for an iteration that keeps them.
    pub(super) keep: Option<LaunchCode<K>>,
    pub(super) collected: Option<Collected<K>>,
}

/// The sequences that a `while` gives.
#[derive(Debug)]
pub(super) struct Collected<K> {
    /// The rows of all iterations.
    pub(super) rounds: usize,
    /// Their number as tokens.
    pub(super) tokens: SymbolId,
    /// Adds the numbers of the rows of an iteration.
    pub(super) add: LaunchCode<K>,
    /// Makes sequences of them.
    pub(super) collect: LaunchCode<K>,
}

/// The iterations of a loop, backward.
#[derive(Debug)]
pub(super) struct LoopGradCode<K> {
    pub(super) id: LoopId,
    /// On all rows, before and after.
    pub(super) enter: Vec<Instruction<K>>,
    pub(super) body: Vec<Instruction<K>>,
    pub(super) leave: Vec<Instruction<K>>,
    /// The sizes that rows and tokens of the loop have before and after.
    pub(super) whole: Vec<(SymbolId, Extent)>,
}

/// What the plan knows of a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopInfo {
    /// Whether its gradient will run.
    pub(super) recorded: bool,
    /// The recorded loop around it.
    pub(super) around: Option<LoopId>,
    /// Sizes that each iteration sets.
    pub(super) sizes: Vec<SymbolId>,
    /// Loops directly inside whose numbers of iterations each iteration sets.
    pub(super) inner: Vec<LoopId>,
    /// Lanes whose slots each iteration writes anew.
    pub(super) lanes: Vec<LaneId>,
    /// Pairs of symbols: the number of rows of one iteration, and of all iterations together.
    pub(super) slices: Vec<(SymbolId, SymbolId)>,
    /// The sequences that are brought to an iteration: how many tokens they have there.
    pub(super) prefixes: Vec<Prefix>,
}

/// How many tokens of sequences an iteration has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    /// The number of tokens.
    pub(super) tokens: SymbolId,
    /// The number of sequences.
    pub(super) sequences: SymbolId,
    /// The offsets of the sequences of all iterations, or of all rows.
    pub(super) taken: usize,
    /// Whether the sequences of an iteration begin where those of the iteration before end. Otherwise each iteration begins with the
    /// first sequence.
    pub(super) is_slice: bool,
}

/// A lane of the tape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) slot: SlotId,
    /// Where it is.
    pub(super) side: Side,
    /// The loop whose iterations write it anew, where its gradient needs that of each.
    pub(super) around: Option<LoopId>,
}

/// Sizes that only a loop knows: the rows of all its iterations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grown {
    /// The number of rows of all iterations, and the number of tokens that these rows become.
    pub(super) sizes: [SymbolId; 2],
    pub(super) around: LoopId,
    /// The most rows of an iteration.
    pub(super) rows: SymbolId,
}

/// The number of tokens of sequences that an operator makes.
#[derive(Clone, Debug)]
pub(super) struct MadeSize {
    pub(super) size: SymbolId,
    /// Upper bounds on it, where some are known; each holds by itself.
    pub(super) upper_bounds: Vec<Dim>,
}

/// An input of the program.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) slot: Option<SlotId>,
    pub(super) name: String,
    /// The shape in the user's names.
    pub(super) shown: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<Dim>,
    pub(super) scalar: bool,
    /// Whether the first dimension is rows.
    pub(super) has_rows: bool,
    /// For sequences, how they lie in the rows; of sequences of sequences, the outer ones first.
    pub(super) sequences: Vec<Sequences>,
}

/// Sequences that are fed.
#[derive(Clone, Debug)]
pub(super) struct Sequences {
    /// The number of their tokens.
    pub(super) tokens: SymbolId,
    /// How many.
    pub(super) count: SymbolId,
    /// Their offsets, where something reads them.
    pub(super) offsets: Option<SlotId>,
}

/// An output of the program.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) slot: SlotId,
    pub(super) dtype: DType,
    /// Offsets, where its rows are tokens; of sequences of sequences, those of the outer ones first.
    pub(super) offsets: Vec<SlotId>,
}

/// A copy of a value, by which a run that fails takes back what it has changed.
#[derive(Debug)]
pub(super) struct Kept<K> {
    /// Makes the copy.
    pub(super) save: LaunchCode<K>,
    /// Puts it back.
    pub(super) restore: LaunchCode<K>,
}

/// A program, ready to be run.
#[derive(Debug)]
pub(super) struct Plan<K> {
    /// The instructions of each block; the global one first.
    pub(super) code: Vec<Vec<Instruction<K>>>,
    /// The first instruction of the global block that belongs to the update.
    pub(super) update_from: usize,
    /// For each parameter and state that the instructions before the update change, a copy.
    pub(super) kept: Vec<Kept<K>>,
    /// Where launches come from, by their numbers.
    pub(super) origins: Vec<Origin>,
    pub(super) slots: Vec<Slot>,
    pub(super) spaces: Vec<Space>,
    pub(super) orders: Vec<Order>,
    pub(super) taken: Vec<Taken>,
    pub(super) loops: Vec<LoopInfo>,
    pub(super) lanes: Vec<Lane>,
    pub(super) grown: Vec<Grown>,
    /// Sizes that only an operator knows: numbers of tokens of the sequences that it makes.
    pub(super) made: Vec<MadeSize>,
    /// Every size that instructions need.
    pub(super) extents: Vec<Dim>,
    /// The extents that a symbol is in.
    pub(super) extents_of: Vec<Vec<usize>>,
    /// By symbol: if it is the size of a row space whose rows are taken from another one, the size of that one, which is an upper
    /// bound. None for all other symbols.
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
