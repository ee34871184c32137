//! Construction of programs, by front ends, passes and by hand.
//!
//! ```
//! use paddle_core::ops::{Binary, BinaryKind, Fill, Matmul, Number, Program, UniformRandom};
//! use paddle_core::program::{DType, Site, Type};
//!
//! let mut program = Program::new();
//! let batch = program.create_rows("_");
//! let x = program.create_input("x", Type::with_rows(DType::F32, batch, [13]))?;
//! let init = UniformRandom { min: -0.5, max: 0.5, fan: None, path: String::new(), ty: Type::new(DType::F32, [13, 1]) };
//! let w = program.create_parameter("w", init)?;
//! let b = program.create_parameter("b", Fill { value: Number::Float(0.0), ty: Type::new(DType::F32, [1]) })?;
//! let block = Program::GLOBAL;
//! let product = program.append_op(block, Matmul { trans_x: false, trans_y: false }, &[x, w], Site::default())?;
//! let sum = program.append_op(block, Binary { kind: BinaryKind::Add }, &[product[0], b], Site::default())?;
//! program.set_outputs(&sum)?;
//! assert_eq!(program.show(program.ty(sum[0])), "f32[_, 1]");
//! program.verify()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cell::{LazyCell, RefCell};
use std::fmt::{self, Write};

use super::{
    Block, BlockId, Check, Condition, Definition, FileId, Infer, LayerId, MAX_DEPTH, Mismatch, MismatchKind,
    OpInterface, Operator, ParameterGradient, Place, Program, RowOrigin, RowSpace, RowsId, Schema, Site,
    Symbol, SymbolId, Type, Var, VarId,
};

/// Why something cannot be added to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The inputs do not fit the operator.
    Mismatch(Mismatch),
    /// A value is read outside of its block, or before it is written.
    NotVisible {
        /// The value.
        name: String,
    },
    /// The program already has a value of this name.
    NameTaken {
        /// The name.
        name: String,
    },
    /// Two uses of a parameter disagree.
    ParameterConflict {
        /// The parameter.
        name: String,
        /// How the first use has it.
        first: String,
        /// How this use has it.
        second: String,
    },
    /// The operator cannot initialise a parameter.
    NotAnInitializer {
        /// The parameter.
        name: String,
    },
    /// A state is created for a value that is not a parameter.
    NotAState {
        /// The state.
        name: String,
    },
    /// A value cannot be written: it is written already, or its type is not that of the operator's output.
    NotWritable {
        /// The value.
        name: String,
    },
    /// The program has no block, row space or value of this id.
    NoSuch {
        /// The kind of thing that was looked for.
        what: &'static str,
    },
    /// Blocks nest deeper than [`Program::MAX_DEPTH`].
    TooDeep,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Mismatch(mismatch) => mismatch.fmt(f),
            BuildError::NotVisible { name } => {
                write!(f, "`{name}` is used out of its block; a value leaves a block only as its result")
            }
            BuildError::NameTaken { name } => write!(f, "there is already a value named `{name}`"),
            BuildError::ParameterConflict { name, first, second } => {
                write!(f, "parameter `{name}` is {second} here, but {first} where it was first used")
            }
            BuildError::NotAnInitializer { name } => {
                write!(
                    f,
                    "the initialiser of parameter `{name}` has to be an operator without inputs and with one output"
                )
            }
            BuildError::NotAState { name } => {
                write!(f, "`{name}` does not belong to a parameter; a state is that of a parameter")
            }
            BuildError::NotWritable { name } => write!(f, "`{name}` cannot be the output of this operator"),
            BuildError::NoSuch { what } => write!(f, "the program has no such {what}"),
            BuildError::TooDeep => {
                write!(f, "blocks nest deeper than {} levels; split the network", MAX_DEPTH)
            }
        }
    }
}

impl std::error::Error for BuildError {}

impl From<Mismatch> for BuildError {
    fn from(mismatch: Mismatch) -> Self {
        BuildError::Mismatch(mismatch)
    }
}

/// The words that error messages use for an operator and its inputs, from a front end that knows the user's source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The operator.
    pub operator: String,
    /// Its inputs, in order.
    pub inputs: Vec<String>,
}

/// The result of a shape rule.
pub(crate) struct Inferred {
    /// The types of the outputs.
    pub(crate) types: Vec<Type>,
    /// Conditions that the rule could not decide, each with the error message for the case that it fails.
    pub(crate) checks: Vec<(Condition, String)>,
}

impl<O: OpInterface> Program<O> {
    /// Adds a root row space and the symbol of its number of rows. The batch is called `_`.
    pub fn create_rows(&mut self, name: &str) -> RowsId {
        self.add_rows(name.to_string(), None, RowOrigin::Root)
    }

    /// The row space of always so many rows. It is added, with the symbol of their number, if there is none.
    pub fn fixed_rows(&mut self, count: u32) -> RowsId {
        let known = self.row_spaces.iter().position(|rows| rows.origin == RowOrigin::Fixed(count));
        if let Some(at) = known {
            return RowsId(at as u32);
        }
        let name = self.fresh_size("rows".to_string());
        self.add_rows(name, None, RowOrigin::Fixed(count))
    }

    /// Adds the row space of the tokens of sequences, one sequence for each row of `parent`. `name` is the name of the
    /// sequences.
    pub fn create_tokens(&mut self, name: &str, parent: RowsId) -> RowsId {
        let name = self.fresh_size(format!("{}.{name}", self.row_space(parent).name));
        self.add_rows(name, Some(parent), RowOrigin::Tokens)
    }

    /// Adds a row space under its full name.
    pub(crate) fn add_rows(&mut self, name: String, parent: Option<RowsId>, origin: RowOrigin) -> RowsId {
        let size = self.create_symbol(&name);
        self.row_spaces.push(RowSpace { name, parent, size, origin });
        RowsId(self.row_spaces.len() as u32 - 1)
    }

    /// The root row space of this name, if there is one.
    pub fn find_rows(&self, name: &str) -> Option<RowsId> {
        self.row_spaces.iter().position(|rows| rows.name == name).map(|at| RowsId(at as u32))
    }

    /// Adds a size symbol whose value follows from the shapes of the fed values.
    pub fn create_symbol(&mut self, name: &str) -> SymbolId {
        self.add_symbol(name, false)
    }

    /// Adds an outside symbol: a size whose value is given by [`Program::bind`].
    pub fn create_outside_symbol(&mut self, name: &str) -> SymbolId {
        self.add_symbol(name, true)
    }

    fn add_symbol(&mut self, name: &str, outside: bool) -> SymbolId {
        self.symbols.push(Symbol { name: name.to_string(), outside });
        SymbolId(self.symbols.len() as u32 - 1)
    }

    /// The id of a source file. A new file is added.
    pub fn create_file(&mut self, name: &str) -> FileId {
        let at = self.files.iter().position(|file| file == name).unwrap_or_else(|| {
            self.files.push(name.to_string());
            self.files.len() - 1
        });
        FileId(at as u32)
    }

    /// The id of a layer's name. A new name is added.
    pub fn create_layer(&mut self, name: &str) -> LayerId {
        let at = self.layers.iter().position(|layer| layer == name).unwrap_or_else(|| {
            self.layers.push(name.to_string());
            self.layers.len() - 1
        });
        LayerId(at as u32)
    }

    /// Adds an input of the network.
    pub fn create_input(&mut self, name: &str, ty: Type) -> Result<VarId, BuildError> {
        let var = self.add_var(name, ty, BlockId::GLOBAL, Definition::Input)?;
        self.blocks[0].params.push(var);
        Ok(var)
    }

    /// Adds a value to a block. [`Program::append_op_into`] has to write it.
    pub fn create_var(&mut self, block: BlockId, name: &str, ty: Type) -> Result<VarId, BuildError> {
        self.check_block(block)?;
        let var = self.add_var(name, ty, block, Definition::Operator)?;
        self.unwritten.insert(var);
        Ok(var)
    }

    /// Adds a block parameter to a nested block.
    pub fn create_block_parameter(
        &mut self,
        block: BlockId,
        name: &str,
        ty: Type,
    ) -> Result<VarId, BuildError> {
        self.check_block(block)?;
        let name = self.fresh_name(name);
        let var = self.add_var(&name, ty, block, Definition::BlockParameter)?;
        self.blocks[block.0 as usize].params.push(var);
        Ok(var)
    }

    /// Appends an operator to a block and returns its outputs. Their types are inferred; their names derive from the
    /// operator's.
    pub fn append_op(
        &mut self,
        block: BlockId,
        op: impl Into<O>,
        inputs: &[VarId],
        site: Site,
    ) -> Result<Vec<VarId>, BuildError> {
        self.append(block, op.into(), inputs, &[], site, None)
    }

    /// Appends an operator that owns blocks.
    pub fn append_block_op(
        &mut self,
        block: BlockId,
        op: impl Into<O>,
        inputs: &[VarId],
        blocks: &[BlockId],
        site: Site,
    ) -> Result<Vec<VarId>, BuildError> {
        self.append(block, op.into(), inputs, blocks, site, None)
    }

    /// Appends an operator. Error messages use the words of `words`.
    pub fn append_op_in_words(
        &mut self,
        block: BlockId,
        op: impl Into<O>,
        inputs: &[VarId],
        site: Site,
        words: &Words,
    ) -> Result<Vec<VarId>, BuildError> {
        self.append(block, op.into(), inputs, &[], site, Some(words))
    }

    /// What appends operators of every type: one function, where those above have a copy for each. Like others here that do
    /// much, it is marked `#[inline(never)]`, so that crates that use programs link it and do not compile it again.
    #[inline(never)]
    fn append(
        &mut self,
        block: BlockId,
        op: O,
        inputs: &[VarId],
        blocks: &[BlockId],
        site: Site,
        words: Option<&Words>,
    ) -> Result<Vec<VarId>, BuildError> {
        let at = self.check_block(block)?.ops.len();
        self.insert_op(block, at, op, inputs, blocks, site, words)
    }

    /// Inserts an operator at the front of a block.
    pub fn prepend_op(
        &mut self,
        block: BlockId,
        op: impl Into<O>,
        inputs: &[VarId],
        site: Site,
    ) -> Result<Vec<VarId>, BuildError> {
        self.insert_op(block, 0, op.into(), inputs, &[], site, None)
    }

    /// Appends an operator that writes values of [`Program::create_var`].
    #[inline(never)]
    pub fn append_op_into(
        &mut self,
        block: BlockId,
        op: impl Into<O>,
        inputs: &[VarId],
        outputs: &[VarId],
        blocks: &[BlockId],
        site: Site,
    ) -> Result<(), BuildError> {
        let op = op.into();
        let Inferred { types, checks } = self.infer(block, &op, inputs, blocks, None)?;
        for (i, &output) in outputs.iter().enumerate() {
            let var = self.check_var(output)?;
            let fits = var.block == block
                && self.unwritten.contains(&output)
                && types.get(i) == Some(&var.ty)
                && !outputs[..i].contains(&output);
            if !fits {
                return Err(BuildError::NotWritable { name: var.name.clone() });
            }
        }
        if outputs.len() != types.len() {
            let message =
                format!("`{}` has {} outputs, not {}", op.schema().name, types.len(), outputs.len());
            return Err(Mismatch { input: None, kind: MismatchKind::Count, message }.into());
        }
        self.record(checks, site.place);
        let (inputs, outputs, blocks) = (inputs.to_vec(), outputs.to_vec(), blocks.to_vec());
        self.push_op(block, Operator { op, inputs, outputs, blocks, site });
        Ok(())
    }

    /// Appends an operator as it is, without checks.
    pub(crate) fn push_op(&mut self, block: BlockId, operator: Operator<O>) {
        for output in &operator.outputs {
            self.unwritten.remove(output);
        }
        self.blocks[block.0 as usize].ops.push(operator);
    }

    /// Inserts an operator at a place of a block.
    #[inline(never)]
    pub(crate) fn insert_at(
        &mut self,
        block: BlockId,
        at: usize,
        op: O,
        inputs: &[VarId],
        site: Site,
    ) -> Result<Vec<VarId>, BuildError> {
        self.insert_op(block, at, op, inputs, &[], site, None)
    }

    /// Inserts an operator that owns blocks at a place of a block.
    pub(crate) fn insert_block_op(
        &mut self,
        block: BlockId,
        at: usize,
        op: O,
        inputs: &[VarId],
        blocks: &[BlockId],
        site: Site,
    ) -> Result<Vec<VarId>, BuildError> {
        self.insert_op(block, at, op, inputs, blocks, site, None)
    }

    #[expect(clippy::too_many_arguments, reason = "the one place that every form of insertion goes through")]
    fn insert_op(
        &mut self,
        block: BlockId,
        at: usize,
        op: O,
        inputs: &[VarId],
        blocks: &[BlockId],
        site: Site,
        words: Option<&Words>,
    ) -> Result<Vec<VarId>, BuildError> {
        self.check_block(block)?;
        let Inferred { types, checks } = self.infer(block, &op, inputs, blocks, words)?;
        self.record(checks, site.place);
        let mut outputs = Vec::with_capacity(types.len());
        for ty in types {
            let name = self.fresh_name(op.schema().name);
            outputs.push(self.add_var(&name, ty, block, Definition::Operator)?);
        }
        let operator =
            Operator { op, inputs: inputs.to_vec(), outputs: outputs.clone(), blocks: blocks.to_vec(), site };
        self.blocks[block.0 as usize].ops.insert(at, operator);
        Ok(outputs)
    }

    /// Adds the conditions that a shape rule could not decide to the checks of the program.
    pub(super) fn record(&mut self, checks: Vec<(Condition, String)>, place: Option<Place>) {
        for (condition, message) in checks {
            self.add_check(Check { condition, message, place });
        }
    }

    /// Runs the shape rule of an operator: the types of the outputs, and the conditions that are still open.
    pub(crate) fn infer(
        &self,
        block: BlockId,
        op: &O,
        inputs: &[VarId],
        blocks: &[BlockId],
        words: Option<&Words>,
    ) -> Result<Inferred, BuildError> {
        self.check_block(block)?;
        for &block in blocks {
            self.check_block(block)?;
        }
        let mut types = Vec::with_capacity(inputs.len());
        for &input in inputs {
            let var = self.check_var(input)?;
            if !self.is_visible(var.block, block) {
                return Err(BuildError::NotVisible { name: var.name.clone() });
            }
            types.push(var.ty.clone());
        }
        let schema = op.schema();
        let operator = words.map_or_else(|| op.called(), |words| words.operator.as_str());
        let names = || match words {
            Some(words) => words.inputs.clone(),
            None => inputs.iter().map(|&input| format!("`{}`", self.var(input).name)).collect(),
        };
        let names: LazyCell<_, &dyn Fn() -> Vec<String>> = LazyCell::new(&names);
        if !Schema::accepts(schema.inputs, inputs.len()) {
            let message = format!("`{operator}` takes {} inputs, not {}", schema.inputs.len(), inputs.len());
            return Err(Mismatch { input: None, kind: MismatchKind::Count, message }.into());
        }
        let block_rows = self.rows_of_block(block);
        let checks = RefCell::default();
        let cx = Infer { program: self, operator, types: &types, names, block_rows, blocks, checks };
        let is_unknown = |rows: RowsId| rows.0 as usize >= self.row_spaces.len();
        if op.row_spaces().into_iter().any(is_unknown) {
            let message = format!("`{operator}` names a row space that the program does not have");
            return Err(cx.fail(MismatchKind::Attribute, message).into());
        }
        let types = op.infer(&cx)?;
        if let Some((ty, why)) = types.iter().find_map(|ty| Some((ty, self.too_large(ty)?))) {
            let message = format!("`{operator}` would give {}, which {why}", self.show(ty));
            return Err(cx.fail(MismatchKind::Size, message).into());
        }
        Ok(Inferred { types, checks: cx.checks.into_inner() })
    }

    /// Adds a nested block. `rows` is its row space if that differs from the parent's.
    pub fn create_block(&mut self, parent: BlockId, rows: Option<RowsId>) -> Result<BlockId, BuildError> {
        let mut depth = 1;
        let mut at = self.check_block(parent)?.parent;
        while let Some(outer) = at {
            depth += 1;
            at = self.block(outer).parent;
        }
        if depth > MAX_DEPTH {
            return Err(BuildError::TooDeep);
        }
        if rows.is_some_and(|rows| rows.0 as usize >= self.row_spaces.len()) {
            return Err(BuildError::NoSuch { what: "row space" });
        }
        self.blocks.push(Block { parent: Some(parent), rows, ..Block::default() });
        Ok(BlockId(self.blocks.len() as u32 - 1))
    }

    /// Adds the two blocks of an `if` on `condition`. If the condition is per row, each block runs on the rows chosen
    /// for it; otherwise on the parent's rows.
    pub fn create_branches(&mut self, parent: BlockId, condition: VarId) -> Result<[BlockId; 2], BuildError> {
        let rows = self.check_var(condition)?.ty.rows;
        let blocks = [self.create_block(parent, None)?, self.create_block(parent, None)?];
        if let Some(rows) = rows {
            for block in blocks {
                let name = format!("{}.{}", self.row_space(rows).name, block.0);
                self.blocks[block.0 as usize].rows = Some(self.add_rows(name, Some(rows), RowOrigin::Chosen));
            }
        }
        Ok(blocks)
    }

    /// Adds a gradient block for `forward`, on the same rows.
    pub fn create_gradient_block(
        &mut self,
        parent: BlockId,
        forward: BlockId,
    ) -> Result<BlockId, BuildError> {
        let rows = self.check_block(forward)?.rows;
        let block = self.create_block(parent, rows)?;
        self.blocks[block.0 as usize].forward = Some(forward);
        Ok(block)
    }

    /// The operators of all blocks, mutable and unchecked.
    pub(crate) fn operators_mut(&mut self) -> impl Iterator<Item = &mut Operator<O>> {
        self.blocks.iter_mut().flat_map(|block| &mut block.ops)
    }

    /// A block, mutable and unchecked. The text reader and the passes use it, and verify the program afterwards.
    pub(crate) fn block_mut(&mut self, block: BlockId) -> &mut Block<O> {
        &mut self.blocks[block.0 as usize]
    }

    /// Adds the body of a `for` along sequences. An iteration runs on the rows of the batch that have a token left.
    /// `steps` is the row space of the tokens in the order of the iterations, see [`Program::steps_of`].
    pub fn create_iteration(&mut self, parent: BlockId, steps: RowsId) -> Result<BlockId, BuildError> {
        let no_rows = BuildError::NoSuch { what: "row space" };
        let tokens = self
            .row_spaces
            .get(steps.0 as usize)
            .and_then(|_| self.source_of(steps))
            .ok_or(no_rows.clone())?;
        let rows = self.rows_of_whole_sequences(tokens).ok_or(no_rows)?;
        let block = self.create_block(parent, None)?;
        self.activate(block, rows, steps);
        Ok(block)
    }

    /// Adds the two blocks of a per-row `while` on `rows`: the condition and the body. A row stays in the loop while
    /// its condition holds. The second part of the result is the row space of the values that the iterations collect,
    /// in the order of the iterations; its sequences, one for each row, are called `name`.
    pub fn create_loop(
        &mut self,
        parent: BlockId,
        rows: RowsId,
        name: &str,
    ) -> Result<([BlockId; 2], RowsId), BuildError> {
        let blocks = [self.create_block(parent, None)?, self.create_block(parent, None)?];
        let name = self.fresh_size(format!("{}.{name}", self.row_space(rows).name));
        let tokens = self.add_rows(name, Some(rows), RowOrigin::Tokens);
        let name = self.fresh_size(format!("{}.rounds", self.row_space(tokens).name));
        let steps = self.add_rows(name, Some(tokens), RowOrigin::Rounds);
        for block in blocks {
            self.activate(block, rows, steps);
        }
        Ok((blocks, steps))
    }

    fn activate(&mut self, block: BlockId, rows: RowsId, steps: RowsId) {
        let name = self.fresh_size(format!("{}.{}", self.row_space(rows).name, block.0));
        let active = self.add_rows(name, Some(rows), RowOrigin::Active { steps });
        self.blocks[block.0 as usize].rows = Some(active);
    }

    /// Sets the results of a block.
    pub fn set_results(&mut self, block: BlockId, results: &[VarId]) -> Result<(), BuildError> {
        self.check_block(block)?;
        for &result in results {
            let var = self.check_var(result)?;
            if !self.is_visible(var.block, block) {
                return Err(BuildError::NotVisible { name: var.name.clone() });
            }
        }
        self.blocks[block.0 as usize].results = results.to_vec();
        Ok(())
    }

    /// Sets the network's outputs: the cost first, then metrics.
    pub fn set_outputs(&mut self, outputs: &[VarId]) -> Result<(), BuildError> {
        self.set_results(BlockId::GLOBAL, outputs)
    }

    /// Renames a value. A name that is taken gets a free suffix: `_1`, `_2`, …
    pub fn rename(&mut self, var: VarId, name: &str) {
        self.names.remove(&self.vars[var.0 as usize].name);
        let name = self.fresh_name(name);
        self.names.insert(name.clone(), var);
        self.vars[var.0 as usize].name = name;
    }

    /// Replaces every read of `old` by a read of `new`.
    pub(crate) fn replace(&mut self, old: VarId, new: VarId) {
        for block in &mut self.blocks {
            let inputs = block.ops.iter_mut().flat_map(|operator| &mut operator.inputs);
            inputs.chain(&mut block.results).filter(|var| **var == old).for_each(|var| *var = new);
        }
        let gradients = self.gradients.iter_mut().map(|pair| &mut pair.gradient);
        let taps = self.taps.iter_mut().map(|tap| &mut tap.var);
        gradients.chain(taps).filter(|var| **var == old).for_each(|var| *var = new);
    }

    /// Swaps the names of two values.
    pub(crate) fn swap_names(&mut self, a: VarId, b: VarId) {
        let names = [a, b].map(|var| self.vars[var.0 as usize].name.clone());
        for (var, name) in [b, a].into_iter().zip(names) {
            self.vars[var.0 as usize].name.clone_from(&name);
            self.names.insert(name, var);
        }
    }

    /// Records that `gradient` is the gradient of the cost with respect to `parameter`.
    pub(crate) fn record_gradient(&mut self, parameter: VarId, gradient: VarId) {
        self.gradients.push(ParameterGradient { parameter, gradient });
    }

    /// Removes the gradient of `parameter` from the recorded ones.
    pub(crate) fn forget_gradient(&mut self, parameter: VarId) {
        self.gradients.retain(|pair| pair.parameter != parameter);
    }

    /// Sets the role of the operator that writes `var`, if it is in the global block.
    pub(crate) fn set_role(&mut self, var: VarId, role: super::Role) {
        if let Some(operator) = self.blocks[0].ops.iter_mut().find(|operator| operator.outputs.contains(&var))
        {
            operator.site.role = role;
        }
    }

    pub(crate) fn add_var(
        &mut self,
        name: &str,
        ty: Type,
        block: BlockId,
        definition: Definition,
    ) -> Result<VarId, BuildError> {
        if ty.rows.is_some_and(|rows| rows.0 as usize >= self.row_spaces.len()) {
            return Err(BuildError::NoSuch { what: "row space" });
        }
        if let Some(why) = self.too_large(&ty) {
            let message = format!("`{name}` would be {}, which {why}", self.show(&ty));
            return Err(Mismatch { input: None, kind: MismatchKind::Size, message }.into());
        }
        let symbols = self.symbols.len();
        if ty.dims.iter().flat_map(|dim| dim.symbols()).any(|symbol| symbol.0 as usize >= symbols) {
            return Err(BuildError::NoSuch { what: "size symbol" });
        }
        let id = VarId(self.vars.len() as u32);
        if self.names.contains_key(name) {
            return Err(BuildError::NameTaken { name: name.to_string() });
        }
        self.names.insert(name.to_string(), id);
        self.vars.push(Var { name: name.to_string(), ty, block, definition });
        Ok(id)
    }

    /// The error message for a type that needs more memory than there can be. The verifier reports negative sizes.
    fn too_large(&self, ty: &Type) -> Option<String> {
        if ty.rank() > Type::MAX_RANK {
            return Some(format!("has {} dimensions; there are at most {}", ty.rank(), Type::MAX_RANK));
        }
        let is_negative = ty.dims.iter().any(|dim| dim.constant().is_some_and(|size| size < 0));
        (!ty.is_possible() && !is_negative).then(|| "is larger than any memory".to_string())
    }

    /// `name`, or `name` with the first free suffix. The suffixes in use have no gaps if many values share the name, so
    /// doubling and halving finds the end of them.
    pub(crate) fn fresh_name(&self, name: &str) -> String {
        if !self.names.contains_key(name) {
            return name.to_string();
        }
        let mut tried = format!("{name}_");
        let base = tried.len();
        let mut taken = |suffix: u64| {
            tried.truncate(base);
            // Text takes any number.
            let _ = write!(tried, "{suffix}");
            self.names.contains_key(&tried)
        };
        let (mut used, mut free) = (0, 1);
        while taken(free) {
            let Some(next) = free.checked_mul(2) else {
                // Only names chosen to collide get here.
                return self.fresh_name(&format!("{name}_{free}"));
            };
            (used, free) = (free, next);
        }
        while free - used > 1 {
            let middle = used + (free - used) / 2;
            if taken(middle) {
                used = middle;
            } else {
                free = middle;
            }
        }
        format!("{name}_{free}")
    }

    fn check_block(&self, block: BlockId) -> Result<&Block<O>, BuildError> {
        self.blocks.get(block.0 as usize).ok_or(BuildError::NoSuch { what: "block" })
    }

    /// The value, or an error if the program has none with this id.
    pub(crate) fn check_var(&self, var: VarId) -> Result<&Var, BuildError> {
        self.vars.get(var.0 as usize).ok_or(BuildError::NoSuch { what: "value" })
    }
}
