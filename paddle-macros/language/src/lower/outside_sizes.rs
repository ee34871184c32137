//! Outside sizes: they become symbols of the program. This file has the arithmetic on them, and the source places of
//! the checks on them.

use std::collections::BTreeMap;

use paddle_core::ops::{BinaryKind, Cast, Number, Op, Size};
use paddle_core::program::{Answer, Condition, DType, Dim, SymbolId, Type, VarId};

use super::Lowering;
use super::outside_constants::distinct;
use crate::ast::{Infix, OutsideSize, UnitId};
use crate::messages::Message;
use crate::report::{Blame, Extent};
use crate::values::Value;

/// The outside sizes and constants of a topology.
#[derive(Debug, Default)]
pub struct Sizes {
    /// The outside sizes that the program depends on, in the order of their symbols.
    pub outside: Vec<(SymbolId, OutsideSize)>,
    /// The outside constants of the program, by their names in it.
    pub constants: Vec<(String, OutsideSize)>,
    /// For each check of the program, the tokens to blame.
    pub blames: Vec<Blame>,
}

/// The outside sizes during lowering, by name and unit.
pub(super) type OutsideSymbols = BTreeMap<(String, UnitId), (SymbolId, OutsideSize)>;

impl<'a> Lowering<'a, '_> {
    /// The symbol of an outside size, as a dimension.
    pub(super) fn outside(&mut self, size: &OutsideSize) -> Dim {
        let key = (size.name.clone(), size.unit);
        if let Some((symbol, _)) = self.outside.get(&key) {
            return Dim::symbol(*symbol);
        }
        let symbols = self.program.symbols();
        let name = distinct(&size.name, |name| symbols.iter().any(|symbol| symbol.name == name));
        let symbol = self.program.create_outside_symbol(&name);
        self.outside.insert(key, (symbol, size.clone()));
        Dim::symbol(symbol)
    }

    /// Applies a binary operator to two sizes.
    pub(super) fn size_arithmetic(&mut self, kind: Infix, x: &Dim, y: &Dim, at: Extent) -> Value<'a> {
        let rest = |x: &Dim, y: &Dim| (x - &(&x.floor_div(y)? * y).ok()?).ok();
        let result = match kind {
            Infix::Arithmetic(BinaryKind::Add) => (x + y).ok(),
            Infix::Arithmetic(BinaryKind::Sub) => (x - y).ok(),
            Infix::Arithmetic(BinaryKind::Mul) => (x * y).ok(),
            Infix::Arithmetic(BinaryKind::Div | BinaryKind::FloorDiv) => x.floor_div(y),
            Infix::Arithmetic(BinaryKind::Mod) => rest(x, y),
            Infix::Arithmetic(
                BinaryKind::FMax
                | BinaryKind::FMin
                | BinaryKind::Heaviside
                | BinaryKind::Max
                | BinaryKind::Min
                | BinaryKind::Pow,
            )
            | Infix::Compare(_)
            | Infix::Logical(_) => {
                let unknown = if x.constant().is_none() { x } else { y };
                return self.undecided(unknown, at);
            }
        };
        match result {
            Some(size) => Value::size(size),
            None => {
                let text = "this size overflows, or divides by what is not above 0".to_string();
                self.error(at, Message::Constant { text });
                Value::Unknown
            }
        }
    }

    /// A size as a value of the network: the number of elements of a value that has this size.
    pub(super) fn size_value(&mut self, size: &Dim, dtype: DType, at: Extent) -> Option<VarId> {
        let size = self.above_zero(size.clone(), at)?;
        // Double precision holds integers exactly.
        let numbers = if dtype == DType::F32 { DType::F32 } else { DType::F64 };
        let ty = Type { dtype: numbers, rows: None, dims: vec![size] };
        let counted = self.fill(Number::Float(0.0), ty, at)?;
        let counted = self.emitted(Size { axes: Vec::new() }, counted, at)?;
        if dtype == numbers { Some(counted) } else { self.emitted(Cast { dtype }, counted, at) }
    }

    fn emitted(&mut self, op: impl Into<Op>, x: VarId, at: Extent) -> Option<VarId> {
        let site = self.site(at.start);
        match self.program.append_op(self.block, op, &[x], site) {
            Ok(outputs) => outputs.first().copied(),
            Err(error) => {
                self.build_error(error, at, &[]);
                None
            }
        }
    }

    /// Reports a size whose value would have to be known at compile time.
    pub(super) fn undecided(&mut self, size: &Dim, at: Extent) -> Value<'a> {
        self.error(at, Message::UndecidedSize { size: self.program.show_dim(size) });
        Value::Unknown
    }

    /// The size, which has to be greater than 0; `None` if a mistake has been reported.
    pub(super) fn above_zero(&mut self, size: Dim, at: Extent) -> Option<Dim> {
        // The sizes of fed values are known when they are fed.
        if self.program.depends_on_feed(&size) {
            return Some(size);
        }
        let shown = match size.constant() {
            Some(number) => number.to_string(),
            None => format!("`{}`", self.program.show_dim(&size)),
        };
        let text = format!("a dimension is a whole number above 0, but this is {shown}");
        match self.test(Condition::Positive(size.clone()), at, text.clone()) {
            Answer::Holds | Answer::Depends => Some(size),
            Answer::Fails => {
                self.error(at, Message::Constant { text });
                None
            }
        }
    }

    /// Tests a condition on sizes. One that depends on symbols becomes a check of the program.
    pub(super) fn test(&mut self, condition: Condition, at: Extent, message: String) -> Answer {
        let place = self.site(at.start).place;
        let answer = self.program.test(condition, place, || message);
        self.note_checks(at);
        answer
    }

    /// Whether two shapes may be equal.
    pub(super) fn may_be_equal(&self, a: &[Dim], b: &[Dim]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.program.compare(a, b) != Answer::Fails)
    }

    /// Records the tokens to blame for the checks that were added since the last call.
    ///
    /// Reports a check that holds for only one value of a dimension if what is fed gives that dimension, as then it may
    /// have any value.
    pub(super) fn note_checks(&mut self, at: Extent) {
        let new = &self.program.checks()[self.check_blames.len()..];
        if new.is_empty() {
            return;
        }
        let pinned = new.iter().find_map(|check| {
            let Condition::Equal(a, b) = &check.condition else { return None };
            let (symbol, value) = a.solve(b)?;
            let symbol = &self.program.symbols()[symbol.0 as usize];
            (!symbol.outside).then(|| {
                format!(
                    "{}, which holds only where `{}` is {value}: write that where it is declared",
                    check.message, symbol.name
                )
            })
        });
        if let Some(text) = pinned {
            self.error(at, Message::Shape { text });
        }
        let blame = self.blame(at);
        self.check_blames.resize(self.program.checks().len(), blame);
    }

    /// Removes the outside sizes that the program does not depend on.
    pub(super) fn finish_sizes(&mut self) -> Sizes {
        let used = self.program.used_symbols();
        let mut outside: Vec<(SymbolId, OutsideSize)> =
            std::mem::take(&mut self.outside).into_values().collect();
        outside.sort_by_key(|(symbol, _)| *symbol);
        let unused = outside.iter().filter(|(symbol, _)| !used.contains(symbol));
        let unused: Vec<(SymbolId, i64)> = unused.map(|(symbol, _)| (*symbol, 1)).collect();
        if !unused.is_empty()
            && let Ok(program) = self.program.bind(&unused)
        {
            outside.retain(|(symbol, _)| used.contains(symbol));
            for ((symbol, _), renumbered) in outside.iter_mut().zip(program.outside_symbols()) {
                *symbol = renumbered;
            }
            self.program = program;
        }
        let constants = std::mem::take(&mut self.outside_constants);
        Sizes { outside, constants, blames: std::mem::take(&mut self.check_blames) }
    }
}
