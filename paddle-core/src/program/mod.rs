//! The program: nested blocks of operators over typed values, each written once.
//!
//! * A [`Program`] has blocks in an arena; block 0 is the *global block*. Its parameters are the network's inputs,
//!   its results the network's outputs (the cost first, then metrics).
//! * A [`Block`] has parameters, operators in order, and results. Operators of structured control flow
//!   (`if`, `while` and their gradients) own blocks; a value is visible in its block and in the blocks below.
//!   A value leaves a block only as a result.
//! * A *gradient block* has a forward block (`forward`), which it differentiates. It also sees the values of the forward
//!   block as they were in the run; in a loop, as they were in the same iteration. The plan finds out which values have
//!   to be saved for it.
//! * A [parameter](Definition::Parameter) is in the global block, whichever block asked for it; the operator that
//!   initialises it is in the *startup part*. Only operators whose schema says `state` change parameters.
//! * A [state](Definition::State) belongs to a parameter: its updater keeps it from step to step. It is initialised in
//!   the startup part, too.
//! * The leading dimension of a [`Type`] may be a [`RowSpace`]. A value of an ancestor row space is brought into a
//!   block by a `gather_rows` operator, once per block ([`Program::localize`]).
//! * Only inputs and parameters declare shapes; every other type is inferred by [`Program::append_op`].

mod accuracy_class;
#[cfg(feature = "read")]
mod attempt;
mod bind;
mod build;
mod dim;
mod effects;
mod interface;
mod operator;
mod parameter;
mod retain;
mod row_relations;
mod schema;
mod shape_rules;
mod size_checks;
mod state;
mod taps;
mod types;
mod verify;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;

pub use accuracy_class::{AccuracyClass, Terms};
#[cfg(feature = "read")]
pub(crate) use attempt::Mark;
pub use bind::BindError;
pub use build::{BuildError, Words};
pub use dim::{Answer, Arithmetic, Dim, DimOverflow, SymbolId};
pub use effects::{Effects, Linear, OfShards};
pub use interface::OpInterface;
pub use operator::{FileId, LayerId, Located, Operator, Place, Role, Site};
pub use parameter::{Disagreement, Parameter, ParameterOptions, ParameterUse};
pub use schema::{Schema, Slot};
pub use shape_rules::{Infer, Mismatch, MismatchKind};
pub use size_checks::{Check, Condition};
pub use state::UpdaterState;
pub use taps::Tap;
pub use types::{DType, RowOrigin, RowSpace, RowsId, Type};
pub use verify::{VerifyError, Violation};

/// A value of a program; an index into its arena of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(pub u32);

/// A block of a program; an index into its arena of blocks. The default is the global block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

impl BlockId {
    /// The global block.
    pub const GLOBAL: BlockId = BlockId(0);
}

const MAX_DEPTH: usize = 64;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Definition {
    /// An input, fed by the caller.
    Input,
    /// A parameter: trained and saved; changed only by `state` operators.
    Parameter,
    /// A state: kept by the updater of a parameter from step to step; changed only by `state` operators.
    State,
    /// A parameter of a nested block: the state of a loop, or an incoming gradient.
    BlockParameter,
    /// The output of an operator of its block.
    Operator,
}

/// A value: its name, its type and its definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// Unique within the program.
    pub name: String,
    /// Element type, row space, dimensions.
    pub ty: Type,
    /// The block that defines it.
    pub block: BlockId,
    /// Where the value comes from.
    pub definition: Definition,
}

/// A sequence of operators with parameters and results.
#[derive(Clone, Debug, PartialEq)]
pub struct Block<O> {
    /// The block whose operator owns this one; none for the global block.
    pub parent: Option<BlockId>,
    /// The forward block, if this is a gradient block.
    pub forward: Option<BlockId>,
    /// The row space of the block, if it differs from the parent's.
    pub rows: Option<RowsId>,
    /// Values that the operator that owns the block gives on entry.
    pub params: Vec<VarId>,
    /// Operators in order.
    pub ops: Vec<Operator<O>>,
    /// Values that leave the block.
    pub results: Vec<VarId>,
}

impl<O> Default for Block<O> {
    fn default() -> Self {
        let (params, ops, results) = (Vec::new(), Vec::new(), Vec::new());
        Block { parent: None, forward: None, rows: None, params, ops, results }
    }
}

/// A named size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The user's name, or the name of the row space whose size it is.
    pub name: String,
    /// Whether [`Program::bind`] gives its value. The values of other symbols follow from what is fed.
    pub outside: bool,
}

/// A parameter and the gradient of the cost with respect to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterGradient {
    /// The parameter.
    pub parameter: VarId,
    /// Its gradient, of the same shape.
    pub gradient: VarId,
}

/// A program. See the [module documentation](self).
///
/// `O` is the type of its operators; [`ops::Program`](crate::ops::Program) uses the operators of this crate.
#[derive(Clone, Debug, PartialEq)]
pub struct Program<O> {
    vars: Vec<Var>,
    blocks: Vec<Block<O>>,
    symbols: Vec<Symbol>,
    row_spaces: Vec<RowSpace>,
    files: Vec<String>,
    layers: Vec<String>,
    startup: Vec<Operator<O>>,
    parameter_options: BTreeMap<VarId, ParameterOptions>,
    gradients: Vec<ParameterGradient>,
    states: Vec<UpdaterState>,
    taps: Vec<Tap>,
    checks: Vec<Check>,
    /// `None` means one shard.
    shards: Option<NonZero<u32>>,
    /// Every value by its name.
    names: BTreeMap<String, VarId>,
    /// Values of [`Program::create_var`] that no operator writes yet.
    unwritten: BTreeSet<VarId>,
}

impl<O: OpInterface> Program<O> {
    /// The global block.
    pub const GLOBAL: BlockId = BlockId::GLOBAL;

    /// The deepest nesting of blocks below the global block. Passes and the text form recurse over blocks, on a stack
    /// of 2 MiB.
    pub const MAX_DEPTH: usize = MAX_DEPTH;

    /// An empty program: a global block without operators.
    pub fn new() -> Self {
        Program {
            vars: Vec::new(),
            blocks: vec![Block::default()],
            symbols: Vec::new(),
            row_spaces: Vec::new(),
            files: Vec::new(),
            layers: Vec::new(),
            startup: Vec::new(),
            parameter_options: BTreeMap::new(),
            gradients: Vec::new(),
            states: Vec::new(),
            taps: Vec::new(),
            checks: Vec::new(),
            shards: None,
            names: BTreeMap::new(),
            unwritten: BTreeSet::new(),
        }
    }

    /// The value `id`.
    pub fn var(&self, id: VarId) -> &Var {
        &self.vars[id.0 as usize]
    }

    /// The type of the value `id`.
    pub fn ty(&self, id: VarId) -> &Type {
        &self.var(id).ty
    }

    /// All values, in the order of their ids.
    pub fn vars(&self) -> &[Var] {
        &self.vars
    }

    /// The value of this name.
    pub fn find(&self, name: &str) -> Option<VarId> {
        self.names.get(name).copied()
    }

    /// The block `id`.
    pub fn block(&self, id: BlockId) -> &Block<O> {
        &self.blocks[id.0 as usize]
    }

    /// All blocks, in the order of their ids; the global block first.
    pub fn blocks(&self) -> &[Block<O>] {
        &self.blocks
    }

    /// All size symbols, in the order of their ids.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// All row spaces, in the order of their ids.
    pub fn row_spaces(&self) -> &[RowSpace] {
        &self.row_spaces
    }

    /// The row space `id`.
    pub fn row_space(&self, id: RowsId) -> &RowSpace {
        &self.row_spaces[id.0 as usize]
    }

    /// Source files that places refer to.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The operators that initialise the parameters and the states of their updaters, one each.
    pub fn startup(&self) -> &[Operator<O>] {
        &self.startup
    }

    /// The (parameter, gradient) pairs that `backward` has recorded.
    pub fn gradients(&self) -> &[ParameterGradient] {
        &self.gradients
    }

    /// The number of shards that a training cuts each batch into. All programs of one training have to agree on it.
    pub fn shards(&self) -> NonZero<u32> {
        self.shards.unwrap_or(NonZero::<u32>::MIN)
    }

    /// Sets the number of shards that a training cuts each batch into.
    pub fn set_shards(&mut self, shards: NonZero<u32>) {
        self.shards = Some(shards).filter(|shards| shards.get() > 1);
    }

    /// The network's inputs, in the order in which they are fed.
    pub fn inputs(&self) -> &[VarId] {
        &self.block(BlockId::GLOBAL).params
    }

    /// The network's outputs: the cost first, then metrics.
    pub fn outputs(&self) -> &[VarId] {
        &self.block(BlockId::GLOBAL).results
    }

    /// The operator that writes a value, searched in the value's block.
    pub fn writer(&self, var: VarId) -> Option<&Operator<O>> {
        self.block(self.var(var).block).ops.iter().find(|operator| operator.outputs.contains(&var))
    }

    /// The parameters, in the order of creation.
    pub fn parameters(&self) -> impl Iterator<Item = VarId> + '_ {
        let initialized = self.startup.iter().flat_map(|operator| operator.outputs.iter().copied());
        initialized.filter(|&var| self.var(var).definition == Definition::Parameter)
    }

    /// The operator that initialises `parameter`.
    pub fn initializer(&self, parameter: VarId) -> Option<&Operator<O>> {
        self.startup.iter().find(|operator| operator.outputs == [parameter])
    }

    /// The options of a parameter: everything but its type and its initialiser.
    pub fn parameter_options(&self, parameter: VarId) -> &ParameterOptions {
        self.parameter_options.get(&parameter).unwrap_or(&ParameterOptions::DEFAULT)
    }

    /// The row space that the operators of `block` run on: that of the block, or else of the nearest enclosing block.
    pub fn rows_of_block(&self, block: BlockId) -> Option<RowsId> {
        let mut at = Some(block);
        while let Some(id) = at {
            if let Some(rows) = self.block(id).rows {
                return Some(rows);
            }
            at = self.block(id).parent;
        }
        None
    }

    /// Whether `block` can read a value that is defined in `from`.
    pub fn is_visible(&self, from: BlockId, block: BlockId) -> bool {
        let mut at = Some(block);
        while let Some(id) = at {
            if id == from {
                return true;
            }
            // The blocks around a gradient block also enclose its forward block, so the search goes on upwards.
            if self.block(id).forward.is_some_and(|forward| forward == from) {
                return true;
            }
            at = self.block(id).parent;
        }
        false
    }

    /// The full shape: the number of rows, if there are rows, and then the other dimensions.
    pub fn shape(&self, ty: &Type) -> Vec<Dim> {
        let rows = ty.rows.map(|rows| Dim::symbol(self.row_space(rows).size));
        rows.into_iter().chain(ty.dims.iter().cloned()).collect()
    }

    /// A place with its file's name.
    pub fn locate(&self, place: Place) -> Located {
        let file = self.files.get(place.file.0 as usize).cloned().unwrap_or_default();
        Located { file, line: place.line, column: place.column }
    }

    /// The layer that stands at a place.
    pub fn layer(&self, place: Place) -> Option<&str> {
        self.layers.get(place.layer?.0 as usize).map(String::as_str)
    }

    /// The name of an operator in messages: the layer that the user wrote (`embedding`, or `embedding_grad` for its
    /// gradient), or else the operator's own name.
    pub fn called<'a>(&'a self, operator: &'a Operator<O>) -> Cow<'a, str> {
        let layer = operator.site.place.and_then(|place| self.layer(place));
        match (layer, operator.site.role) {
            (Some(layer), Role::Forward | Role::Loss) => layer.into(),
            (Some(layer), Role::Backward) if layer.starts_with(char::is_alphabetic) => {
                format!("{layer}_grad").into()
            }
            _ => operator.op.called().into(),
        }
    }

    /// A type in the user's words: `f32[_, 13]`, `Seq<i64>`, `Seq<Seq<Tensor<f32, 64>>>`.
    #[inline(never)]
    pub fn show(&self, ty: &Type) -> String {
        let levels = self.depth_of_sequences(ty);
        if levels == 0 {
            return format!("{}{}", ty.dtype, self.show_shape(ty));
        }
        let token = match &ty.dims[..] {
            [] => ty.dtype.to_string(),
            dims => {
                let dims: Vec<String> = dims.iter().map(|dim| self.show_dim(dim)).collect();
                format!("Tensor<{}, {}>", ty.dtype, dims.join(", "))
            }
        };
        format!("{}{token}{}", "Seq<".repeat(levels), ">".repeat(levels))
    }

    /// A row space in the user's words: "the rows of `_`", "the tokens of `words`".
    pub fn show_rows(&self, rows: RowsId) -> String {
        match self.rows_of_sequences(rows) {
            Some(parent) => {
                let (name, prefix) =
                    (&self.row_space(self.drawn_from(rows)).name, &self.row_space(parent).name);
                let sequences = name.strip_prefix(&format!("{prefix}.")).unwrap_or(name);
                format!("the tokens of `{sequences}`")
            }
            None => format!("the rows of `{}`", self.row_space(rows).name),
        }
    }

    /// A shape in the user's words: `[_, 13]`; `[]` for a scalar.
    pub fn show_shape(&self, ty: &Type) -> String {
        self.write_shape(ty, &|name| name.to_string())
    }

    /// A dimension with the symbols' names.
    pub fn show_dim(&self, dim: &Dim) -> String {
        self.write_dim(dim, &|name| name.to_string())
    }

    /// A shape; `name` writes the names of sizes.
    pub(crate) fn write_shape(&self, ty: &Type, name: &dyn Fn(&str) -> String) -> String {
        let rows = ty.rows.map(|rows| match self.row_spaces.get(rows.0 as usize) {
            Some(rows) => name(&rows.name),
            None => "?".to_string(),
        });
        let mut dims: Vec<String> = ty.dims.iter().map(|dim| self.write_dim(dim, name)).collect();
        // A row space's name in front of a shape means its rows. Parentheses around the name mean their number.
        let size_of_rows = |symbol| self.row_spaces.iter().any(|rows| rows.size == symbol);
        if rows.is_none() && ty.dims.first().and_then(Dim::as_symbol).is_some_and(size_of_rows) {
            dims[0] = format!("({})", dims[0]);
        }
        format!("[{}]", rows.into_iter().chain(dims).collect::<Vec<_>>().join(", "))
    }

    /// A dimension; `name` writes the names of sizes.
    pub(crate) fn write_dim(&self, dim: &Dim, name: &dyn Fn(&str) -> String) -> String {
        let symbol = |symbol: SymbolId| match self.symbols.get(symbol.0 as usize) {
            Some(symbol) => name(&symbol.name),
            None => "?".to_string(),
        };
        dim.display(&symbol).to_string()
    }
}

impl<O: OpInterface> Default for Program<O> {
    fn default() -> Self {
        Program::new()
    }
}
