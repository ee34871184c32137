//! The verifier: checks that a program is well-formed. It runs after every pass and before every plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::build::Inferred;
use super::{
    BlockId, Definition, Located, OpInterface, Operator, Program, RowOrigin, RowsId, Schema, SymbolId, VarId,
};

/// One way in which a program is not well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The block with the violation.
    pub block: BlockId,
    /// The operator's index in the block; for the block's results, the number of its operators.
    pub operator: Option<usize>,
    /// The source place of the operator, where there is one.
    pub place: Option<Located>,
    /// What is wrong.
    pub message: String,
}

/// A program is not well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The pass that made the program, if it is known.
    pub pass: Option<&'static str>,
    /// The violations that were found, at most 20.
    pub violations: Vec<Violation>,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pass {
            Some(pass) => write!(f, "pass `{pass}` left a program that is not well-formed")?,
            None => f.write_str("the program is not well-formed")?,
        }
        for violation in &self.violations {
            write!(f, "\n  block {}", violation.block.0)?;
            if let Some(place) = &violation.place {
                write!(f, ", {place}")?;
            }
            write!(f, ": {}", violation.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyError {}

/// The verifier stops after so many violations.
const MAX_VIOLATIONS: usize = 20;

impl<O: OpInterface> Program<O> {
    /// Checks that a program is well-formed:
    ///
    /// * blocks form a tree, and each nested block is owned by an operator;
    /// * every value is written once, before it is read, and is read only where it is visible;
    /// * types are those of the shape rules, and name only row spaces that exist at their place;
    /// * gradient blocks differentiate the blocks of an operator that has run.
    #[inline(never)]
    pub fn verify(&self) -> Result<(), VerifyError> {
        let spaces = (0..).map(RowsId).zip(self.row_spaces());
        let mut verifier = Check {
            program: self,
            rows_of_sizes: spaces.map(|(rows, space)| (space.size, rows)).collect(),
            made_later: BTreeSet::new(),
            made: BTreeMap::new(),
            written: BTreeSet::new(),
            owners: BTreeMap::new(),
            chosen: BTreeSet::new(),
            at: (BlockId::GLOBAL, None),
            found: Vec::new(),
        };
        verifier.check_row_spaces();
        if !verifier.found.is_empty() {
            return Err(VerifyError { pass: None, violations: verifier.found });
        }
        let operators = self.blocks().iter().flat_map(|block| &block.ops);
        verifier.made_later = operators.flat_map(|operator| operator.op.makes(self, operator)).collect();
        verifier.check_size_names();
        verifier.check_startup();
        verifier.check_block(BlockId::GLOBAL);
        for block in (1..self.blocks().len() as u32).map(BlockId) {
            if !verifier.owners.contains_key(&block) {
                verifier.at = (block, None);
                verifier.report("no operator owns this block");
            }
        }
        verifier.check_gradients();
        verifier.check_taps();
        if verifier.found.is_empty() {
            Ok(())
        } else {
            Err(VerifyError { pass: None, violations: verifier.found })
        }
    }
}

struct Check<'a, O> {
    program: &'a Program<O>,
    /// The row space of each size that is a number of rows.
    rows_of_sizes: BTreeMap<SymbolId, RowsId>,
    /// Row spaces of tokens that operators make. Other tokens are fed.
    made_later: BTreeSet<RowsId>,
    /// Those of `made_later` whose operator has been visited, each with the block of that operator.
    made: BTreeMap<RowsId, BlockId>,
    /// Values that have been written so far.
    written: BTreeSet<VarId>,
    /// The operator that owns each block that has been visited.
    owners: BTreeMap<BlockId, &'a Operator<O>>,
    /// Row spaces that visited blocks have chosen.
    chosen: BTreeSet<RowsId>,
    /// The block and the operator that are being checked.
    at: (BlockId, Option<usize>),
    found: Vec<Violation>,
}

impl<'a, O: OpInterface> Check<'a, O> {
    fn report(&mut self, message: impl Into<String>) {
        if self.found.len() == MAX_VIOLATIONS {
            return;
        }
        let (block, operator) = self.at;
        let site =
            operator.and_then(|at| self.program.block(block).ops.get(at)).map(|operator| operator.site);
        let place = site.and_then(|site| site.place).map(|place| self.program.locate(place));
        self.found.push(Violation { block, operator, place, message: message.into() });
    }

    /// Checks that each row space has a lower-numbered parent of the right kind.
    fn check_row_spaces(&mut self) {
        let program = self.program;
        for (rows, space) in (0..).map(RowsId).zip(program.row_spaces()) {
            let before = |other: Option<RowsId>| other.filter(|&other| other < rows);
            let parent = before(space.parent);
            let sequences = |rows| program.rows_of_whole_sequences(rows);
            let fits = match space.origin {
                RowOrigin::Root | RowOrigin::Fixed(_) => space.parent.is_none(),
                RowOrigin::Chosen | RowOrigin::Tokens => parent.is_some(),
                RowOrigin::Steps | RowOrigin::Rounds => parent.and_then(sequences).is_some(),
                RowOrigin::Active { steps } => {
                    let steps = before(Some(steps)).map(|steps| program.row_space(steps));
                    let is_order = |origin| matches!(origin, RowOrigin::Steps | RowOrigin::Rounds);
                    let tokens = steps.filter(|steps| is_order(steps.origin)).and_then(|steps| steps.parent);
                    parent.is_some() && tokens.and_then(sequences) == parent
                }
                RowOrigin::Part { of } => {
                    let whole = before(Some(of)).and_then(sequences);
                    let of_parent =
                        parent.map(|parent| [program.source_of(parent), program.steps_of_loop(parent)]);
                    whole.is_some() && of_parent.is_some_and(|sources| sources.contains(&whole))
                }
            };
            if !fits {
                self.report(format!("the rows of `{}` are not rows of what they hang on", space.name));
            }
        }
    }

    fn check_size_names(&mut self) {
        let mut names = BTreeSet::new();
        for symbol in self.program.symbols() {
            if !names.insert(&symbol.name) {
                self.report(format!("two sizes are named `{}`", symbol.name));
            }
        }
    }

    fn check_startup(&mut self) {
        for operator in self.program.startup() {
            let parameter = |var: &VarId| {
                matches!(self.program.var(*var).definition, Definition::Parameter | Definition::State)
            };
            let fits = operator.inputs.is_empty()
                && operator.outputs.len() == 1
                && operator.outputs.iter().all(parameter);
            if fits {
                self.write(BlockId::GLOBAL, operator.outputs[0]);
            } else {
                self.report(format!(
                    "`{}` does not initialise a parameter or a state",
                    operator.op.schema().name
                ));
            }
        }
    }

    /// Checks a block and its nested blocks. They nest at most [`Program::MAX_DEPTH`] deep.
    fn check_block(&mut self, id: BlockId) {
        let block = self.program.block(id);
        let bound = if id == BlockId::GLOBAL { Definition::Input } else { Definition::BlockParameter };
        for &param in &block.params {
            self.at = (id, None);
            let var = self.program.var(param);
            if var.block != id || var.definition != bound {
                self.report(format!("`{}` is not a parameter of this block", var.name));
            }
            self.write(id, param);
        }
        for (at, operator) in block.ops.iter().enumerate() {
            if self.found.len() == MAX_VIOLATIONS {
                return;
            }
            self.at = (id, Some(at));
            self.operator(id, operator);
        }
        self.at = (id, Some(block.ops.len()));
        for &result in &block.results {
            self.read(id, result);
        }
    }

    fn read(&mut self, block: BlockId, var: VarId) {
        let value = self.program.var(var);
        if !self.program.is_visible(value.block, block) {
            self.report(format!("`{}` is read out of its block", value.name));
        } else if !self.written.contains(&var) {
            self.report(format!("`{}` is read before it is written", value.name));
        }
    }

    fn write(&mut self, block: BlockId, var: VarId) {
        let value = self.program.var(var);
        if !self.written.insert(var) {
            self.report(format!("`{}` is written twice", value.name));
        }
        if value.ty.dims.iter().any(|dim| dim.constant().is_some_and(|size| size < 0)) {
            self.report(format!("`{}` is {}: a size is negative", value.name, self.program.show(&value.ty)));
        }
        let sizes = value.ty.dims.iter().flat_map(|dim| dim.symbols());
        let rows: Vec<RowsId> =
            sizes.filter_map(|size| self.rows_of_sizes.get(&size).copied()).chain(value.ty.rows).collect();
        for rows in rows {
            if !self.rows_exist(block, rows) {
                self.report(format!(
                    "`{}` is {}, but there are no rows of `{}` here",
                    value.name,
                    self.program.show(&value.ty),
                    self.program.row_space(rows).name
                ));
            }
        }
    }

    /// Whether a row space exists in a block: the block or one around it has chosen it, or the operator that makes it
    /// has run.
    fn rows_exist(&self, block: BlockId, rows: RowsId) -> bool {
        let space = self.program.row_space(rows);
        let parent = space.parent.is_none_or(|parent| self.rows_exist(block, parent));
        parent
            && match space.origin {
                RowOrigin::Root | RowOrigin::Fixed(_) | RowOrigin::Steps | RowOrigin::Rounds => true,
                RowOrigin::Chosen | RowOrigin::Active { .. } => self.runs_on(block, rows),
                RowOrigin::Part { of } => self.rows_exist(block, of),
                RowOrigin::Tokens if self.made_later.contains(&rows) => {
                    self.made.get(&rows).is_some_and(|&maker| self.program.is_visible(maker, block))
                }
                RowOrigin::Tokens => true,
            }
    }

    /// Whether a block, or one around it, runs on these rows.
    fn runs_on(&self, block: BlockId, rows: RowsId) -> bool {
        let mut at = Some(block);
        while let Some(id) = at {
            let block = self.program.block(id);
            if block.rows == Some(rows) {
                return true;
            }
            at = block.parent;
        }
        false
    }

    fn operator(&mut self, block: BlockId, operator: &'a Operator<O>) {
        let here = self.at;
        for &input in &operator.inputs {
            self.read(block, input);
        }
        self.check_changes(operator);
        let schema = operator.op.schema();
        if schema.effects.blocks == operator.blocks.is_empty() {
            self.report(format!("`{}` has {} blocks", schema.name, operator.blocks.len()));
        }
        self.check_forward_blocks(block, operator);
        for &inner in &operator.blocks {
            if self.program.block(inner).parent != Some(block) {
                self.report(format!("block {} is not below block {}", inner.0, block.0));
            } else if self.owners.insert(inner, operator).is_some() {
                self.report(format!("block {} is owned twice", inner.0));
            } else {
                self.check_rows_of_block(inner);
                self.check_block(inner);
                self.at = here;
            }
        }
        for rows in operator.op.makes(self.program, operator) {
            if self.made.insert(rows, block).is_some() {
                self.report(format!("the rows of `{}` are made twice", self.program.row_space(rows).name));
            }
        }
        self.outputs(block, operator, schema);
    }

    /// Checks that only parameters, states and inputs are changed in place, each by one operand.
    fn check_changes(&mut self, operator: &Operator<O>) {
        for changed in operator.changed() {
            let var = self.program.var(changed);
            let lasts =
                matches!(var.definition, Definition::Parameter | Definition::State | Definition::Input);
            let uses = operator.inputs.iter().filter(|&&input| input == changed).count();
            if !lasts || uses != 1 {
                let name = operator.op.schema().name;
                self.report(format!(
                    "`{name}` cannot change `{}`: it changes parameters, apart from what it reads",
                    var.name
                ));
            }
        }
    }

    fn outputs(&mut self, block: BlockId, operator: &Operator<O>, schema: &Schema) {
        match self.program.infer(block, &operator.op, &operator.inputs, &operator.blocks, None) {
            Ok(Inferred { types, .. }) if types.len() != operator.outputs.len() => {
                let (found, expected) = (operator.outputs.len(), types.len());
                self.report(format!("`{}` gives {expected} values, not {found}", schema.name));
            }
            Ok(Inferred { types, .. }) => {
                for (&output, ty) in operator.outputs.iter().zip(&types) {
                    let declared = self.program.var(output);
                    if declared.ty != *ty {
                        let (name, found) = (&declared.name, self.program.show(&declared.ty));
                        let gives = self.program.show(ty);
                        self.report(format!("`{name}` is {found} here, but `{}` gives {gives}", schema.name));
                    }
                }
            }
            // The check of visibility has already reported this.
            Err(super::BuildError::NotVisible { .. }) => {}
            Err(error) => self.report(error.to_string()),
        }
        for &output in &operator.outputs {
            let var = self.program.var(output);
            if var.block != block || var.definition != Definition::Operator {
                self.report(format!("`{}` is not a value of this block", var.name));
            }
            self.write(block, output);
        }
    }

    /// Checks the row space of a block: it is chosen for this block alone, or it is that of the forward block.
    fn check_rows_of_block(&mut self, id: BlockId) {
        let block = self.program.block(id);
        if let Some(forward) = block.forward {
            if block.rows != self.program.block(forward).rows {
                self.report(format!("blocks {} and {} are not on the same rows", id.0, forward.0));
            }
        } else if let Some(rows) = block.rows {
            let space = self.program.row_space(rows);
            let is_chosen = matches!(space.origin, RowOrigin::Chosen | RowOrigin::Active { .. });
            if !is_chosen || !self.chosen.insert(rows) {
                self.report(format!("the rows of `{}` are not chosen for block {}", space.name, id.0));
            }
        }
    }

    /// Checks the gradient blocks of an operator. Their forward blocks are the last blocks of one operator; that
    /// operator stands where the gradient blocks can see the same surroundings, and it has run.
    fn check_forward_blocks(&mut self, block: BlockId, operator: &Operator<O>) {
        let forwards: Vec<BlockId> =
            operator.blocks.iter().filter_map(|&inner| self.program.block(inner).forward).collect();
        let Some(&first) = forwards.first() else {
            return;
        };
        let around = self.program.block(first).parent;
        let seen = around == Some(block) || around == self.program.block(block).forward;
        let fits = self.owners.get(&first).is_some_and(|forward| {
            let name = operator.op.schema().name;
            let same = forward.op.schema().name == name && forward.inputs == operator.inputs;
            (same || operator.op.differentiates(&forward.op))
                && forwards.len() == operator.blocks.len()
                && forward.blocks.ends_with(&forwards)
        });
        if !seen || !fits {
            self.report(format!(
                "`{}` does not differentiate the operator of block {}",
                operator.op.schema().name,
                first.0
            ));
        }
    }

    fn check_taps(&mut self) {
        self.at = (BlockId::GLOBAL, None);
        for tap in self.program.taps() {
            if !self.written.contains(&tap.var) {
                self.report(format!("the tap `{}` is of a value that is never written", tap.name));
            }
        }
    }

    fn check_gradients(&mut self) {
        self.at = (BlockId::GLOBAL, None);
        for pair in self.program.gradients() {
            let (parameter, gradient) = (self.program.var(pair.parameter), self.program.var(pair.gradient));
            let fits = parameter.definition == Definition::Parameter
                && gradient.block == BlockId::GLOBAL
                && gradient.ty == parameter.ty;
            if !fits {
                self.report(format!("`{}` is not a gradient of `{}`", gradient.name, parameter.name));
            }
        }
    }
}
