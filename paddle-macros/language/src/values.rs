//! What an expression stands for while a network is lowered.

use std::collections::BTreeMap;
use std::rc::Rc;

use paddle_core::layers::Layer;
use paddle_core::ops::Number;
use paddle_core::program::{DType, Dim, Type, VarId};

use crate::ast::{self, BindingId, OutsideSize};
use crate::report::Extent;

/// What an expression stands for.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    /// A value of the program.
    Var(VarId),
    /// A number known when the network is compiled.
    Constant(Constant),
    /// A text known when the network is compiled.
    Text(String),
    /// Elements by number. The numbers of a range are such an array, too.
    Array(Vec<Value<'a>>),
    /// A size that is not known when the network is compiled, but computed from some that are bound later.
    Size(Dim),
    /// A constant of the code around the network, whose elements only rustc knows.
    Outside(Rc<OutsideConstant>),
    /// Several; none is the value of a statement.
    Tuple(Vec<Value<'a>>),
    /// What a parameter of type `Activation` stands for.
    Activation(&'static Layer),
    /// A sub-network, and the values and dimensions that it captured.
    Closure(&'a ast::Closure, Rc<(Env<'a>, Dims)>),
    /// In place of a value that rows have not come to: zeros of the type of that which others have.
    Nothing,
    /// Declared, and not assigned on every way.
    Unassigned,
    /// A mistake has been reported; silences its consumers.
    Unknown,
}

/// A constant of the code around the network.
#[derive(Clone, Debug)]
pub(crate) struct OutsideConstant {
    /// Where it stands.
    pub place: OutsideSize,
    /// Its type: a number, or an array of numbers.
    pub ty: Type,
}

/// A number known when the network is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constant {
    pub number: Number,
    /// The element type, where the source says so; otherwise it adapts to what it is combined with.
    pub dtype: Option<DType>,
}

/// Named dimensions with their sizes; `None` where a mistake has been reported.
pub(crate) type Dims = BTreeMap<String, Option<Dim>>;

/// Variables in scope with what they stand for now.
pub(crate) type Env<'a> = BTreeMap<BindingId, Slot<'a>>;

/// A variable's present value.
#[derive(Clone, Debug)]
pub(crate) struct Slot<'a> {
    pub value: Value<'a>,
    /// The expression that it was assigned from.
    pub at: Extent,
}

impl Value<'_> {
    pub(crate) fn unit() -> Self {
        Value::Tuple(Vec::new())
    }

    pub(crate) fn size(size: Dim) -> Self {
        match size.constant() {
            Some(number) => Value::Constant(Constant { number: Number::Int(number), dtype: None }),
            None => Value::Size(size),
        }
    }

    /// Nothing, of as many parts.
    pub(crate) fn nothing(&self) -> Self {
        match self {
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(Value::nothing).collect()),
            Value::Array(parts) => Value::Array(parts.iter().map(Value::nothing).collect()),
            _ => Value::Nothing,
        }
    }

    pub(crate) fn is_unit(&self) -> bool {
        matches!(self, Value::Tuple(parts) if parts.is_empty())
    }

    /// Whether it does not change when the network runs.
    pub(crate) fn is_static(&self) -> bool {
        match self {
            Value::Constant(_) | Value::Text(_) | Value::Size(_) | Value::Outside(_) => true,
            Value::Tuple(parts) | Value::Array(parts) => parts.iter().all(Value::is_static),
            Value::Var(_)
            | Value::Activation(_)
            | Value::Closure(..)
            | Value::Nothing
            | Value::Unassigned
            | Value::Unknown => false,
        }
    }

    /// A whole number, at least 0.
    pub(crate) fn as_size(&self) -> Option<usize> {
        match self {
            Value::Constant(Constant { number: Number::Int(size), .. }) => usize::try_from(*size).ok(),
            _ => None,
        }
    }

    /// How many values it is made of.
    pub(crate) fn count(&self) -> usize {
        match self {
            Value::Tuple(parts) | Value::Array(parts) => parts.iter().map(Value::count).sum::<usize>().max(1),
            _ => 1,
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        match self {
            Value::Unknown => true,
            Value::Tuple(parts) | Value::Array(parts) => parts.iter().any(Value::is_unknown),
            _ => false,
        }
    }
}

impl Constant {
    /// The element type that it has by itself.
    pub(crate) fn own_dtype(self) -> DType {
        self.dtype.unwrap_or(match self.number {
            Number::Bool(_) => DType::Bool,
            Number::Int(_) => DType::I64,
            Number::Float(_) => DType::F32,
        })
    }

    /// The number as an element of this type, if it has no other one by the source: whole numbers become
    /// floating-point ones, not the other way round.
    pub(crate) fn adapt(self, dtype: DType) -> Option<Number> {
        if self.dtype.is_some_and(|own| own != dtype) {
            return None;
        }
        match (self.number, dtype) {
            (Number::Bool(_), DType::Bool) => Some(self.number),
            (Number::Int(value), DType::I32) => i32::try_from(value).is_ok().then_some(self.number),
            (Number::Int(_), DType::I64) => Some(self.number),
            (Number::Int(value), DType::F32 | DType::F64) => Some(Number::Float(value as f64)),
            (Number::Float(_), DType::F32 | DType::F64) => Some(self.number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_adapt_to_floats_only() {
        let constant = |number, dtype| Constant { number, dtype };
        assert_eq!(constant(Number::Int(2), None).adapt(DType::F64), Some(Number::Float(2.0)));
        assert_eq!(constant(Number::Int(1 << 40), None).adapt(DType::I32), None);
        assert_eq!(constant(Number::Float(2.0), None).adapt(DType::I64), None);
        assert_eq!(constant(Number::Bool(true), None).adapt(DType::F32), None);
        assert_eq!(constant(Number::Float(2.0), Some(DType::F32)).adapt(DType::F64), None);
        assert_eq!(constant(Number::Float(2.0), Some(DType::F32)).own_dtype(), DType::F32);
    }
}
