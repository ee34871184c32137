//! Equivalence classes of the sizes that the checks of a program make equal. Each class is one size of the plan, so
//! that kernels see equal sizes as one.

use std::collections::BTreeMap;

use crate::ops::Program;
use crate::program::{Condition, Dim, SymbolId};

/// The map from each size to the representative of its equivalence class.
pub(in crate::plan) struct Equalities {
    symbols: BTreeMap<SymbolId, Dim>,
    /// The sizes that are not symbols. The representatives of symbols are substituted in them.
    sizes: BTreeMap<Dim, Dim>,
}

impl Equalities {
    pub(super) fn of(program: &Program) -> Self {
        let mut equal = Equalities { symbols: BTreeMap::new(), sizes: BTreeMap::new() };
        for check in program.checks() {
            if let Condition::Equal(a, b) = &check.condition {
                equal.add(equal.size(a), equal.size(b));
            }
        }
        equal
    }

    /// The representative of a size.
    pub(in crate::plan) fn size(&self, size: &Dim) -> Dim {
        let own = |symbol| self.symbols.get(&symbol).cloned().unwrap_or_else(|| Dim::symbol(symbol));
        // A size whose substitution overflows stays as it is.
        let size = size.substitute(&own).unwrap_or_else(|_| size.clone());
        self.sizes.get(&size).cloned().unwrap_or(size)
    }

    /// Merges the classes of two sizes. If one of them is a number, it represents the class.
    fn add(&mut self, a: Dim, b: Dim) {
        if a == b {
            return;
        }
        let free =
            |symbol: Option<SymbolId>, other: &Dim| symbol.filter(|symbol| !other.symbols().contains(symbol));
        let (symbol, stands) = match (free(a.as_symbol(), &b), free(b.as_symbol(), &a)) {
            (Some(symbol), _) => (Some(symbol), b.clone()),
            (None, Some(symbol)) => (Some(symbol), a.clone()),
            (None, None) => (None, if a.constant().is_some() { a.clone() } else { b.clone() }),
        };
        let replaced = |size: &Dim| match symbol {
            Some(symbol) => {
                let with = |other| if other == symbol { stands.clone() } else { Dim::symbol(other) };
                size.substitute(&with).unwrap_or_else(|_| size.clone())
            }
            None if *size == a || *size == b => stands.clone(),
            None => size.clone(),
        };
        self.symbols.values_mut().for_each(|size| *size = replaced(size));
        let sizes = std::mem::take(&mut self.sizes);
        self.sizes = sizes.into_iter().map(|(from, to)| (replaced(&from), replaced(&to))).collect();
        match symbol {
            Some(symbol) => drop(self.symbols.insert(symbol, stands)),
            None => self.sizes.extend([(a, stands.clone()), (b, stands)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    /// The representative of `size` under the checks.
    fn sizes(checks: &str, size: &str) -> String {
        let text =
            format!("program {{ size T size U size V {checks} block 0 (x: f32[1, {size}]) {{ return x }} }}");
        let program = text::parse(&text).unwrap();
        let size = Equalities::of(&program).size(&program.ty(program.inputs()[0]).dims[1]);
        program.show_dim(&size)
    }

    #[test]
    fn every_class_has_one_size() {
        let chain = r#"check T = U: "" check V = U: "" check V = 4: """#;
        for size in ["T", "U", "V"] {
            assert_eq!(sizes(chain, size), "4");
        }
        assert_eq!(sizes(chain, "T * U + 1"), "17");
        assert_eq!(sizes(r#"check 2 * T = U: "" check U = 3 * V: """#, "2 * T"), sizes("", "3 * V"));
        assert_eq!(sizes(r#"check T * U = 6: "" check T * U = 2 * V: """#, "2 * V"), "6");
        // A symbol equal to a size that contains it is not substituted: the check decides.
        assert_eq!(sizes(r#"check T = T * U: """#, "T"), sizes(r#"check T = T * U: """#, "T * U"));
    }
}
