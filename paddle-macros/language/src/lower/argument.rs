//! Arguments of layers: values of the program, and values known at compile time.

use paddle_core::layers::{Argument, Given, Kind, Layer};
use paddle_core::ops::Number;
use paddle_core::program::Dim;

use super::Lowering;
use super::expr::Operand;
use crate::ast::{Choice, Expr, ExprKind, Meaning};
use crate::messages::{Message, one_of};
use crate::values::{Constant, Value};

/// The requirements on an argument.
struct Wanted<'l> {
    callee: &'l str,
    name: &'l str,
    kind: Kind,
}

impl<'a> Lowering<'a, '_> {
    /// Lowers an argument to what the layer expects; `None` if a mistake has been reported.
    pub(super) fn argument(&mut self, layer: &Layer, argument: &Argument, expr: &'a Expr) -> Option<Given> {
        let wanted = &Wanted { callee: layer.name, name: argument.name, kind: argument.kind };
        match (argument.kind, &expr.kind) {
            (Kind::Value | Kind::Whole, _) => {
                let value = self.expr(expr);
                self.materialize(&value, expr.at).map(Given::Value)
            }
            (Kind::Values, _) => {
                let vars = self.several(expr, |this, part, value| this.materialize(&value, part.at));
                vars.and_then(|vars| self.not_empty(vars, wanted, expr)).map(Given::Values)
            }
            (Kind::Operands, _) => self.operands(std::slice::from_ref(expr)),
            (Kind::Name, ExprKind::Array(names)) => {
                let names: Vec<_> = names.iter().map(|name| self.whole_name(name)).collect();
                names.into_iter().collect::<Option<_>>().map(Given::Names)
            }
            (Kind::Name, _) => self.parameter_name(expr).map(Given::Name),
            (Kind::Text, _) => match self.expr(expr) {
                Value::Text(text) => Some(Given::Text(text)),
                Value::Unknown => None,
                other => {
                    let found = self.describe(&other);
                    self.wrong_argument(found, wanted, expr);
                    None
                }
            },
            (Kind::Activation, _) => match self.expr(expr) {
                Value::Activation(layer) => Some(Given::Activation(layer)),
                Value::Unknown => None,
                other => {
                    let found = self.describe(&other);
                    self.wrong_argument(found, wanted, expr);
                    None
                }
            },
            (
                Kind::Choice(_) | Kind::IntsOr(_),
                ExprKind::Name { meaning: Meaning::Choice(Choice { word, .. }), .. },
            ) => Some(Given::Choice(word)),
            (Kind::Choice(words), ExprKind::Name { meaning: Meaning::Variable(_), .. }) => {
                match self.expr(expr) {
                    Value::Text(found) => self.word_argument(&found, words, wanted, expr),
                    Value::Unknown => None,
                    other => {
                        let found = self.describe(&other);
                        self.wrong_argument(found, wanted, expr);
                        None
                    }
                }
            }
            (Kind::Initializer, ExprKind::Call(call)) => {
                let Meaning::Initializer(initializer) = call.callee else { return None };
                let numbers = initializer.arguments.iter().zip(&call.positional).map(|(name, number)| {
                    let operand = self.operand(number)?;
                    let wanted = Wanted { callee: initializer.name, name, kind: Kind::Number };
                    self.number_argument(operand, &wanted, number)
                });
                Some(Given::Initializer(initializer, numbers.collect::<Option<_>>()?))
            }
            (Kind::Choice(_) | Kind::Initializer, _) => None,
            (Kind::Sizes | Kind::SizesIfAny | Kind::Shape, _) => {
                let sizes = self.several(expr, |this, part, value| {
                    let operand = this.single(&value, part.at)?;
                    this.size_argument(operand, wanted, part)
                });
                // An empty list of dimensions means one number.
                let sizes = sizes.and_then(|sizes| match wanted.kind {
                    Kind::Shape => Some(sizes),
                    _ => self.not_empty(sizes, wanted, expr),
                });
                sizes.map(Given::Sizes)
            }
            (Kind::IntsOr(words), ExprKind::Name { .. }) => match self.expr(expr) {
                Value::Text(found) => self.word_argument(&found, words, wanted, expr),
                value => self
                    .each_part(expr, value, |this, part, value| this.int_part(value, wanted, part))
                    .and_then(|ints| self.not_empty(ints, wanted, expr))
                    .map(Given::Ints),
            },
            (Kind::Ints | Kind::IntsOr(_), _) => {
                let ints = self.several(expr, |this, part, value| this.int_part(value, wanted, part));
                ints.and_then(|ints| self.not_empty(ints, wanted, expr)).map(Given::Ints)
            }
            (Kind::Size, _) => {
                let operand = self.operand(expr)?;
                self.size_argument(operand, wanted, expr).map(Given::Size)
            }
            (Kind::Int, _) => {
                let operand = self.operand(expr)?;
                self.int_argument(operand, wanted, expr).map(Given::Int)
            }
            (Kind::Number, _) => {
                let operand = self.operand(expr)?;
                self.number_argument(operand, wanted, expr).map(Given::Number)
            }
            (Kind::Flag, _) => match self.operand(expr)? {
                Operand::Constant(Constant { number: Number::Bool(truth), .. }) => Some(Given::Flag(truth)),
                operand => self.not_of_its_kind(operand, wanted, expr),
            },
        }
    }

    /// The remaining positional arguments.
    pub(super) fn operands(&mut self, exprs: &'a [Expr]) -> Option<Given> {
        let vars = exprs.iter().map(|expr| {
            let value = self.expr(expr);
            self.materialize(&value, expr.at)
        });
        // All are lowered first, since each may have mistakes.
        let vars: Vec<_> = vars.collect();
        vars.into_iter().collect::<Option<_>>().map(Given::Values)
    }

    /// Applies `part` to each part of a list. A single value counts as a list of one.
    fn several<T>(
        &mut self,
        expr: &'a Expr,
        mut part: impl FnMut(&mut Self, &'a Expr, Value<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        // The parts of a list that is written out have their own places.
        if let ExprKind::Array(parts) | ExprKind::Tuple(parts) = &expr.kind {
            let given: Vec<Option<T>> = parts
                .iter()
                .map(|expr| {
                    let value = self.expr(expr);
                    part(self, expr, value)
                })
                .collect();
            return given.into_iter().collect();
        }
        let value = self.expr(expr);
        self.each_part(expr, value, part)
    }

    /// Applies `part` to each part of a value that is a tuple or an array. Any other value counts as a list of one.
    fn each_part<T>(
        &mut self,
        expr: &'a Expr,
        value: Value<'a>,
        mut part: impl FnMut(&mut Self, &'a Expr, Value<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        match value {
            Value::Tuple(values) | Value::Array(values) => {
                values.into_iter().map(|value| part(self, expr, value)).collect()
            }
            value => Some(vec![part(self, expr, value)?]),
        }
    }

    fn not_empty<T>(&mut self, list: Vec<T>, wanted: &Wanted<'_>, expr: &'a Expr) -> Option<Vec<T>> {
        if list.is_empty() {
            self.wrong_argument("an empty list".to_string(), wanted, expr);
            return None;
        }
        Some(list)
    }

    fn size_argument(&mut self, operand: Operand, wanted: &Wanted<'_>, expr: &'a Expr) -> Option<Dim> {
        match operand {
            Operand::Constant(Constant { number: Number::Int(size), .. })
                if size > 0 || (size == -1 && wanted.kind == Kind::Shape) =>
            {
                Some(Dim::from(size))
            }
            Operand::Size(size) => self.above_zero(size, expr.at),
            operand => self.not_of_its_kind(operand, wanted, expr),
        }
    }

    /// The word that a constant or an argument of the sub-network holds.
    fn word_argument(
        &mut self,
        found: &str,
        words: &'static [&'static str],
        wanted: &Wanted<'_>,
        expr: &'a Expr,
    ) -> Option<Given> {
        let word = words.iter().find(|word| **word == found);
        if word.is_none() {
            let hint = one_of(found, words.iter().copied());
            self.wrong_argument(format!("`{found}`{hint}"), wanted, expr);
        }
        word.map(|word| Given::Choice(word))
    }

    fn int_part(&mut self, value: Value<'a>, wanted: &Wanted<'_>, expr: &'a Expr) -> Option<i64> {
        let operand = self.single(&value, expr.at)?;
        self.int_argument(operand, wanted, expr)
    }

    fn int_argument(&mut self, operand: Operand, wanted: &Wanted<'_>, expr: &'a Expr) -> Option<i64> {
        match operand {
            Operand::Constant(Constant { number: Number::Int(int), .. }) => Some(int),
            operand => self.not_of_its_kind(operand, wanted, expr),
        }
    }

    fn number_argument(&mut self, operand: Operand, wanted: &Wanted<'_>, expr: &'a Expr) -> Option<f64> {
        match operand {
            Operand::Constant(Constant { number: number @ (Number::Int(_) | Number::Float(_)), .. }) => {
                Some(number.as_f64())
            }
            operand => self.not_of_its_kind(operand, wanted, expr),
        }
    }

    fn not_of_its_kind<T>(&mut self, operand: Operand, wanted: &Wanted<'_>, expr: &'a Expr) -> Option<T> {
        let found = match operand {
            Operand::Size(size) => {
                self.undecided(&size, expr.at);
                return None;
            }
            Operand::Constant(constant) => format!("`{}`", constant.number),
            Operand::Var(var) => format!("{}, a value of the network", self.show(self.program.ty(var))),
        };
        self.wrong_argument(found, wanted, expr);
        None
    }

    fn wrong_argument(&mut self, found: String, wanted: &Wanted<'_>, expr: &'a Expr) {
        let message = Message::ArgumentKind {
            callee: wanted.callee.into(),
            name: wanted.name.into(),
            expected: wanted.kind.describe().into(),
            found,
        };
        self.error(expr.at, message);
    }
}
