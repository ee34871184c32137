//! The parts of a plan: slots for values, and instructions over slots.

use std::ops::Range;

use super::arithmetic::Precision;
use super::backend::{Backend, Extent, Layout, Move, Side};
use super::error::RunError;
use super::exchange::ExchangeCode;
use super::numbers::Numbers;
use super::stats::RunStats;
use super::work::Work;
use crate::ops::{Join, Op};
use crate::program::{Check, DType, Dim, Located, Place, Role, SymbolId};

/// The number of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotId(pub(super) usize);

/// The number of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LoopId(pub(super) usize);

/// The number of a lane, which is the part of the tape that belongs to one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaneId(pub(super) usize);

/// The memory that a slot is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// In the arena: slots with disjoint lifetimes share memory.
    Arena,
    /// In a lane of the tape, on one of the sides.
    Lane(Side, LaneId),
    /// In the pool: the value is kept after the run.
    Pool,
    /// Among the prepared values, which are kept until parameters change.
    Prepared,
    /// On the fallback, in memory that slots share as in the arena.
    Staging,
    /// The parameter of this number, on one of the sides.
    Parameter(Side, u32),
    /// The state of this number, on one of the sides.
    State(Side, u32),
    /// Inside another slot, `of`: its elements behind the first `bytes` bytes.
    View { of: SlotId, bytes: usize },
    /// Inside another slot, `of`, which has the rows of all iterations. This slot is the rows of the current
    /// iteration; the symbol `rows` is their number.
    Iteration { of: SlotId, rows: SymbolId },
}

impl Home {
    /// The side that the slot or lane is on.
    pub(super) fn side(self) -> Side {
        match self {
            Home::Arena | Home::Pool | Home::Prepared | Home::View { .. } | Home::Iteration { .. } => {
                Side::Own
            }
            Home::Staging => Side::Fallback,
            Home::Lane(side, _) | Home::Parameter(side, _) | Home::State(side, _) => side,
        }
    }

    /// Whether a layout places the slot. It places neither slots on the tape nor slots inside other ones.
    pub(super) fn is_placed(self) -> bool {
        !matches!(self, Home::Lane(..) | Home::View { .. } | Home::Iteration { .. })
    }

    /// Whether the location of the slot changes during a run.
    pub(super) fn is_moving(self, slots: &[Slot]) -> bool {
        match self {
            Home::View { of, .. } => slots[of.0].home.is_moving(slots),
            _ => !self.is_placed(),
        }
    }
}

/// A slot: memory for one value.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The name of the value, for messages and the text of the plan.
    pub(super) name: String,
    /// Dimensions.
    pub(super) shape: Vec<Extent>,
    /// The order of the dimensions in memory.
    pub(super) layout: Layout,
    /// The bytes of one element on the backend.
    pub(super) element_bytes: usize,
    /// The element type.
    pub(super) dtype: DType,
    /// The memory of the slot.
    pub(super) home: Home,
    /// The lifetime: the first and the last instruction that need the slot. Instructions are counted through all
    /// blocks.
    pub(super) life: (usize, usize),
}

/// An instruction.
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
    /// Exchanges values with other machines.
    Exchange(ExchangeCode),
    /// `if`.
    If(Box<IfCode<K>>),
    /// `for` or `while`.
    Loop(Box<LoopCode<K>>),
    /// The gradient of a loop.
    LoopGrad(Box<LoopGradCode<K>>),
}

impl<K> Instruction<K> {
    /// Whether it sends a value of the forward part to another device.
    pub(super) fn passes_on(&self) -> bool {
        matches!(self, Instruction::Exchange(code) if code.is_forward && matches!(code.op, Op::SendValue(_)))
    }

    /// The launch of the instruction, unless it owns blocks.
    pub(super) fn launch(&self) -> Option<&LaunchCode<K>> {
        match self {
            Instruction::Launch(launch)
            | Instruction::Sort(SortCode { launch, .. })
            | Instruction::Take(TakeCode { launch, .. })
            | Instruction::Make(MakeCode { launch, .. }) => Some(launch),
            Instruction::Exchange(_)
            | Instruction::If(_)
            | Instruction::Loop(_)
            | Instruction::LoopGrad(_) => None,
        }
    }
}

/// The kernel of a launch.
pub(super) enum Kernel<B: Backend> {
    /// A kernel of the backend.
    Own(B::Kernel),
    /// A kernel of the fallback.
    Fallback(<B::Fallback as Backend>::Kernel),
    /// A copy from one side to the other, by the runtime.
    Transfer(DType),
}

/// A kernel with its operands.
#[derive(Debug)]
pub(super) struct LaunchCode<K> {
    pub(super) kernel: K,
    /// The operands in [`Plan::operands`]: first the inputs, of which there are `inputs`, then the outputs.
    pub(super) operands: Range<usize>,
    pub(super) inputs: usize,
    /// The number of the launch: its index in [`Plan::origins`].
    pub(super) number: u32,
    pub(super) product: Option<Product>,
}

/// The part of the program, or of the runtime, that a launch comes from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// Operators.
    Operators(Operators),
    /// A move of the runtime.
    Move(Move),
}

/// The operators of a group.
#[derive(Clone, Debug)]
pub(super) struct Operators {
    /// The names of the operators in messages, in order. A fused group has several.
    pub(super) names: Vec<String>,
    /// The kinds of the operators, in order.
    pub(super) kinds: Vec<String>,
    pub(super) role: Role,
    /// The source place of the first operator.
    pub(super) place: Option<Place>,
    /// The precision of the products.
    pub(super) precision: Precision,
}

/// What a profile says of a launch.
#[derive(Clone, Debug)]
pub(super) struct LaunchWork {
    pub(super) work: Work,
    /// The instruction, counted through all blocks, to which the launch belongs.
    pub(super) at: usize,
    /// The slot of the first result or, if there is none, of the first input.
    pub(super) value: Option<SlotId>,
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
    /// The index in [`Plan::made`] of the number of tokens.
    pub(super) tokens: usize,
}

/// A matrix product, whose launches are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    /// The counter for the place and the role of the product.
    pub(super) counter: usize,
    /// The rows of the product.
    pub(super) rows: Extent,
}

/// A row space whose rows are taken from another row space.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// The number of rows or sequences.
    pub(super) size: SymbolId,
    /// For each row, its number in the row space that it is taken from.
    pub(super) index: SlotId,
}

/// The order in which loops go along sequences.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The number of sequences.
    pub(super) sequences: Extent,
    pub(super) offsets: SlotId,
    /// The source of the host's copy of the offsets.
    pub(super) known: KnownOffsets,
    /// The slot with the numbers of the sequences, the longest sequence first.
    pub(super) order: SlotId,
    /// The number of tokens.
    pub(super) tokens: SymbolId,
    /// The space of the steps, which are the tokens in the order in which the loop visits them.
    pub(super) steps: usize,
}

/// The source of the host's copy of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownOffsets {
    /// The caller fed them, to this input, at this level.
    Fed { input: usize, level: usize },
    /// The host read them when it took the sequences of this number.
    Taken(usize),
    /// The host has no copy yet, and has to read them.
    Unknown,
}

/// Sequences that are taken from other sequences.
#[derive(Clone, Debug)]
pub(super) struct TakenSequences {
    /// The space of the rows that the sequences belong to.
    pub(super) parent: usize,
    pub(super) offsets: SlotId,
    /// The space of their tokens.
    pub(super) tokens: usize,
}

#[derive(Debug)]
pub(super) struct IfCode<K> {
    pub(super) condition: SlotId,
    /// The rows, if the condition is one for each row.
    pub(super) rows: Option<RowsOfIf<K>>,
    /// Whether the branches run in the order of the source. The branches of a gradient run in reverse.
    pub(super) forward: bool,
    pub(super) branches: [usize; 2],
    pub(super) joins: Vec<JoinCode<K>>,
}

/// The rows of both branches.
#[derive(Debug)]
pub(super) struct RowsOfIf<K> {
    pub(super) spaces: [usize; 2],
    /// The number of rows of the condition.
    pub(super) all: Extent,
    /// The launch that splits the rows; none in a gradient, whose forward block has split them.
    pub(super) select: Option<SelectCode<K>>,
}

/// Splits rows by a mask.
#[derive(Debug)]
pub(super) struct SelectCode<K> {
    pub(super) launch: LaunchCode<K>,
    /// The slot of the number of true rows.
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
    /// The result has rows. Each branch that runs writes its rows of it.
    Rows([LaunchCode<K>; 2]),
    /// The result has no rows. It is the result of the branch that runs, the sum if both run, and zero if none runs.
    Whole { copies: [LaunchCode<K>; 2], add_second: Option<LaunchCode<K>>, zero: Option<LaunchCode<K>> },
}

/// A loop.
#[derive(Debug)]
pub(super) struct LoopCode<K> {
    pub(super) id: LoopId,
    pub(super) place: Option<Place>,
    pub(super) kind: LoopKind<K>,
    /// Instructions before the first iteration, on all rows.
    pub(super) enter: Vec<Instruction<K>>,
    /// Instructions before each iteration: they bring in its items, and save the state for the gradient.
    pub(super) save: Vec<Instruction<K>>,
    pub(super) body: Vec<Instruction<K>>,
    /// Instructions after each iteration: they copy collected values, and set the next state.
    pub(super) advance: Vec<Instruction<K>>,
    /// Instructions that write the results from the state. A `for` runs them once, at the end, on all rows. A `while`
    /// with a condition per row runs them whenever rows leave.
    pub(super) leave: Vec<Instruction<K>>,
}

#[derive(Debug)]
pub(super) enum LoopKind<K> {
    /// A loop along sequences. Each iteration runs on the first rows in the order of the sequences.
    For {
        order: usize,
        /// The space of the rows of an iteration.
        rows: usize,
    },
    /// A loop that runs while a condition holds.
    While {
        limit: usize,
        condition: Vec<Instruction<K>>,
        holds: SlotId,
        /// The rows, if the condition is one for each row.
        rows: Option<Box<RowsOfWhile<K>>>,
    },
}

/// The rows of a `while` with a condition per row.
#[derive(Debug)]
pub(super) struct RowsOfWhile<K> {
    /// The number of rows before the first iteration.
    pub(super) all: Extent,
    /// The space of the rows on which the condition is evaluated.
    pub(super) tested: usize,
    /// The space of the rows on which the body runs.
    pub(super) active: usize,
    /// Numbers all rows, before the first iteration.
    pub(super) number: LaunchCode<K>,
    /// Splits the tested rows into those that stay and those that leave.
    pub(super) select: SelectCode<K>,
    /// Removes the rows that leave from the state, and from the row numbers.
    pub(super) compact: Vec<LaunchCode<K>>,
    /// Saves the row numbers of an iteration for the gradient.
    pub(super) keep: Option<LaunchCode<K>>,
    pub(super) collected: Option<Collected<K>>,
}

/// The sequences that a `while` collects.
#[derive(Debug)]
pub(super) struct Collected<K> {
    /// The space of the rows of all iterations.
    pub(super) rounds: usize,
    /// The number of these rows, as the number of tokens.
    pub(super) tokens: SymbolId,
    /// Appends the row numbers of an iteration to those of all iterations.
    pub(super) add: LaunchCode<K>,
    /// Makes sequences of the rows of all iterations.
    pub(super) collect: LaunchCode<K>,
}

/// The gradient of a loop, which visits the iterations from the last to the first.
#[derive(Debug)]
pub(super) struct LoopGradCode<K> {
    pub(super) id: LoopId,
    /// Instructions before the iterations, on all rows.
    pub(super) enter: Vec<Instruction<K>>,
    pub(super) body: Vec<Instruction<K>>,
    /// Instructions after the iterations, on all rows.
    pub(super) leave: Vec<Instruction<K>>,
    /// The sizes that the rows and tokens of the loop have outside of the iterations.
    pub(super) full_sizes: Vec<(SymbolId, Extent)>,
}

/// What a run has to record of a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopInfo {
    /// Whether the gradient of the loop runs later.
    pub(super) recorded: bool,
    /// The innermost recorded loop around this one.
    pub(super) around: Option<LoopId>,
    /// The sizes that each iteration sets.
    pub(super) sizes: Vec<SymbolId>,
    /// The recorded loops directly inside. Each iteration sets their numbers of iterations.
    pub(super) inner: Vec<LoopId>,
    /// The lanes with an instance for each iteration.
    pub(super) lanes: Vec<LaneId>,
    /// Pairs of symbols: the number of rows of one iteration, and of all iterations together.
    pub(super) slices: Vec<(SymbolId, SymbolId)>,
    /// The sizes of the sequences that an iteration gets.
    pub(super) prefixes: Vec<Prefix>,
}

/// The size of sequences in one iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    /// The number of tokens.
    pub(super) tokens: SymbolId,
    /// The number of sequences.
    pub(super) sequences: SymbolId,
    /// The taken sequences whose offsets give the size: those of all iterations, or of all rows.
    pub(super) taken: usize,
    /// Whether the sequences of an iteration begin where those of the iteration before end. Otherwise the sequences
    /// of each iteration begin with the first.
    pub(super) is_slice: bool,
}

/// A lane of the tape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) slot: SlotId,
    /// The side that the slot or lane is on.
    pub(super) side: Side,
    /// The loop for each of whose iterations the lane has an instance, because the gradient reads them all. None if
    /// the lane has one instance.
    pub(super) around: Option<LoopId>,
}

/// Sizes that are known only when a loop has run.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrownSizes {
    /// The number of rows of all iterations, and the number of tokens that these rows become.
    pub(super) sizes: [SymbolId; 2],
    pub(super) around: LoopId,
    /// The upper bound on the rows of one iteration.
    pub(super) rows: SymbolId,
}

/// The number of tokens of made sequences, which is known only when an operator has run.
#[derive(Clone, Debug)]
pub(super) struct MadeSize {
    pub(super) size: SymbolId,
    /// Upper bounds on the number. Each holds by itself; there may be none.
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
    /// For sequences, one entry for each level, the outermost first.
    pub(super) sequences: Vec<Sequences>,
}

/// One level of sequences that are fed.
#[derive(Clone, Debug)]
pub(super) struct Sequences {
    /// The number of tokens.
    pub(super) tokens: SymbolId,
    /// The number of rows or sequences.
    pub(super) count: SymbolId,
    /// The slot of the offsets, if an instruction reads them.
    pub(super) offsets: Option<SlotId>,
}

/// An output of the program.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) slot: SlotId,
    pub(super) dtype: DType,
    /// If the rows are tokens: the offsets of each level of sequences, the outermost first.
    pub(super) offsets: Vec<SlotId>,
}

/// A copy of a value that a run changes, from which a failed run restores it.
#[derive(Debug)]
pub(super) struct Backup<K> {
    /// Makes the copy.
    pub(super) save: LaunchCode<K>,
    /// Restores the value from the copy.
    pub(super) restore: LaunchCode<K>,
}

/// A planned program, which a machine can run.
#[derive(Debug)]
pub(super) struct Plan<K> {
    /// The instructions that compute the prepared values. They run in front of the others when parameters have changed.
    pub(super) prepare: Vec<Instruction<K>>,
    /// The instructions of each block. The global block comes first.
    pub(super) code: Vec<Vec<Instruction<K>>>,
    /// The first instruction of the global block that belongs to the update.
    pub(super) update_from: usize,
    /// Behind the last instruction that sends a value of the forward part to another device.
    pub(super) forward_until: usize,
    /// The backups of the parameters and states that the instructions before the update change.
    pub(super) backups: Vec<Backup<K>>,
    /// The origins of the launches, by their numbers.
    pub(super) origins: Vec<Origin>,
    /// The work of the launches, by their numbers.
    pub(super) work: Vec<LaunchWork>,
    /// The operands of all launches.
    pub(super) operands: Vec<SlotId>,
    /// For each operand, whether its location changes during a run, as that of a slot on the tape does.
    pub(super) moving: Vec<bool>,
    pub(super) slots: Vec<Slot>,
    pub(super) spaces: Vec<Space>,
    pub(super) orders: Vec<Order>,
    pub(super) taken: Vec<TakenSequences>,
    pub(super) loops: Vec<LoopInfo>,
    pub(super) lanes: Vec<Lane>,
    pub(super) grown: Vec<GrownSizes>,
    /// The sizes that are numbers of tokens of made sequences.
    pub(super) made: Vec<MadeSize>,
    /// Every size that an instruction needs.
    pub(super) extents: Vec<Dim>,
    /// For each symbol, the extents that contain it.
    pub(super) extents_of: Vec<Vec<usize>>,
    /// For each symbol: if it is the size of a row space whose rows are taken from another one, the size of that
    /// other one, which is an upper bound. None for all other symbols.
    pub(super) bounds: Vec<Option<SymbolId>>,
    /// The sizes that are numbers of rows which never change.
    pub(super) fixed: Vec<(SymbolId, usize)>,
    /// The names of the size symbols.
    pub(super) symbols: Vec<String>,
    pub(super) inputs: Vec<Input>,
    /// The conditions on the sizes of a batch.
    pub(super) checks: Vec<Check>,
    /// For each symbol, the conditions on sizes that are decided when a run computes it.
    pub(super) late_checks: Vec<Vec<Check>>,
    pub(super) outputs: Vec<Output>,
    pub(super) files: Vec<String>,
    pub(super) numbers: Numbers,
    /// The counters of the products, all at zero.
    pub(super) stats: RunStats,
}

impl<K> Plan<K> {
    /// The error of the first of these checks that does not hold for the values of symbols.
    pub(super) fn failing(
        &self,
        checks: &[Check],
        value: &dyn Fn(SymbolId) -> Option<i64>,
    ) -> Option<RunError> {
        let check = checks.iter().find(|check| check.condition.evaluate(value) != Some(true))?;
        let name = |symbol: SymbolId| self.symbols[symbol.0 as usize].clone();
        let place = check.place.map(|place| self.place(place));
        Some(RunError::Check { place, message: check.explain(&name, value) })
    }

    /// The slots of a launch's operands.
    pub(super) fn operands(&self, launch: &LaunchCode<K>) -> &[SlotId] {
        &self.operands[launch.operands.clone()]
    }

    /// A place with its file's name.
    pub(super) fn place(&self, place: Place) -> Located {
        let file = self.files.get(place.file.0 as usize).cloned().unwrap_or_default();
        Located { file, line: place.line, column: place.column }
    }
}
