//! Tests of sizes, which have three answers: what the sizes of a program decide now, and what is left to be checked
//! when its symbols get their values.

use std::collections::BTreeSet;

use super::{Answer, BlockId, Dim, DimOverflow, OpInterface, Place, Program, SymbolId};

/// What has to hold of sizes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// They are the same.
    Equal(Dim, Dim),
    /// It is above 0.
    Positive(Dim),
}

impl Condition {
    /// Whether it holds, by the polynomials alone.
    pub fn answer(&self) -> Answer {
        match self {
            Condition::Equal(a, b) => a.equals(b),
            Condition::Positive(size) => size.is_positive(),
        }
    }

    /// Whether it holds for these values; `None` where a symbol has none, or a size overflows.
    pub fn evaluate(&self, values: &dyn Fn(SymbolId) -> Option<i64>) -> Option<bool> {
        Some(match self {
            Condition::Equal(a, b) => a.evaluate(values)? == b.evaluate(values)?,
            Condition::Positive(size) => size.evaluate(values)? > 0,
        })
    }

    /// The same of sizes whose symbols are replaced.
    pub fn substitute(&self, with: &dyn Fn(SymbolId) -> Dim) -> Result<Condition, DimOverflow> {
        Ok(match self {
            Condition::Equal(a, b) => Condition::Equal(a.substitute(with)?, b.substitute(with)?),
            Condition::Positive(size) => Condition::Positive(size.substitute(with)?),
        })
    }

    /// The same for two that say the same in another order.
    fn key(&self) -> Condition {
        match self {
            Condition::Equal(a, b) if a > b => Condition::Equal(b.clone(), a.clone()),
            condition => condition.clone(),
        }
    }

    /// Every symbol in it, each once, in order.
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

/// A condition that depends on values which the program does not know yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What has to hold.
    pub condition: Condition,
    /// What is wrong where it does not: found and expected, in the user's names.
    pub message: String,
    /// Where in the user's source it comes from.
    pub place: Option<Place>,
}

impl Check {
    /// The message with the values of the sizes that it depends on: ".., where `T` is 3 and `U` is 4".
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

    /// What stands behind the message, before the value of each symbol: ", where `T` is ", " and `U` is ".
    pub fn pieces(
        &self,
        name: &dyn Fn(SymbolId) -> String,
        is_known: &dyn Fn(SymbolId) -> bool,
    ) -> Vec<(String, SymbolId)> {
        const WHERE: &str = ", where ";
        // A check of a program that has been bound tells some of them already.
        let first = if self.message.contains(WHERE) { " and " } else { WHERE };
        let links = std::iter::once(first).chain(std::iter::repeat(" and "));
        let symbols = self.condition.symbols().into_iter().filter(|symbol| is_known(*symbol));
        links.zip(symbols).map(|(link, symbol)| (format!("{link}`{}` is ", name(symbol)), symbol)).collect()
    }
}

impl<O: OpInterface> Program<O> {
    /// What has to hold when the symbols have their values. Shape rules leave it when they cannot decide.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Tests a condition of a front end's own. One that depends becomes a check.
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

    /// Whether what is fed has a part in the size: it changes from batch to batch.
    pub fn depends_on_feed(&self, size: &Dim) -> bool {
        size.symbols()
            .iter()
            .any(|symbol| self.symbols.get(symbol.0 as usize).is_none_or(|known| !known.outside))
    }

    /// Whether two sizes are the same.
    pub fn compare(&self, a: &Dim, b: &Dim) -> Answer {
        self.answer(&Condition::Equal(a.clone(), b.clone()))
    }

    /// Whether a condition holds. The number of rows of a row space is equal to nothing else, whatever it is.
    pub(crate) fn answer(&self, condition: &Condition) -> Answer {
        let counts_rows = |symbol: &SymbolId| self.row_spaces.iter().any(|rows| rows.size == *symbol);
        match (condition.answer(), condition) {
            (Answer::Depends, Condition::Equal(..)) if condition.symbols().iter().any(counts_rows) => {
                Answer::Fails
            }
            (answer, _) => answer,
        }
    }

    /// Adds a check, unless its condition is checked already.
    pub(crate) fn add_check(&mut self, check: Check) {
        let key = check.condition.key();
        if !self.checks.iter().any(|known| known.condition.key() == key) {
            self.checks.push(check);
        }
    }

    /// Adds the checks that the shape rules of all operators leave, of a program that is well-formed.
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
