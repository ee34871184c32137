//! Outside constants: `const GATE: [f32; 4] = crate::GATE;` declares the type, and rustc knows the elements.

use std::rc::Rc;

use paddle_core::ops::Outside;
use paddle_core::program::{DType, Type, VarId};

use super::Lowering;
use super::indexing::{element_of, part_of};
use super::unroll::LIMIT;
use crate::ast::{ConstantType, Expr, OutsideSize, SizeOrigin};
use crate::report::Extent;
use crate::values::{OutsideConstant, Value};

impl<'a> Lowering<'a, '_> {
    /// The value of a `const` that refers to an outside constant; `None` if its value is written in the network.
    pub(super) fn constant_from_outside(
        &mut self,
        value: &'a Expr,
        ty: &'a ConstantType,
    ) -> Option<Value<'a>> {
        let place = self.outside_place(value)?;
        let Some(place) = place else { return Some(Value::Unknown) };
        // Other outside sizes are declared by a name, not a path.
        matches!(place.origin, SizeOrigin::Path(_)).then(|| self.typed_outside(&place, ty, value.at))
    }

    fn typed_outside(&mut self, place: &OutsideSize, ty: &'a ConstantType, at: Extent) -> Value<'a> {
        match ty {
            ConstantType::Number { dtype: DType::I64, counts: true } => Value::Size(self.outside(place)),
            ConstantType::Number { dtype, .. } => outside(place.clone(), Type::scalar(*dtype)),
            ConstantType::Tuple(types) => {
                let parts = types.iter().enumerate();
                Value::Tuple(parts.map(|(k, ty)| self.typed_outside(&part_of(place, k), ty, at)).collect())
            }
            ConstantType::Array(element, length) => {
                let length = match self.expr(length) {
                    Value::Unknown => return Value::Unknown,
                    length => length.as_size().filter(|length| *length <= LIMIT),
                };
                let Some(length) = length else {
                    let why = format!(
                        "the length of `{}` is written out here, a whole number up to {LIMIT}: its elements are \
                         known to rustc only",
                        place.name
                    );
                    return self.constant_error(at, why);
                };
                if let Some(mut ty) = self.tensor(element) {
                    ty.dims.insert(0, (length as i64).into());
                    return outside(place.clone(), ty);
                }
                let elements = (0..length).map(|k| self.typed_outside(&element_of(place, k), element, at));
                Value::Array(elements.collect())
            }
            ConstantType::Text => self
                .constant_error(at, format!("`{}` is a text, which has to be written out here", place.name)),
            ConstantType::Invalid => Value::Unknown,
        }
    }

    /// The tensor type of a `const` of numbers or arrays of numbers, unless these are sizes.
    pub(super) fn tensor(&mut self, ty: &'a ConstantType) -> Option<Type> {
        match ty {
            ConstantType::Number { dtype, counts: false } => Some(Type::scalar(*dtype)),
            ConstantType::Array(element, length) => {
                let mut ty = self.tensor(element)?;
                ty.dims.insert(0, (self.expr(length).as_size()? as i64).into());
                Some(ty)
            }
            _ => None,
        }
    }

    /// Appends an outside constant to the program.
    pub(super) fn outside_value(&mut self, constant: &OutsideConstant, at: Extent) -> Option<VarId> {
        let OutsideConstant { place, ty } = constant;
        let is_it =
            |(_, known): &&(String, OutsideSize)| known.name == place.name && known.unit == place.unit;
        let name = match self.outside_constants.iter().find(is_it) {
            Some((name, _)) => name.clone(),
            None => {
                let is_taken = |name: &str| self.outside_constants.iter().any(|(known, _)| known == name);
                let name = distinct(&place.name, is_taken);
                self.outside_constants.push((name.clone(), place.clone()));
                name
            }
        };
        let site = self.site(at.start);
        match self.program.append_op(self.block, Outside { name, ty: ty.clone() }, &[], site) {
            Ok(outputs) => outputs.first().copied(),
            Err(error) => {
                self.build_error(error, at, &[]);
                None
            }
        }
    }
}

/// A free name: another crate may have a different `crate::N`.
pub(super) fn distinct(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = name.to_string();
    while is_taken(&name) {
        name.push('\'');
    }
    name
}

fn outside<'a>(place: OutsideSize, ty: Type) -> Value<'a> {
    Value::Outside(Rc::new(OutsideConstant { place, ty }))
}

/// An outside array as an array of its elements; any other value unchanged.
pub(super) fn spread(value: Value<'_>) -> Value<'_> {
    let Value::Outside(constant) = &value else { return value };
    let Some((length, dims)) = constant.ty.dims.split_first() else { return value };
    let element = |k| {
        let ty = Type { dims: dims.to_vec(), ..constant.ty.clone() };
        outside(element_of(&constant.place, k as usize), ty)
    };
    Value::Array((0..length.constant().unwrap_or(0)).map(element).collect())
}
