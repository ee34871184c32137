//! Conditions on sizes. The program decides a condition if the polynomials suffice; otherwise it becomes a check, which
//! is decided when the symbols get values.

use std::collections::BTreeSet;

use super::{Answer, BlockId, Dim, DimOverflow, OpInterface, Place, Program, SymbolId};

/// A condition on sizes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// The two sizes are equal.
    Equal(Dim, Dim),
    /// The size is greater than 0.
    Positive(Dim),
}

impl Condition {
    /// The answer from the polynomials alone.
    pub fn answer(&self) -> Answer {
        match self {
            Condition::Equal(a, b) => a.equals(b),
            Condition::Positive(size) => size.is_positive(),
        }
    }

    /// Whether the condition holds for these values. `None` if a symbol has no value or a size overflows.
    pub fn evaluate(&self, values: &dyn Fn(SymbolId) -> Option<i64>) -> Option<bool> {
        Some(match self {
            Condition::Equal(a, b) => a.evaluate(values)? == b.evaluate(values)?,
            Condition::Positive(size) => size.evaluate(values)? > 0,
        })
    }

    /// The condition with each symbol replaced.
    pub fn substitute(&self, with: &dyn Fn(SymbolId) -> Dim) -> Result<Condition, DimOverflow> {
        Ok(match self {
            Condition::Equal(a, b) => Condition::Equal(a.substitute(with)?, b.substitute(with)?),
            Condition::Positive(size) => Condition::Positive(size.substitute(with)?),
        })
    }

    /// A normal form: equal for conditions that differ only in the order of the two sizes.
    fn key(&self) -> Condition {
        match self {
            Condition::Equal(a, b) if a > b => Condition::Equal(b.clone(), a.clone()),
            condition => condition.clone(),
        }
    }

    /// The symbols of the condition, without duplicates, in order.
    pub fn symbols(&self) -> Vec<SymbolId> {
        let mut symbols = match self {
            Condition::Equal(a, b) => [a.symbols(), b.symbols()].concat(),
            Condition::Positive(size) => size.symbols(),
        };
        symbols.sort();
        symbols.dedup();
        symbols
    }
}

/// A condition that depends on the values of symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What has to hold.
    pub condition: Condition,
    /// The error message if the condition fails: found and expected, in the user's names.
    pub message: String,
    /// The place in the user's source that the check comes from.
    pub place: Option<Place>,
}

impl Check {
    /// The message with the values of the symbols: ".., where `T` is 3 and `U` is 4".
    pub fn explain(
        &self,
        name: &dyn Fn(SymbolId) -> String,
        value: &dyn Fn(SymbolId) -> Option<i64>,
    ) -> String {
        let mut text = self.message.clone();
        for (piece, symbol) in self.pieces(name, &|symbol| value(symbol).is_some()) {
            text += &piece;
            text.extend(value(symbol).map(|value| value.to_string()));
        }
        text
    }

    /// The texts between the message and the value of each symbol: ", where `T` is ", " and `U` is ".
    pub fn pieces(
        &self,
        name: &dyn Fn(SymbolId) -> String,
        is_known: &dyn Fn(SymbolId) -> bool,
    ) -> Vec<(String, SymbolId)> {
        const WHERE: &str = ", where ";
        // Binding a part of the symbols has already added their values to the message.
        let first = if self.message.contains(WHERE) { " and " } else { WHERE };
        let links = std::iter::once(first).chain(std::iter::repeat(" and "));
        let symbols = self.condition.symbols().into_iter().filter(|symbol| is_known(*symbol));
        links.zip(symbols).map(|(link, symbol)| (format!("{link}`{}` is ", name(symbol)), symbol)).collect()
    }
}

impl<O: OpInterface> Program<O> {
    /// The conditions that shape rules could not decide; they have to hold once the symbols have values.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Tests a condition that a front end asks for. If it depends on symbols, it becomes a check.
    pub fn test(
        &mut self,
        condition: Condition,
        place: Option<Place>,
        message: impl FnOnce() -> String,
    ) -> Answer {
        let answer = self.answer(&condition);
        if answer == Answer::Depends {
            self.add_check(Check { condition, message: message(), place });
        }
        answer
    }

    /// Whether the size depends on the fed batch, so that it may change from batch to batch.
    pub fn depends_on_feed(&self, size: &Dim) -> bool {
        size.symbols()
            .iter()
            .any(|symbol| self.symbols.get(symbol.0 as usize).is_none_or(|known| !known.outside))
    }

    /// Whether two sizes are the same.
    pub fn compare(&self, a: &Dim, b: &Dim) -> Answer {
        self.answer(&Condition::Equal(a.clone(), b.clone()))
    }

    /// The answer for a condition. The number of rows of a row space never equals another size.
    pub(crate) fn answer(&self, condition: &Condition) -> Answer {
        let counts_rows = |symbol: &SymbolId| self.row_spaces.iter().any(|rows| rows.size == *symbol);
        match (condition.answer(), condition) {
            (Answer::Depends, Condition::Equal(..)) if condition.symbols().iter().any(counts_rows) => {
                Answer::Fails
            }
            (answer, _) => answer,
        }
    }

    /// Adds a check, unless the program has one with the same condition.
    pub(crate) fn add_check(&mut self, check: Check) {
        let key = check.condition.key();
        if !self.checks.iter().any(|known| known.condition.key() == key) {
            self.checks.push(check);
        }
    }

    /// Runs the shape rules of a well-formed program again, and adds the checks that they leave.
    pub(crate) fn derive_checks(&mut self) {
        let mut known: BTreeSet<Condition> = self.checks.iter().map(|check| check.condition.key()).collect();
        let mut found = Vec::new();
        let blocks = (0..self.blocks.len() as u32).map(BlockId);
        let operators = blocks.flat_map(|id| self.block(id).ops.iter().map(move |operator| (id, operator)));
        let startup = self.startup.iter().map(|operator| (BlockId::GLOBAL, operator));
        for (block, operator) in startup.chain(operators) {
            let inferred = self.infer(block, &operator.op, &operator.inputs, &operator.blocks, None);
            for (condition, message) in inferred.map(|inferred| inferred.checks).unwrap_or_default() {
                if known.insert(condition.key()) {
                    found.push(Check { condition, message, place: operator.site.place });
                }
            }
        }
        self.checks.append(&mut found);
    }
}
