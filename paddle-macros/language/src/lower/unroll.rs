//! Unrolled `for`: over items known at compile time. The body is lowered once for each item.

use paddle_core::ops::Number;
use proc_macro2::Span;

use super::Lowering;
use super::assigned::assigned_in_block;
use super::expr::Operand;
use super::outside_constants::spread;
use crate::ast::{Block, Expr, Pattern, PatternKind, text};
use crate::messages::Message;
use crate::parameter_names::Nameless;
use crate::report::{Extent, Frame, Report};
use crate::values::{Constant, Value};

/// The limit, for one network, on how many times bodies of `for`, and sub-networks, are lowered. It is also the limit
/// on the length of an array.
pub(super) const LIMIT: usize = 10_000;

/// The most values that an array or tuple may consist of, parts of parts included.
const VALUES: usize = 100_000;

impl<'a> Lowering<'a, '_> {
    pub(super) fn unroll(
        &mut self,
        span: Span,
        pattern: &'a Pattern,
        items: &'a Expr,
        values: Value<'a>,
        body: &'a Block,
    ) -> Value<'a> {
        let values = match spread(values) {
            Value::Array(values) => values,
            found => {
                if !found.is_unknown() {
                    let what = "what a `for` goes over".to_string();
                    let found = format!("{} is {}", items.words(), self.describe(&found));
                    let instead = "write a sequence, a range, `0..4`, or an array; to repeat as often as a value \
                                   says, use `while`";
                    self.error(items.at, Message::Static { what, found, instead: instead.into() });
                }
                // The body is lowered only to find its mistakes. What it assigns is unknown, and so is whether it is
                // repeated.
                let assigned = assigned_in_block(body, &self.env);
                let outer = self.env.clone();
                self.bind(pattern, Value::Unknown, items.at);
                self.block(body);
                self.env = outer;
                self.forget(assigned);
                return if body.is_statement() { Value::unit() } else { Value::Unknown };
            }
        };
        let outside: Vec<_> = self.env.keys().copied().collect();
        self.names.enter_loop();
        self.loop_variables.push(first_name(pattern));
        let mut given = Vec::new();
        for value in values {
            self.iterations += 1;
            if self.iterations > LIMIT {
                let text = format!(
                    "the `for`s of this network are unrolled to more than {LIMIT} iterations; repeat with `while`"
                );
                self.error(span, Message::Limit { text });
                break;
            }
            let reports = self.sink.len();
            self.bind(pattern, value, items.at);
            given.push(self.block(body));
            // Variables of the body end with the iteration.
            self.env.retain(|id, _| outside.binary_search(id).is_ok());
            if self.sink.len() > reports {
                break;
            }
        }
        self.loop_variables.pop();
        self.names.leave_loop();
        if body.is_statement() { Value::unit() } else { self.bounded(Value::Array(given), span.into()) }
    }

    /// The numbers of a range, as an array.
    pub(super) fn range(&mut self, start: &'a Expr, end: &'a Expr, inclusive: bool, at: Extent) -> Value<'a> {
        let (first, last) = (self.bound(start), self.bound(end));
        let (Some((first, a)), Some((last, b))) = (first, last) else { return Value::Unknown };
        let behind = if inclusive { last.saturating_add(1) } else { last };
        if usize::try_from(behind.saturating_sub(first)).is_ok_and(|length| length > LIMIT) {
            let text = format!("`{first}..{behind}` has more than {LIMIT} numbers; repeat with `while`");
            self.error(at, Message::Limit { text });
            return Value::Unknown;
        }
        let dtype = a.dtype.or(b.dtype);
        let number = |number| Value::Constant(Constant { number: Number::Int(number), dtype });
        Value::Array((first..behind).map(number).collect())
    }

    fn bound(&mut self, expr: &'a Expr) -> Option<(i64, Constant)> {
        let found = match self.operand(expr)? {
            Operand::Constant(constant) => match constant.number {
                Number::Int(number) => return Some((number, constant)),
                _ => format!("`{}` is not a whole number", constant.number),
            },
            Operand::Size(size) => {
                self.undecided(&size, expr.at);
                return None;
            }
            Operand::Var(var) => format!("{} is {}", expr.words(), self.show(self.program.ty(var))),
        };
        let instead = "write a number or a `const`; to repeat as often as a value says, use `while`".into();
        self.error(expr.at, Message::Static { what: "a range".into(), found, instead });
        None
    }

    /// `[x; n]`
    pub(super) fn repeated(&mut self, x: &'a Expr, times: &'a Expr) -> Value<'a> {
        let (value, count) = (self.expr(x), self.expr(times));
        if let Value::Size(size) = &count {
            return self.undecided(size, times.at);
        }
        match count.as_size() {
            Some(count) if count <= LIMIT && count * value.count() > VALUES => self.too_many_values(x.at),
            Some(count) if count <= LIMIT => Value::Array(vec![value; count]),
            _ if count.is_unknown() => Value::Unknown,
            _ => {
                let found = self.describe(&count);
                let why =
                    format!("the length of an array is a whole number up to {LIMIT}, but this is {found}");
                self.constant_error(times.at, why)
            }
        }
    }

    /// Checks the size of a new tuple or array, since repeated nesting multiplies it.
    pub(super) fn bounded(&mut self, value: Value<'a>, at: Extent) -> Value<'a> {
        if value.count() > VALUES { self.too_many_values(at) } else { value }
    }

    fn too_many_values(&mut self, at: Extent) -> Value<'a> {
        let text = format!("this is made of more than {VALUES} values; use a tensor, or a loop");
        self.error(at, Message::Limit { text });
        Value::Unknown
    }

    /// Reports a layer that cannot be named. `layer` is the layer's name, `at` its place.
    pub(super) fn nameless(&mut self, why: Nameless, layer: &str, at: Extent) {
        match why {
            Nameless::Taken { name } => self.error(at, Message::TakenName { name }),
            Nameless::Repeated { call } => {
                let variable = self.loop_variables.iter().rev().flatten().next();
                let variable = variable.map_or("i", String::as_str).to_string();
                let Some((call, frame)) = call.and_then(|call| Some((call, self.calls.get(call)?))) else {
                    return self.error(at, Message::RepeatedParameters { what: layer.into(), variable });
                };
                let what = frame.name.clone();
                self.error_of_call(call, Message::RepeatedParameters { what, variable });
            }
            Nameless::SecondCall { call } => {
                let Some(Frame { name, arguments, .. }) = self.calls.get(call).cloned() else { return };
                self.error_of_call(
                    call,
                    Message::SecondCall { callee: name, layer: layer.into(), arguments },
                );
            }
        }
    }

    /// Reports a mistake in one of the calls that led here. Call 0 is the outermost.
    fn error_of_call(&mut self, call: usize, message: Message) {
        let Frame { call: at, unit, .. } = self.calls[call];
        let blame = self.blame_in(&self.calls[..call], at, unit);
        self.sink.push(Report { message, blame });
    }
}

/// The variable that names an iteration.
fn first_name(pattern: &Pattern) -> Option<String> {
    match &pattern.kind {
        PatternKind::Name { ident, .. } => Some(text(ident)),
        PatternKind::Tuple(parts) | PatternKind::Invalid(parts) => parts.iter().find_map(first_name),
        PatternKind::Wildcard => None,
    }
}
