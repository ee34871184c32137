//! `if` and `match` on values known at compile time: one branch is lowered, the others are not.

use paddle_core::ops::{CompareKind, Number};

use super::Lowering;
use crate::ast::{Arm, Block, Case, CaseKind, Expr, ExprKind, Infix, Meaning};
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Constant, Slot, Value};

impl<'a> Lowering<'a, '_> {
    /// An `if` whose condition is a constant.
    pub(super) fn choose(&mut self, truth: bool, yes: &'a Block, no: Option<&'a Expr>) -> Value<'a> {
        if no.is_none() && !yes.is_statement() {
            if let Some(tail) = yes.tail.as_ref().filter(|tail| !matches!(tail.kind, ExprKind::Invalid)) {
                self.error(tail.at, Message::NoElse {});
            }
            return Value::Unknown;
        }
        match (truth, no) {
            (true, _) => self.block(yes),
            (false, Some(no)) => self.expr(no),
            (false, None) => Value::unit(),
        }
    }

    /// The value of the first arm whose pattern matches.
    pub(super) fn select(&mut self, value: &'a Expr, arms: &'a [Arm]) -> Value<'a> {
        let found = self.expr(value);
        if found.is_unknown() {
            return Value::Unknown;
        }
        if let Value::Size(size) = &found {
            return self.undecided(size, value.at);
        }
        if !found.is_static() {
            let found = format!("{} is {}", value.words(), self.describe(&found));
            let instead = "for values of the network use `if` and `else if`".to_string();
            self.error(value.at, Message::Static { what: "`match`".into(), found, instead });
            return Value::Unknown;
        }
        for Arm { case, guard, body } in arms {
            match self.fits(case, &found, value.at) {
                None => return Value::Unknown,
                Some(false) => continue,
                Some(true) => {}
            }
            let chosen = match guard {
                Some(guard) => self.guard(guard),
                None => Some(true),
            };
            match chosen {
                None => return Value::Unknown,
                Some(false) => {}
                Some(true) => return self.expr(body),
            }
        }
        let found = self.literal(&found);
        self.error(value.at, Message::NoArm { found });
        Value::Unknown
    }

    fn guard(&mut self, guard: &'a Expr) -> Option<bool> {
        match self.expr(guard) {
            Value::Unknown => None,
            Value::Constant(Constant { number: Number::Bool(truth), .. }) => Some(truth),
            value => {
                let found = format!("{} is {}", guard.words(), self.describe(&value));
                let instead = "compare constants".to_string();
                self.error(guard.at, Message::Static { what: "the guard of an arm".into(), found, instead });
                None
            }
        }
    }

    /// Whether a pattern matches a constant; binds the names of the pattern. `None` if a mistake has been reported.
    fn fits(&mut self, case: &'a Case, value: &Value<'a>, at: Extent) -> Option<bool> {
        match &case.kind {
            CaseKind::Any => Some(true),
            CaseKind::Name { constant: false, binding, .. } => {
                if let Some(binding) = binding {
                    self.env.insert(*binding, Slot { value: value.clone(), at });
                }
                Some(true)
            }
            CaseKind::Name { binding, .. } => {
                let constant = binding.and_then(|id| self.env.get(&id)).map(|slot| slot.value.clone());
                self.holds(CompareKind::Equal, value, &constant?, case.at)
            }
            CaseKind::Value(pattern) => {
                let pattern = self.expr(pattern);
                self.holds(CompareKind::Equal, value, &pattern, case.at)
            }
            CaseKind::Range { start, end, inclusive } => {
                let below = if *inclusive { CompareKind::LessEqual } else { CompareKind::LessThan };
                let bounds = [(start, CompareKind::GreaterEqual), (end, below)];
                let mut inside = true;
                for (bound, kind) in bounds {
                    let Some(bound) = bound else { continue };
                    let limit = self.expr(bound);
                    inside &= self.holds(kind, value, &limit, bound.at)?;
                }
                Some(inside)
            }
            CaseKind::Either(cases) => {
                let mut any = false;
                for case in cases {
                    any |= self.fits(case, value, at)?;
                }
                Some(any)
            }
            CaseKind::Tuple(parts) => {
                let values = self.parts(value.clone(), parts.len(), case.at, at);
                let mut all = true;
                for (part, value) in parts.iter().zip(&values) {
                    if matches!(value, Value::Unknown) {
                        return None;
                    }
                    all &= self.fits(part, value, at)?;
                }
                Some(all)
            }
            CaseKind::Invalid(_) => None,
        }
    }

    fn holds(&mut self, kind: CompareKind, x: &Value<'a>, y: &Value<'a>, at: Extent) -> Option<bool> {
        match self.compare(kind, x, y, at) {
            Value::Constant(Constant { number: Number::Bool(truth), .. }) => Some(truth),
            _ => None,
        }
    }

    /// Compares two constants; `Unknown` if a mistake has been reported.
    pub(super) fn compare(
        &mut self,
        kind: CompareKind,
        x: &Value<'a>,
        y: &Value<'a>,
        at: Extent,
    ) -> Value<'a> {
        match (x, y) {
            (Value::Unknown, _) | (_, Value::Unknown) => Value::Unknown,
            (Value::Constant(x), Value::Constant(y)) => self.fold(Infix::Compare(kind), *x, *y, at),
            (Value::Text(x), Value::Text(y)) => {
                Value::Constant(Constant { number: Number::Bool(kind.holds(x, y)), dtype: None })
            }
            (Value::Size(size), _) | (_, Value::Size(size)) => self.undecided(size, at),
            (x, y) => {
                let (x, y) = (self.describe(x), self.describe(y));
                self.constant_error(at, format!("{x} cannot be compared with {y}"))
            }
        }
    }

    /// Whether the value of an expression is known at compile time, judged by its parts.
    pub(super) fn decides(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name { meaning: Meaning::Variable(id), .. } => {
                self.env.get(id).is_some_and(|slot| slot.value.is_static())
            }
            ExprKind::Number { .. } | ExprKind::Text { .. } => true,
            ExprKind::Negate { .. }
            | ExprKind::Not { .. }
            | ExprKind::Paren(_)
            | ExprKind::Binary { .. }
            | ExprKind::Part { .. }
            | ExprKind::Method { .. }
            | ExprKind::Index { .. } => expr.parts().into_iter().all(|part| self.decides(part)),
            _ => false,
        }
    }
}
