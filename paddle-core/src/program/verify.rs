//! The verifier: what every program has to satisfy, after every pass and before every plan.

use std::collections::BTreeSet;
use std::fmt;

use super::{BlockId, Definition, Located, Operator, Program, VarId};
use crate::ops::Schema;

/// One thing that is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The block it is in.
    pub block: BlockId,
    /// The source place of the operator, where there is one.
    pub place: Option<Located>,
    /// What is wrong.
    pub message: String,
}

/// A program is not well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The pass whose result it is, where that is known.
    pub pass: Option<&'static str>,
    /// Everything that was found.
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

impl Program {
    /// Checks that blocks form a tree owned by operators, that every value is written once and before it is read,
    /// that it is read only where it is visible, and that types are those of the shape rules.
    pub fn verify(&self) -> Result<(), VerifyError> {
        let mut check =
            Check { program: self, written: BTreeSet::new(), entered: BTreeSet::new(), found: Vec::new() };
        check.startup();
        check.block(Program::GLOBAL);
        for block in 0..self.blocks().len() as u32 {
            if !check.entered.contains(&BlockId(block)) && block != 0 {
                check.report(BlockId(block), None, "no operator owns this block".into());
            }
        }
        if check.found.is_empty() { Ok(()) } else { Err(VerifyError { pass: None, violations: check.found }) }
    }
}

struct Check<'a> {
    program: &'a Program,
    written: BTreeSet<VarId>,
    entered: BTreeSet<BlockId>,
    found: Vec<Violation>,
}

impl Check<'_> {
    fn report(&mut self, block: BlockId, operator: Option<&Operator>, message: String) {
        let place = operator.and_then(|operator| operator.site.place).map(|place| self.program.locate(place));
        self.found.push(Violation { block, place, message });
    }

    fn startup(&mut self) {
        for operator in self.program.startup() {
            let parameter = |var: &VarId| self.program.var(*var).definition == Definition::Parameter;
            if !operator.inputs.is_empty()
                || operator.outputs.len() != 1
                || !operator.outputs.iter().all(parameter)
            {
                self.report(
                    Program::GLOBAL,
                    None,
                    format!("`{}` does not initialise a parameter", operator.op.name()),
                );
            }
            self.written.extend(&operator.outputs);
        }
    }

    /// Blocks nest at most as deep as the stack of the verifier and of every pass allows.
    fn block(&mut self, id: BlockId) {
        let mut stack = vec![(id, 0)];
        self.enter(id);
        // An explicit stack: a hostile program may nest deeper than the thread's.
        while let Some((id, at)) = stack.pop() {
            let Some(operator) = self.program.block(id).ops.get(at) else {
                self.results(id);
                continue;
            };
            stack.push((id, at + 1));
            if self.operator(id, operator) {
                for &block in operator.blocks.iter().rev() {
                    if self.enter(block) {
                        stack.push((block, 0));
                    }
                }
            }
        }
    }

    /// Marks the values bound on entry. False if the block was entered before.
    fn enter(&mut self, id: BlockId) -> bool {
        if !self.entered.insert(id) {
            self.report(id, None, "two operators own this block".into());
            return false;
        }
        for &param in &self.program.block(id).params {
            let var = self.program.var(param);
            if var.block != id || !matches!(var.definition, Definition::Input | Definition::BlockParameter) {
                self.report(id, None, format!("`{}` is not a parameter of this block", var.name));
            }
            if !self.written.insert(param) {
                self.report(id, None, format!("`{}` is bound twice", self.program.var(param).name));
            }
        }
        true
    }

    fn results(&mut self, id: BlockId) {
        for &result in &self.program.block(id).results {
            self.read(id, None, result);
        }
    }

    fn read(&mut self, block: BlockId, operator: Option<&Operator>, var: VarId) {
        let value = self.program.var(var);
        if !self.program.is_visible(value.block, block) {
            self.report(block, operator, format!("`{}` is read out of its block", value.name));
        } else if !self.written.contains(&var) {
            self.report(block, operator, format!("`{}` is read before it is written", value.name));
        }
    }

    /// Checks one operator; false if its blocks cannot be entered.
    fn operator(&mut self, block: BlockId, operator: &Operator) -> bool {
        for &input in &operator.inputs {
            self.read(block, Some(operator), input);
        }
        let (effects, schema) = (operator.op.effects(), operator.op.schema());
        if effects.blocks == operator.blocks.is_empty() {
            self.report(
                block,
                Some(operator),
                format!("`{}` has {} blocks", schema.name, operator.blocks.len()),
            );
            return false;
        }
        for &inner in &operator.blocks {
            let known = self.program.blocks().get(inner.0 as usize);
            if known.is_none_or(|inner| inner.parent != Some(block)) {
                self.report(
                    block,
                    Some(operator),
                    format!("block {} is not below block {}", inner.0, block.0),
                );
                return false;
            }
        }
        if !Schema::accepts(schema.outputs, operator.outputs.len()) {
            self.report(
                block,
                Some(operator),
                format!("`{}` has {} outputs", schema.name, operator.outputs.len()),
            );
        }
        match self.program.infer(block, &operator.op, &operator.inputs, &operator.blocks, None) {
            Ok(types) => {
                let declared = operator.outputs.iter().map(|&output| self.program.ty(output));
                if types.len() != operator.outputs.len() || !types.iter().eq(declared) {
                    let message =
                        format!("the outputs of `{}` are not of the types of its shape rule", schema.name);
                    self.report(block, Some(operator), message);
                }
            }
            Err(error) => self.report(block, Some(operator), error.to_string()),
        }
        for &output in &operator.outputs {
            let var = self.program.var(output);
            if var.block != block || var.definition != Definition::Operator {
                self.report(block, Some(operator), format!("`{}` is not a value of this block", var.name));
            }
            if !self.written.insert(output) {
                self.report(
                    block,
                    Some(operator),
                    format!("`{}` is written twice", self.program.var(output).name),
                );
            }
        }
        true
    }
}
