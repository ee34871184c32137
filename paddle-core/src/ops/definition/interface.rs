//! The answers of operators to programs, which know them as [`OpInterface`] only.

use std::collections::BTreeMap;

use super::{Attribute, Contraction, Form};
use crate::ops::{Effects, Infer, Mismatch, Op, Operator, ParameterUse, Program, Schema, Slot, initializers};
use crate::program::{Dim, DimOverflow, OpInterface, RowsId, SymbolId, Type};

impl Op {
    /// The operator's name, slots and effects.
    pub fn schema(&self) -> &'static Schema {
        self.operation().schema()
    }

    /// The operator's name.
    pub fn name(&self) -> &'static str {
        self.schema().name
    }

    /// The operator's effects.
    pub fn effects(&self) -> Effects {
        self.schema().effects
    }

    /// The operator with other row spaces in its attributes; those that `to` lacks stay.
    pub(crate) fn with_rows(&self, to: &BTreeMap<RowsId, RowsId>) -> Op {
        if !self.row_spaces().iter().any(|rows| to.contains_key(rows)) {
            return self.clone();
        }
        let attributes = self.attributes().into_iter();
        let changed = attributes.map(|(name, attribute)| (name.to_string(), attribute.with_rows(to)));
        // The names and kinds of its own attributes always fit.
        self.with_attributes(changed.collect()).unwrap_or_else(|_| self.clone())
    }
}

impl OpInterface for Op {
    fn schema(&self) -> &'static Schema {
        self.operation().schema()
    }

    fn called(&self) -> &str {
        self.operation().called()
    }

    fn as_initializer(&self) -> String {
        initializers::show(self)
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        self.operation().infer(cx)
    }

    fn input(&self, k: usize) -> Slot {
        self.operation().input(k)
    }

    fn makes(&self, program: &Program, operator: &Operator) -> Vec<RowsId> {
        self.operation().makes(program, operator)
    }

    fn differentiates(&self, op: &Op) -> bool {
        self.operation().control().is_some_and(|control| control.differentiates(op))
    }

    fn row_spaces(&self) -> Vec<RowsId> {
        self.attributes().iter().flat_map(|(_, attribute)| attribute.rows()).collect()
    }

    fn symbols(&self) -> Vec<SymbolId> {
        self.attributes().iter().flat_map(|(_, attribute)| attribute.symbols()).collect()
    }

    fn substitute(&self, with: &dyn Fn(SymbolId) -> Dim) -> Result<Op, DimOverflow> {
        let mut attributes: Vec<(String, Attribute)> = Vec::new();
        let mut has_sizes = false;
        for (name, attribute) in self.attributes() {
            let replaced = attribute.substitute(with)?;
            has_sizes |= replaced.is_some();
            attributes.push((name.to_string(), replaced.unwrap_or(attribute)));
        }
        match has_sizes {
            // The names and kinds of its own attributes always fit.
            true => Ok(self.with_attributes(attributes).unwrap_or_else(|_| self.clone())),
            false => Ok(self.clone()),
        }
    }
}

impl From<Op> for ParameterUse {
    fn from(op: Op) -> ParameterUse {
        ParameterUse::of(op)
    }
}

impl Operator {
    /// The kind of computation, if passes treat it specially.
    pub fn form(&self, program: &Program) -> Option<Form> {
        self.op.operation().form(program, self)
    }

    /// The two inputs and the axes of the sum of products, if the first output is nothing but that.
    pub fn contraction(&self, program: &Program) -> Option<Contraction> {
        match self.form(program) {
            Some(Form::Contraction(contraction)) => Some(contraction),
            _ => None,
        }
    }
}
