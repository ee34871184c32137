//! `const`s: their values, converted to their declared types.

use paddle_core::program::DType;

use super::Lowering;
use super::types::show_constant;
use crate::ast::{self, ConstantType, text};
use crate::report::Extent;
use crate::values::{Constant, Value};

impl<'a> Lowering<'a, '_> {
    /// The value of a `const`, converted to its declared type.
    pub(super) fn declared_constant(&mut self, constant: &'a ast::Constant) -> Value<'a> {
        if let Some(value) = self.constant_from_outside(&constant.value, &constant.ty) {
            return value;
        }
        let value = self.expr(&constant.value);
        if value.is_unknown() || matches!(constant.ty, ConstantType::Invalid) {
            return Value::Unknown;
        }
        let at = constant.value.at;
        if !value.is_static() {
            let name = text(&constant.ident);
            let why = format!("`{name}` is a `const`: made of numbers, texts and other `const`s only");
            return self.constant_error(at, why);
        }
        self.typed(value, &constant.ty, at)
    }

    /// Converts a value to a declared type.
    pub(super) fn typed(&mut self, value: Value<'a>, ty: &'a ConstantType, at: Extent) -> Value<'a> {
        match (ty, value) {
            (ConstantType::Text, Value::Text(text)) => Value::Text(text),
            (ConstantType::Tuple(types), Value::Tuple(parts)) if types.len() == parts.len() => {
                let parts = types.iter().zip(parts).map(|(ty, part)| self.typed(part, ty, at));
                Value::Tuple(parts.collect())
            }
            (ConstantType::Array(element, length), Value::Array(parts)) => {
                match self.expr(length) {
                    Value::Unknown => return Value::Unknown,
                    length if length.as_size() == Some(parts.len()) => {}
                    length => {
                        let (found, declared) = (parts.len(), self.literal(&length));
                        let why =
                            format!("these are {found} elements, but the length of the array is {declared}");
                        return self.constant_error(at, why);
                    }
                }
                Value::Array(parts.into_iter().map(|part| self.typed(part, element, at)).collect())
            }
            (number_type @ ConstantType::Number { dtype, counts }, Value::Constant(found)) => {
                let number = found.adapt(*dtype);
                match number.filter(|number| !counts || number.as_i64().is_some_and(|size| size >= 0)) {
                    // A `usize` gets no element type: as an operand it adapts to the other one.
                    Some(number) => {
                        let dtype = Some(*dtype).filter(|dtype| *dtype != DType::I64);
                        Value::Constant(Constant { number, dtype })
                    }
                    None => {
                        let why = format!("`{}` is no {}", found.number, show_constant(number_type));
                        self.constant_error(at, why)
                    }
                }
            }
            (ConstantType::Number { dtype: DType::I64, .. }, Value::Size(size)) => Value::Size(size),
            (ty, Value::Outside(constant)) if self.tensor(ty).as_ref() == Some(&constant.ty) => {
                Value::Outside(constant)
            }
            (_, Value::Size(size)) => self.undecided(&size, at),
            (_, value) => {
                let found = self.describe(&value);
                self.constant_error(at, format!("{found} is no {}", show_constant(ty)))
            }
        }
    }
}
