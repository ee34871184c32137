//! The interface between a program and its operators. A program does not know which operators exist.

use std::fmt;

use super::{Dim, DimOverflow, Infer, Mismatch, Operator, Program, RowsId, Schema, Slot, SymbolId, Type};

/// An operator, as a program sees it.
pub trait OpInterface: Clone + PartialEq + fmt::Debug {
    /// Name, slots, effects.
    fn schema(&self) -> &'static Schema;

    /// The operator's name in error messages.
    fn called(&self) -> &str;

    /// The operator as the initialiser of a parameter, in the syntax of the language: `xavier()`.
    fn as_initializer(&self) -> String;

    /// The shape rule: computes the types of the outputs from those of the inputs, or says what does not fit.
    fn infer(&self, cx: &Infer<'_, Self>) -> Result<Vec<Type>, Mismatch>;

    /// The slot of input `k`.
    fn input(&self, k: usize) -> Slot;

    /// The row spaces of the sequences that the operator makes. They exist only after it has run.
    fn makes(&self, program: &Program<Self>, operator: &Operator<Self>) -> Vec<RowsId>;

    /// Whether gradient blocks of this operator may differentiate the blocks of `op`, an operator of another kind.
    fn differentiates(&self, op: &Self) -> bool;

    /// The row spaces that its attributes name.
    fn row_spaces(&self) -> Vec<RowsId>;

    /// The symbols of sizes that its attributes mention.
    fn symbols(&self) -> Vec<SymbolId>;

    /// The operator with each symbol of its attributes replaced.
    fn substitute(&self, with: &dyn Fn(SymbolId) -> Dim) -> Result<Self, DimOverflow>;
}
