//! The methods `xs.len()`, `xs.rev()`, `xs.enumerate()` and `xs.zip(ys)`, of sequences and of arrays known at compile
//! time.

use paddle_core::layers::Given;
use paddle_core::ops::Number;
use paddle_core::program::VarId;

use super::Lowering;
use super::indexing::length_of;
use super::outside_constants::spread;
use crate::ast::{Expr, Method};
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Constant, Value};

impl<'a> Lowering<'a, '_> {
    pub(super) fn method(&mut self, x: &'a Expr, method: &'a Method, name: Extent, at: Extent) -> Value<'a> {
        if let (Method::Length, Some(array)) = (method, self.outside_place(x)) {
            let length = array.map(|array| self.outside(&length_of(&array)));
            return length.map_or(Value::Unknown, Value::Size);
        }
        let value = spread(self.expr(x));
        if value.is_unknown() {
            return Value::Unknown;
        }
        match (method, value) {
            (Method::Length, Value::Array(parts)) => whole(parts.len()),
            (Method::Reversed, Value::Array(mut parts)) => {
                parts.reverse();
                Value::Array(parts)
            }
            (Method::Numbered, Value::Array(parts)) => {
                let numbered = parts.into_iter().enumerate();
                Value::Array(numbered.map(|(at, part)| Value::Tuple(vec![whole(at), part])).collect())
            }
            (Method::Zipped(other), Value::Array(parts)) => match spread(self.expr(other)) {
                Value::Array(others) => {
                    let pairs = parts.into_iter().zip(others);
                    Value::Array(pairs.map(|(part, other)| Value::Tuple(vec![part, other])).collect())
                }
                Value::Unknown => Value::Unknown,
                found => self.no_method(other, &found, method, other.at),
            },
            // Sequences in step are numbered by the positions in the first one.
            (Method::Numbered, value) => match self.first_sequence(&value) {
                Some(var) => {
                    let positions = self.of_sequence("sequence_positions", var, x, at);
                    positions.map_or(Value::Unknown, |places| Value::Tuple(vec![Value::Var(places), value]))
                }
                None => self.no_method(x, &value, method, name),
            },
            (Method::Zipped(other), value) if self.first_sequence(&value).is_some() => {
                match self.expr(other) {
                    Value::Unknown => Value::Unknown,
                    others if self.first_sequence(&others).is_some() => Value::Tuple(vec![value, others]),
                    found => self.no_method(other, &found, method, other.at),
                }
            }
            (Method::Reversed, value) => match self.each_sequence("sequence_reverse", &value, x, at) {
                Some(reversed) => reversed,
                None => self.no_method(x, &value, method, name),
            },
            (Method::Length, value) => match self.first_sequence(&value) {
                Some(var) => {
                    self.of_sequence("sequence_length", var, x, at).map_or(Value::Unknown, Value::Var)
                }
                None => self.no_method(x, &value, method, name),
            },
            (_, value) => self.no_method(x, &value, method, name),
        }
    }

    /// The first sequence of a value that consists of sequences only.
    fn first_sequence(&self, value: &Value<'a>) -> Option<VarId> {
        self.sequences(value).and_then(|found| found.vars.first().copied())
    }

    /// Applies a layer of sequences to each sequence of a value.
    fn each_sequence(
        &mut self,
        layer: &str,
        value: &Value<'a>,
        x: &'a Expr,
        at: Extent,
    ) -> Option<Value<'a>> {
        self.sequences(value)?;
        Some(match value {
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.each_sequence(layer, part, x, at));
                Value::Tuple(parts.map(|part| part.unwrap_or(Value::Unknown)).collect())
            }
            Value::Var(var) => self.of_sequence(layer, *var, x, at).map_or(Value::Unknown, Value::Var),
            _ => Value::Unknown,
        })
    }

    /// Applies a layer to a sequence.
    fn of_sequence(&mut self, layer: &str, x: VarId, of: &'a Expr, at: Extent) -> Option<VarId> {
        let given = Given::Value(self.localize(x, of.at.start)?);
        self.with_layer(layer, vec![("x", given, of)], at)
    }

    fn no_method(&mut self, x: &Expr, found: &Value<'a>, method: &Method, at: Extent) -> Value<'a> {
        if !found.is_unknown() {
            let (found, name) = (self.describe(found), method.name().to_string());
            let words = x.words();
            let instead = match method {
                Method::Length => format!(
                    "sequences and arrays have it, but {words} is {found}; a size is named in the type: with \
                     `x: Tensor<f32, _, D>` it is `D`"
                ),
                Method::Zipped(_) => format!(
                    "two sequences have it, or two arrays, but {words} is {found}; the tokens of a sequence are counted by \
                     `xs.enumerate()`"
                ),
                Method::Numbered | Method::Reversed => format!(
                    "sequences and arrays have it, but {words} is {found}; `sequence(x)` makes sequences of rows of equally \
                     many places"
                ),
            };
            self.error(at, Message::Method { name, instead });
        }
        Value::Unknown
    }
}

fn whole<'a>(number: usize) -> Value<'a> {
    Value::Constant(Constant { number: Number::Int(number as i64), dtype: None })
}
