//! What a program asks of its operators. Which operators there are is not known here.

use std::fmt;

use super::{Dim, DimOverflow, Infer, Mismatch, Operator, Program, RowsId, Schema, Slot, SymbolId, Type};

/// What an operator does, as far as a program has to know.
pub trait OpInterface: Clone + PartialEq + fmt::Debug {
    /// Name, slots, effects.
    fn schema(&self) -> &'static Schema;

    /// What it is called in messages.
    fn called(&self) -> &str;

    /// How the language writes it where it initialises a parameter: `xavier()`.
    fn as_initializer(&self) -> String;

    /// The shape rule: the types of the outputs from those of the inputs, or what does not fit.
    fn infer(&self, cx: &Infer<'_, Self>) -> Result<Vec<Type>, Mismatch>;

    /// What is true of input `k`.
    fn input(&self, k: usize) -> Slot;

    /// The tokens whose sequences it makes: row spaces that are there when it has run.
    fn makes(&self, program: &Program<Self>, operator: &Operator<Self>) -> Vec<RowsId>;

    /// Whether its blocks may be the gradients of those of such an operator, where that is not itself.
    fn differentiates(&self, op: &Self) -> bool;

    /// The row spaces that its attributes name.
    fn row_spaces(&self) -> Vec<RowsId>;

    /// The symbols of sizes that its attributes mention.
    fn symbols(&self) -> Vec<SymbolId>;

    /// The same operator with each symbol of its attributes' sizes replaced.
    fn substitute(&self, with: &dyn Fn(SymbolId) -> Dim) -> Result<Self, DimOverflow>;
}
