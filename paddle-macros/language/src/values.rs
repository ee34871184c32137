//! Values of expressions during lowering.

use std::collections::BTreeMap;
use std::rc::Rc;

use paddle_core::layers::Layer;
use paddle_core::ops::Number;
use paddle_core::program::{DType, Dim, Type, VarId};

use crate::ast::{self, BindingId, OutsideSize};
use crate::report::Extent;

/// The value of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    /// A value of the program.
    Var(VarId),
    /// A number known at compile time.
    Constant(Constant),
    /// A text known at compile time.
    Text(String),
    /// An array. The numbers of a range are an array, too.
    Array(Vec<Value<'a>>),
    /// A size that is not known at compile time, computed from symbols that are bound later.
    Size(Dim),
    /// An outside constant, whose elements only rustc knows.
    Outside(Rc<OutsideConstant>),
    /// A tuple. The value of a statement is the empty tuple.
    Tuple(Vec<Value<'a>>),
    /// An activation, the argument of a parameter of type `Activation`.
    Activation(&'static Layer),
    /// A closure, with the values and dimensions that it captured.
    Closure(&'a ast::Closure, Rc<(Env<'a>, Dims)>),
    /// The placeholder for a value that rows have not reached. It becomes zeros of the type that other rows have.
    Nothing,
    /// A variable that is declared, but not assigned on every path.
    Unassigned,
    /// A mistake has been reported. Expressions that use the value report nothing.
    Unknown,
}

/// A constant of the Rust code around the network.
#[derive(Clone, Debug)]
pub(crate) struct OutsideConstant {
    /// The path to it.
    pub place: OutsideSize,
    /// Its type: a number, or an array of numbers.
    pub ty: Type,
}

/// A number known at compile time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constant {
    pub number: Number,
    /// The element type, if the source gives one. Otherwise the constant adapts to the other operand.
    pub dtype: Option<DType>,
}

/// The sizes of named dimensions; `None` for one with a mistake.
pub(crate) type Dims = BTreeMap<String, Option<Dim>>;

/// The variables in scope, with their present values.
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

    /// A placeholder with the same number of parts.
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

    /// Whether the value is known at compile time.
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

    /// The value as an integer ≥ 0.
    pub(crate) fn as_size(&self) -> Option<usize> {
        match self {
            Value::Constant(Constant { number: Number::Int(size), .. }) => usize::try_from(*size).ok(),
            _ => None,
        }
    }

    /// The number of values that it consists of.
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
    /// The element type if nothing else decides it.
    pub(crate) fn own_dtype(self) -> DType {
        self.dtype.unwrap_or(match self.number {
            Number::Bool(_) => DType::Bool,
            Number::Int(_) => DType::I64,
            Number::Float(_) => DType::F32,
        })
    }

    /// The number converted to an element type. `None` if the source gives it another type, or if it is a float and the
    /// type is an integer type.
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
