//! Binding of outside symbols: substitutes values for them and decides the checks that mention them.

use std::collections::BTreeSet;
use std::fmt;

use super::{
    Answer, BlockId, BuildError, Check, Dim, DimOverflow, Located, OpInterface, Operator, Program, SymbolId,
};

/// Why sizes cannot be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindError {
    /// The symbol is not an outside symbol, or the value is not a size of it.
    NotOutside {
        /// The symbol's name, or its number if it has no name.
        symbol: String,
    },
    /// A constant of the code around the network has no value.
    Unbound {
        /// The name of the constant.
        constant: String,
    },
    /// A check of the program does not hold for these values.
    Check {
        /// The place in the user's source that the check comes from.
        place: Option<Located>,
        /// What was found and what was expected, with the values.
        message: String,
    },
    /// A size leaves the range of 64-bit integers.
    Overflow(DimOverflow),
    /// An operator no longer fits its inputs.
    Build(BuildError),
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::NotOutside { symbol } => {
                write!(f, "`{symbol}` is not a size of this program that is given from outside")
            }
            BindError::Unbound { constant } => {
                write!(f, "`{constant}` stands around the network, and has no value here")
            }
            BindError::Check { place: Some(place), message } => write!(f, "{place}: {message}"),
            BindError::Check { place: None, message } => f.write_str(message),
            BindError::Overflow(error) => error.fmt(f),
            BindError::Build(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BindError {}

impl From<DimOverflow> for BindError {
    fn from(error: DimOverflow) -> Self {
        BindError::Overflow(error)
    }
}

impl From<BuildError> for BindError {
    fn from(error: BuildError) -> Self {
        BindError::Build(error)
    }
}

impl<O: OpInterface> Program<O> {
    /// The symbols that [`Program::bind`] replaces, in the order of their ids.
    pub fn outside_symbols(&self) -> impl Iterator<Item = SymbolId> + '_ {
        let symbols = self.symbols.iter().zip(0..);
        symbols.filter(|(symbol, _)| symbol.outside).map(|(_, id)| SymbolId(id))
    }

    /// The symbols that types, attributes and checks mention.
    pub fn used_symbols(&self) -> BTreeSet<SymbolId> {
        let in_types = self.vars.iter().flat_map(|var| &var.ty.dims).flat_map(Dim::symbols);
        let operators = self.blocks.iter().flat_map(|block| &block.ops).chain(&self.startup);
        let in_attributes = operators.flat_map(|operator| operator.op.symbols());
        let in_checks = self.checks.iter().flat_map(|check| check.condition.symbols());
        in_types.chain(in_attributes).chain(in_checks).collect()
    }

    /// The same program with these values in place of outside symbols. Bound symbols are removed, so the ids of later
    /// symbols change.
    ///
    /// Errors if a check does not hold for the values, with the message of the check.
    #[inline(never)]
    pub fn bind(&self, values: &[(SymbolId, i64)]) -> Result<Self, BindError> {
        for (at, (symbol, _)) in values.iter().enumerate() {
            let known = self.symbols.get(symbol.0 as usize);
            if !known.is_some_and(|known| known.outside)
                || values[..at].iter().any(|(other, _)| other == symbol)
            {
                let symbol = known.map_or_else(|| symbol.0.to_string(), |known| known.name.clone());
                return Err(BindError::NotOutside { symbol });
            }
        }
        let value = |symbol| values.iter().find(|(bound, _)| *bound == symbol).map(|(_, value)| *value);
        let renumbered = |symbol: SymbolId| {
            let gone = values.iter().filter(|(bound, _)| *bound < symbol).count();
            SymbolId(symbol.0 - gone as u32)
        };
        let with = |symbol| value(symbol).map_or_else(|| Dim::symbol(renumbered(symbol)), Dim::from);
        let mut bound = self.clone();
        bound.checks = self.decide(&value, &with)?;
        let mut kept = (0..).map(|id| value(SymbolId(id)).is_none());
        bound.symbols.retain(|_| kept.next() == Some(true));
        for rows in &mut bound.row_spaces {
            rows.size = renumbered(rows.size);
        }
        for var in &mut bound.vars {
            var.ty = var.ty.substitute(&with)?;
        }
        let operators = bound.blocks.iter_mut().flat_map(|block| &mut block.ops);
        for operator in bound.startup.iter_mut().chain(operators) {
            operator.op = operator.op.substitute(&with)?;
        }
        for at in 0..bound.startup.len() {
            bound.infer_again(BlockId::GLOBAL, &bound.startup[at].clone())?;
        }
        bound.infer_block_again(BlockId::GLOBAL)?;
        Ok(bound)
    }

    /// Substitutes the values into the checks. Checks that hold go; the result has those that still depend on symbols.
    fn decide(
        &self,
        value: &dyn Fn(SymbolId) -> Option<i64>,
        with: &dyn Fn(SymbolId) -> Dim,
    ) -> Result<Vec<Check>, BindError> {
        let mut open = Vec::new();
        for check in &self.checks {
            let known = |symbol| value(symbol).map_or_else(|| Dim::symbol(symbol), Dim::from);
            let name = |symbol: SymbolId| self.symbols[symbol.0 as usize].name.clone();
            let message = check.explain(&name, value);
            match self.answer(&check.condition.substitute(&known)?) {
                Answer::Holds => {}
                Answer::Fails => {
                    let place = check.place.map(|place| self.locate(place));
                    return Err(BindError::Check { place, message });
                }
                Answer::Depends => {
                    open.push(Check {
                        condition: check.condition.substitute(with)?,
                        message,
                        place: check.place,
                    });
                }
            }
        }
        Ok(open)
    }

    /// Infers the types of a block and of its nested blocks again from the present types of its inputs: a size that has
    /// become 1 broadcasts.
    #[inline(never)]
    pub(crate) fn infer_block_again(&mut self, id: BlockId) -> Result<(), BuildError> {
        for at in 0..self.block(id).ops.len() {
            let operator = self.block(id).ops[at].clone();
            for &inner in &operator.blocks {
                let params = self.block(inner).params.clone();
                for (param, &input) in params.into_iter().zip(&operator.inputs) {
                    // A loop's body has rows of its own, so only the sizes are taken over.
                    self.vars[param.0 as usize].ty.dims = self.ty(input).dims.clone();
                }
                self.infer_block_again(inner)?;
            }
            self.infer_again(id, &operator)?;
        }
        Ok(())
    }

    fn infer_again(&mut self, block: BlockId, operator: &Operator<O>) -> Result<(), BuildError> {
        let inferred = self.infer(block, &operator.op, &operator.inputs, &operator.blocks, None)?;
        for (&output, ty) in operator.outputs.iter().zip(inferred.types) {
            self.vars[output.0 as usize].ty = ty;
        }
        Ok(())
    }
}
