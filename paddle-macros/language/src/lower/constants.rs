//! Numbers known at compile time: arithmetic on them, and their conversion to values of the program.

use paddle_core::ops::{AssignValue, BinaryKind, Fill, LogicalKind, Number};
use paddle_core::program::{DType, Type, VarId};

use super::Lowering;
use super::expr::Operand;
use crate::ast::Infix;
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Constant, Value};

impl<'a> Lowering<'a, '_> {
    /// A literal, checked against its type.
    pub(super) fn number(&mut self, number: Number, dtype: Option<DType>, at: Extent) -> Value<'a> {
        let constant = Constant { number, dtype: None };
        match dtype.map_or(Some(number), |dtype| constant.adapt(dtype)) {
            Some(number) => Value::Constant(Constant { number, dtype }),
            None => self.constant_error(at, format!("`{number}` is not a value of its type")),
        }
    }

    pub(super) fn constant_error(&mut self, at: Extent, text: String) -> Value<'a> {
        self.error(at, Message::Constant { text });
        Value::Unknown
    }

    pub(super) fn negated(&mut self, constant: Constant, at: Extent) -> Value<'a> {
        let number = match constant.number {
            Number::Int(value) => value.checked_neg().map(Number::Int),
            Number::Float(value) => Some(Number::Float(-value)),
            Number::Bool(_) => None,
        };
        match number {
            Some(number) => Value::Constant(Constant { number, ..constant }),
            None => self.constant_error(at, format!("`{}` cannot be negated by `-`", constant.number)),
        }
    }

    /// Applies a binary operator to two numbers.
    pub(super) fn fold(&mut self, kind: Infix, x: Constant, y: Constant, at: Extent) -> Value<'a> {
        let dtype = x.dtype.or(y.dtype);
        if let (Some(left), Some(right)) = (x.dtype, y.dtype)
            && left != right
        {
            return self.constant_error(at, format!("one number is {left}, the other {right}"));
        }
        let number = match kind {
            Infix::Arithmetic(kind) => arithmetic(kind, x.number, y.number),
            Infix::Compare(kind) => match (x.number, y.number) {
                (Number::Int(x), Number::Int(y)) => Some(Number::Bool(kind.holds(x, y))),
                (Number::Bool(x), Number::Bool(y)) => Some(Number::Bool(kind.holds(x, y))),
                (Number::Bool(_), _) | (_, Number::Bool(_)) => None,
                (x, y) => Some(Number::Bool(kind.holds(x.as_f64(), y.as_f64()))),
            },
            Infix::Logical(kind) => match (kind, x.number, y.number) {
                (LogicalKind::And, Number::Bool(x), Number::Bool(y)) => Some(Number::Bool(x && y)),
                (LogicalKind::Or, Number::Bool(x), Number::Bool(y)) => Some(Number::Bool(x || y)),
                _ => None,
            },
        };
        let dtype = dtype.filter(|_| matches!(kind, Infix::Arithmetic(_)));
        match number {
            Some(number) => Value::Constant(Constant { number, dtype }),
            None => {
                if kind.divides_by_zero(y) {
                    return self.constant_error(at, format!("`{}` is divided by 0", x.number));
                }
                let why = format!("`{}` and `{}` cannot be combined here", x.number, y.number);
                self.constant_error(at, format!("{why}: the result is not a number of their type"))
            }
        }
    }

    /// Appends a constant of this type to the program.
    pub(super) fn fill(&mut self, value: Number, ty: Type, at: Extent) -> Option<VarId> {
        let site = self.site(at.start);
        match self.program.append_op(self.block, Fill { value, ty }, &[], site) {
            Ok(outputs) => outputs.first().copied(),
            Err(error) => {
                self.build_error(error, at, &[]);
                None
            }
        }
    }

    /// Appends an array of numbers to the program.
    pub(super) fn constant_tensor(&mut self, tensor: Tensor, at: Extent) -> Option<VarId> {
        let site = self.site(at.start);
        let ty = Type::new(tensor.dtype, tensor.dims);
        let op = AssignValue { values: tensor.values, ty }.rounded();
        match self.program.append_op(self.block, op, &[], site) {
            Ok(outputs) => outputs.first().copied(),
            Err(error) => {
                self.build_error(error, at, &[]);
                None
            }
        }
    }

    /// The value as a value of the program. A number becomes a scalar of its own element type.
    pub(super) fn materialize(&mut self, value: &Value<'a>, at: Extent) -> Option<VarId> {
        match self.single(value, at)? {
            Operand::Var(var) => Some(var),
            Operand::Size(size) => self.size_value(&size, DType::I64, at),
            Operand::Constant(constant) => {
                let dtype = constant.own_dtype();
                self.fill(constant.adapt(dtype)?, Type::scalar(dtype), at)
            }
        }
    }
}

/// The elements of an array of numbers, or of arrays of them.
pub(super) struct Tensor {
    dtype: DType,
    dims: Vec<i64>,
    values: Vec<Number>,
}

impl Tensor {
    /// The tensor of a value; `None` if its parts differ in size or type, or are not numbers.
    pub(super) fn of(value: &Value<'_>) -> Option<Tensor> {
        match value {
            Value::Constant(constant) => {
                let dtype = constant.own_dtype();
                Some(Tensor { dtype, dims: Vec::new(), values: vec![constant.adapt(dtype)?] })
            }
            Value::Array(parts) => {
                let (first, rest) = parts.split_first()?;
                let mut tensor = Tensor::of(first)?;
                for part in rest {
                    let part = Tensor::of(part)?;
                    if (part.dtype, &part.dims) != (tensor.dtype, &tensor.dims) {
                        return None;
                    }
                    tensor.values.extend(part.values);
                }
                tensor.dims.insert(0, parts.len() as i64);
                Some(tensor)
            }
            _ => None,
        }
    }
}

/// Arithmetic as in Rust: rustc also computes the `const`s of a module, and has to get the same results. (`%` on values
/// of a network takes the divisor's sign.)
fn arithmetic(kind: BinaryKind, x: Number, y: Number) -> Option<Number> {
    match (x, y) {
        (Number::Bool(_), _) | (_, Number::Bool(_)) => None,
        (Number::Int(x), Number::Int(y)) => match kind {
            BinaryKind::Add => x.checked_add(y),
            BinaryKind::Sub => x.checked_sub(y),
            BinaryKind::Mul => x.checked_mul(y),
            BinaryKind::Div => x.checked_div(y),
            BinaryKind::Mod => x.checked_rem(y),
            // The language has no operators for these.
            BinaryKind::FMax
            | BinaryKind::FMin
            | BinaryKind::FloorDiv
            | BinaryKind::Heaviside
            | BinaryKind::Max
            | BinaryKind::Min
            | BinaryKind::Pow => None,
        }
        .map(Number::Int),
        (x, y) => {
            let (x, y) = (x.as_f64(), y.as_f64());
            Some(Number::Float(if kind == BinaryKind::Mod { x % y } else { kind.apply(x, y) }))
        }
    }
}

impl Infix {
    /// Whether this operator divides by an integer 0.
    pub(super) fn divides_by_zero(self, divisor: Constant) -> bool {
        let divides =
            matches!(self, Infix::Arithmetic(BinaryKind::Div | BinaryKind::FloorDiv | BinaryKind::Mod));
        divides && divisor.number == Number::Int(0)
    }
}
