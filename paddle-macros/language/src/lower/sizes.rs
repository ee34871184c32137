//! Sizes that rustc or the caller knows and the macro does not: symbols of the program, arithmetic on them, and the
//! source places of what has to hold of them.

use std::collections::BTreeMap;

use paddle_core::ops::{BinaryKind, Cast, Number, Op, Size};
use paddle_core::program::{Answer, Condition, DType, Dim, SymbolId, Type, VarId};

use super::Lowering;
use super::outside::distinct;
use crate::ast::{Infix, OutsideSize, UnitId};
use crate::messages::Message;
use crate::report::{Blame, Extent};
use crate::values::Value;

/// What a topology has to do with sizes from outside.
#[derive(Debug, Default)]
pub struct Sizes {
    /// Those that its program depends on, with their symbols, in the order of these.
    pub outside: Vec<(SymbolId, OutsideSize)>,
    /// The constants that its program has, by what they are called there.
    pub constants: Vec<(String, OutsideSize)>,
    /// What is to blame for each check of the program.
    pub blames: Vec<Blame>,
}

/// The same while it is lowered: symbols by what they are called in which unit.
pub(super) type OutsideSymbols = BTreeMap<(String, UnitId), (SymbolId, OutsideSize)>;

impl<'a> Lowering<'a, '_> {
    /// The symbol of a size from outside.
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

    /// An operator between two sizes.
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

    /// A size as a value of the network, which has it when it runs: the number of elements of a value of that size.
    pub(super) fn size_value(&mut self, size: &Dim, dtype: DType, at: Extent) -> Option<VarId> {
        let size = self.above_zero(size.clone(), at)?;
        // Whole numbers are exact in double precision.
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

    /// A size from outside where its value is wanted.
    pub(super) fn undecided(&mut self, size: &Dim, at: Extent) -> Value<'a> {
        self.error(at, Message::UndecidedSize { size: self.program.show_dim(size) });
        Value::Unknown
    }

    /// The size, which has to be above 0; `None` when a mistake has been reported.
    pub(super) fn above_zero(&mut self, size: Dim, at: Extent) -> Option<Dim> {
        // What is fed has the size that it has.
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

    /// Whether a condition holds; one that depends becomes a check of the program.
    pub(super) fn test(&mut self, condition: Condition, at: Extent, message: String) -> Answer {
        let place = self.site(at.start).place;
        let answer = self.program.test(condition, place, || message);
        self.note_checks(at);
        answer
    }

    /// Whether the sizes are not provably different.
    pub(super) fn may_be_equal(&self, a: &[Dim], b: &[Dim]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.program.compare(a, b) != Answer::Fails)
    }

    /// The checks that the program has got are about these tokens.
    ///
    /// One that holds for a single value of a dimension, which is fed and may be any, is a mistake.
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

    /// Removes the sizes from outside that nothing of the program depends on.
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
