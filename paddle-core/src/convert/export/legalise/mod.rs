//! Writes a `Program` as one that the real PaddlePaddle 2.6 runs. It contains nothing of our dialect.
//!
//! This is a conversion, not a pass: its result has variables that are overwritten, and blocks that write variables of
//! outer ones. So it is no [`Program`], in which a value is written once.
//!
//! | ours | PaddlePaddle's |
//! | --- | --- |
//! | `if` per row | each branch in a `conditional_block`, run if the mask has a row for it; its rows by `gather`, and sorted again behind both |
//! | a value on the rows of a block | see `row_spaces.rs` |
//! | whole sequences of these rows | `gather`, by the numbers of their tokens |
//! | `if` on a scalar | two `conditional_block`s and `select_input` |
//! | `while` | `while`: state in variables that the body overwrites at its end; the condition block stands before the loop and at the end of the body |
//! | `while` per row | the same, with a mask of the rows that are still in the loop, whose state is split off and merged again |
//! | `for` | `while`; rows in the order of their lengths, of which an iteration takes the first ones; the values that iterations give, joined and sorted |
//! | the order of iterations | none: values are stored in the order of the sequences |
//! | a constant with rows | `fill_constant_batch_size_like` a value that has them |
//! | the tokens of sequences, if an operator works along them or they are fetched | `lod_reset` to the offsets of an input, or to computed ones |
//! | windows along sequences, and their product with filters | `sequence_conv` |
//! | the cost of a conditional random field | a `for`, as later releases have no operator for it |
//!
//! PaddlePaddle's own forms of the last three (`split_lod_tensor`, rank tables, arrays) are not used: the passes of its default
//! predictor fail on them, and later releases do not have them. Instead each iteration copies what was collected before it, so a
//! loop copies about as many values as it has iterations times tokens.
//!
//! A branch without rows must not run, as the real kernels refuse matrices without rows. Its results then have no rows
//! either. This has to be written, as a variable keeps its value from an earlier run.
//!
//! | file | holds |
//! | --- | --- |
//! | `operators.rs` | operators without blocks |
//! | `weaker_kernels.rs` | operators whose kernels do less in PaddlePaddle |
//! | `sequences.rs` | operators that work along sequences |
//! | `gathers.rs` | elements that are taken by their numbers, and put back |
//! | `pads.rs` | padding |
//! | `making_sequences.rs` | operators that make new sequences |
//! | `row_spaces.rs` | how values come into a block that runs on some of their rows, and the variables that describe row spaces |
//! | `sequence_places.rs` | sequences in rows of places, windows of any elements |
//! | `sequence_positions.rs` | sequences of some of the rows |
//! | `sizes.rs` | sizes that a batch or a run decides |
//! | `branches.rs` | `if` |
//! | `suppression.rs` | boxes that are kept of those that overlap |
//! | `unread.rs` | what nothing reads |
//! | `while_loop.rs`, `while_per_row.rs`, `for_per_row.rs` | loops: on everything, on rows that leave one by one, along sequences |

mod branches;
mod for_per_row;
mod gathers;
mod making_sequences;
mod measures;
mod operators;
mod pads;
mod row_spaces;
mod sequence_places;
mod sequence_positions;
mod sequences;
mod sizes;
mod slices;
mod suppression;
mod unread;
mod weaker_kernels;
mod while_loop;
mod while_per_row;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use self::row_spaces::{Chosen, Known};
use crate::convert::dialect::{EMPTY, OURS};
use crate::convert::to_wire::holder;
use crate::convert::types::tensor_type;
use crate::ops::{Op, Operator, Program, SequenceWindow};
use crate::passes::compose::write_out;
use crate::program::{BlockId, BuildError, DType, Located, RowsId, Type, VarId, VerifyError};
use crate::wire::{BlockDesc, OpAttr, OpDesc, ProgramDesc, VarDesc, VarKind, Version};

/// The version of PaddlePaddle in the exported program: 2.6.2.
const PADDLE_VERSION: i64 = 2_006_002;

/// The most operators that are written.
const MAX_OPERATORS: usize = 1 << 20;

/// A program that cannot be written for PaddlePaddle, or in ONNX.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LegaliseError {
    /// The program is not well-formed.
    Verify(VerifyError),
    /// An operator that is missing there cannot be computed by others.
    Build(BuildError),
    /// Nothing there computes an operator.
    Operator {
        /// The operator.
        operator: String,
        /// Its source place, if it is known.
        place: Option<Located>,
        /// The reason, and what to do.
        reason: String,
    },
    /// The program would have too many operators.
    TooLarge {
        /// The number of operators.
        operators: usize,
    },
    /// An input or a parameter has a name that PaddlePaddle keeps for itself.
    Name {
        /// The name.
        name: String,
    },
}

impl fmt::Display for LegaliseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LegaliseError::Verify(error) => error.fmt(f),
            LegaliseError::Build(error) => error.fmt(f),
            LegaliseError::Operator { operator, place, reason } => {
                if let Some(place) = place {
                    write!(f, "{place}: ")?;
                }
                write!(f, "`{operator}` cannot be exported: {reason}")
            }
            LegaliseError::TooLarge { operators } => write!(
                f,
                "the exported program would have {operators} operators or more: the condition of a loop is written \
                 twice, and with it the loops in it"
            ),
            LegaliseError::Name { name } => {
                write!(f, "an input or parameter cannot be exported under the name `{name}`; rename it")
            }
        }
    }
}

impl std::error::Error for LegaliseError {}

impl LegaliseError {
    /// An output that would show an order that is a loop's own.
    pub(in crate::convert) fn in_order_of_loop(output: &str) -> Self {
        LegaliseError::Operator {
            operator: output.to_string(),
            place: None,
            reason: "it is in the order of the iterations of a loop; put it back with `scatter_rows`".into(),
        }
    }
}

impl From<VerifyError> for LegaliseError {
    fn from(error: VerifyError) -> Self {
        LegaliseError::Verify(error)
    }
}

impl From<BuildError> for LegaliseError {
    fn from(error: BuildError) -> Self {
        LegaliseError::Build(error)
    }
}

/// Writes a program with PaddlePaddle's own operators. The program has to be without operators of training.
pub fn legalise(program: &Program) -> Result<ProgramDesc, LegaliseError> {
    program.verify()?;
    let mut own = program.clone();
    write_out(&mut own, |op| match op {
        Op::LinearChainCrf(_) | Op::DecayedScores(_) => true,
        // In PaddlePaddle, boxes without area overlap each other.
        Op::NonMaxSuppression(op) => !op.empty_overlap,
        _ => false,
    })?;
    let program = &own;
    let operators = size(program, Program::GLOBAL);
    if operators > MAX_OPERATORS {
        return Err(LegaliseError::TooLarge { operators });
    }
    let mut to = Legaliser {
        program,
        blocks: Vec::new(),
        taken: [FEED, FETCH, EMPTY, ""].map(str::to_string).into(),
        suffixes: BTreeMap::new(),
        names: BTreeMap::new(),
        windows: BTreeMap::new(),
        homes: BTreeMap::new(),
        known: BTreeMap::new(),
        chosen: BTreeMap::new(),
        sides: BTreeMap::new(),
    };
    let global = to.new_block(None);
    to.blocks[global].vars.push(holder(FEED, VarKind::FeedMinibatch));
    to.blocks[global].vars.push(holder(FETCH, VarKind::FetchList));
    for parameter in program.parameters() {
        to.reserve(global, parameter, |desc| desc.persistable = Some(true))?;
    }
    for (column, &input) in program.inputs().iter().enumerate() {
        to.reserve(global, input, |desc| desc.need_check_feed = Some(true))?;
        let name = to.name(input);
        let feed = OpDesc::new("feed").with_input("X", [FEED]).with_output("Out", [name]);
        to.push(global, feed.with_attr(OpAttr::int("col", column as i32)));
    }
    for &input in program.inputs() {
        to.input(global, input);
    }
    to.block(global, Program::GLOBAL)?;
    let varying = varying(program);
    let mut fetched: BTreeSet<String> =
        program.inputs().iter().copied().chain(program.parameters()).map(|var| to.name(var)).collect();
    for (column, &output) in program.outputs().iter().enumerate() {
        if program.ty(output).rows.is_some_and(|rows| program.is_reordered(rows)) {
            return Err(LegaliseError::in_order_of_loop(&program.var(output).name));
        }
        // A variable is fetched once, and only if an operator has written it.
        let mut name = to.with_levels(global, output);
        if !varying.contains(&output) {
            name = to.copy_when_run(global, output);
        } else if !fetched.insert(name.clone()) {
            name = to.copy(global, output);
        }
        let fetch = OpDesc::new("fetch").with_input("X", [name]).with_output("Out", [FETCH]);
        to.push(global, fetch.with_attr(OpAttr::int("col", column as i32)));
    }
    to.leave_out_unread();
    let version = Version { version: Some(PADDLE_VERSION), ..Version::default() };
    Ok(ProgramDesc { blocks: to.blocks, version: Some(version), ..ProgramDesc::default() })
}

/// The values of the global block that do not follow from constants and parameters alone, or that blocks compute. A size varies, too.
fn varying(program: &Program) -> BTreeSet<VarId> {
    let mut varying: BTreeSet<VarId> = program.inputs().iter().copied().collect();
    let has_size = |var: &VarId| {
        let ty = program.ty(*var);
        ty.rows.is_none() && ty.dims.iter().all(|dim| dim.constant().is_some())
    };
    for operator in &program.block(Program::GLOBAL).ops {
        let is_fixed = operator.blocks.is_empty()
            && operator.outputs.iter().all(has_size)
            && operator.inputs.iter().all(|input| !varying.contains(input));
        if !is_fixed {
            varying.extend(&operator.outputs);
        }
    }
    varying
}

/// The number of operators that are written for a block.
fn size(program: &Program, block: BlockId) -> usize {
    let of_operator = |operator: &Operator| {
        let sizes: Vec<usize> = operator.blocks.iter().map(|&inner| size(program, inner)).collect();
        let again = match (&operator.op, sizes.as_slice()) {
            (Op::While(_), &[condition, _]) => condition,
            _ => 0,
        };
        sizes.into_iter().fold(again.saturating_add(1), usize::saturating_add)
    };
    program.block(block).ops.iter().map(of_operator).fold(0, usize::saturating_add)
}

/// The variables with fed and fetched values. PaddlePaddle finds them by name.
const FEED: &str = "feed";
const FETCH: &str = "fetch";

struct Legaliser<'a> {
    program: &'a Program,
    blocks: Vec<BlockDesc>,
    /// The names in use.
    taken: BTreeSet<String>,
    /// For each name, the last suffix.
    suffixes: BTreeMap<String, u64>,
    /// The variables of values.
    names: BTreeMap<VarId, String>,
    /// The windows along sequences that are only multiplied by filters: for each, the variable and the operator.
    windows: BTreeMap<VarId, (String, SequenceWindow)>,
    /// The block in which each variable is declared.
    homes: BTreeMap<String, usize>,
    /// Variables that describe row spaces, and the blocks in which they are written.
    known: BTreeMap<RowsId, Vec<(Known, usize, String)>>,
    /// How the rows of blocks are chosen.
    chosen: BTreeMap<RowsId, Chosen>,
    /// The numbers of the rows on both sides of a mask, by the block in which they are computed, and the mask.
    sides: BTreeMap<(usize, String), [String; 2]>,
}

impl Legaliser<'_> {
    fn new_block(&mut self, parent: Option<usize>) -> usize {
        self.blocks.push(BlockDesc {
            idx: self.blocks.len() as i32,
            parent_idx: parent.map_or(-1, |parent| parent as i32),
            forward_block_idx: Some(-1),
            ..BlockDesc::default()
        });
        self.blocks.len() - 1
    }

    /// Appends an operator. Attributes of our own dialect are removed from it.
    fn push(&mut self, at: usize, mut op: OpDesc) {
        op.attrs.retain(|attr| !attr.name.starts_with(OURS));
        self.blocks[at].ops.push(op);
    }

    /// The variable of a value.
    fn name(&self, var: VarId) -> String {
        // A verified program writes every value before it is read.
        self.names.get(&var).cloned().unwrap_or_default()
    }

    fn names(&self, vars: &[VarId]) -> Vec<String> {
        vars.iter().map(|&var| self.name(var)).collect()
    }

    /// Declares the variable of an input or a parameter under its own name, which users know.
    fn reserve(
        &mut self,
        at: usize,
        var: VarId,
        mark: impl FnOnce(&mut VarDesc),
    ) -> Result<(), LegaliseError> {
        let value = self.program.var(var);
        if !self.taken.insert(value.name.clone()) {
            return Err(LegaliseError::Name { name: value.name.clone() });
        }
        self.names.insert(var, value.name.clone());
        let mut desc = variable(self.program, &value.name, &value.ty);
        self.homes.insert(value.name.clone(), at);
        mark(&mut desc);
        self.blocks[at].vars.push(desc);
        Ok(())
    }

    /// Declares a variable with this name, or a similar one.
    fn declare(&mut self, at: usize, name: &str, ty: &Type) -> String {
        let name = self.free(name);
        self.homes.insert(name.clone(), at);
        self.blocks[at].vars.push(variable(self.program, &name, ty));
        name
    }

    fn free(&mut self, name: &str) -> String {
        let mut free = name.to_string();
        while !self.taken.insert(free.clone()) {
            let suffix = self.suffixes.entry(name.to_string()).or_default();
            *suffix += 1;
            free = format!("{name}_{suffix}");
        }
        free
    }

    /// Declares the variable of a value that is written next.
    fn define(&mut self, at: usize, var: VarId) -> String {
        let value = self.program.var(var);
        let name = self.declare(at, &value.name, &value.ty);
        self.names.insert(var, name.clone());
        name
    }

    /// Appends an operator with one input and one output, which is a new variable.
    fn step(&mut self, at: usize, op: OpDesc, x: String, ty: &Type) -> String {
        let out = self.declare(at, &op.r#type.clone(), ty);
        self.push(at, op.with_input("X", [x]).with_output("Out", [out.clone()]));
        out
    }

    /// Copies a variable into another one.
    fn assign(&mut self, at: usize, from: String, to: String) {
        self.push(at, OpDesc::new("assign").with_input("X", [from]).with_output("Out", [to]));
    }

    /// Copies a value to a new variable.
    fn copy(&mut self, at: usize, var: VarId) -> String {
        let (program, from) = (self.program, self.name(var));
        let to = self.declare(at, &from, program.ty(var));
        self.assign(at, from, to.clone());
        to
    }

    /// Appends a block's operators.
    fn block(&mut self, at: usize, id: BlockId) -> Result<(), LegaliseError> {
        let program = self.program;
        program.block(id).ops.iter().try_for_each(|operator| self.operator(at, operator))
    }

    fn refuse<T>(&self, operator: &Operator, reason: impl Into<String>) -> Result<T, LegaliseError> {
        Err(LegaliseError::Operator {
            operator: operator.op.operation().called().to_string(),
            place: operator.site.place.map(|place| self.program.locate(place)),
            reason: reason.into(),
        })
    }
}

fn variable(program: &Program, name: &str, ty: &Type) -> VarDesc {
    let r#type = tensor_type(program, ty);
    VarDesc { name: name.to_string(), r#type, persistable: Some(false), ..VarDesc::default() }
}

/// The type of a mask: one truth value per row.
fn mask_type(rows: Option<RowsId>) -> Type {
    Type { rows, ..Type::new(DType::Bool, [1]) }
}
