//! Constants, which are also known where an attribute is asked for.

use super::json::{Attribute, Operation, Ty, Wrong};
use super::translation::{Constant, Translation};
use crate::convert::to_wire::constants::fill_value;
use crate::ops::Number;
use crate::wire::{AttrType, OpAttr, OpDesc, Scalar, VarKind};

/// What a variable of Python's has that has no value yet.
const UNDEFINED: f32 = 1.77113e27;

impl Translation {
    /// A constant, which is also known where an attribute is asked for.
    pub(super) fn full(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let Attribute::List(shape) = x.required("shape")? else {
            return Err("its shape is no list".to_string());
        };
        let dims: Vec<i64> = shape.iter().filter_map(Attribute::int).collect();
        let value = match x.required("value")? {
            Attribute::Float(value) => *value,
            Attribute::Int(value) => *value as f64,
            Attribute::Bool(value) => f64::from(u8::from(*value)),
            _ => return Err("its value is no number".to_string()),
        };
        let Attribute::Element(Some(element)) = *x.required("dtype")? else {
            return Err("it has no type of elements".to_string());
        };
        let (id, ty) = x.result(0)?;
        self.spend(dims.len())?;
        if matches!(ty, Ty::Tensor { dims: of_type, .. } if *of_type != dims) {
            return self.undefined(*id, block);
        }
        self.is_constant(*id, Constant::Number { value, element });
        let whole = Number::Int(value as i64);
        let exact =
            if whole.as_f64() == value && element != VarKind::Bool { whole } else { Number::Float(value) };
        let names = self.results(x, block)?;
        let mut filled = OpDesc::new("fill_constant").with_output("Out", names);
        filled.attrs = fill_value(exact).into();
        let filled = filled.with_attr(OpAttr::longs("shape", dims));
        self.push(block, filled.with_attr(OpAttr::int("dtype", element.into())));
        Ok(())
    }

    /// A value that stands for none, as it was written before.
    fn undefined(&mut self, id: i64, block: usize) -> Result<(), Wrong> {
        let ty = Ty::Tensor { element: VarKind::Fp32, dims: Vec::new() };
        let name = self.new_name(format!("undefined_{id}"), &ty, block);
        let filled = OpDesc::new("fill_constant").with_output("Out", [&name]);
        let filled =
            filled.with_attr(OpAttr::longs("shape", [])).with_attr(OpAttr::float("value", UNDEFINED));
        self.push(block, filled.with_attr(OpAttr::int("dtype", VarKind::Fp32.into())));
        self.undefined.insert(id);
        self.name_value(id, name);
        Ok(())
    }

    pub(super) fn full_int_array(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let Attribute::List(values) = x.required("value")? else {
            return Err("its value is no list".to_string());
        };
        let values: Vec<i64> = values.iter().filter_map(Attribute::int).collect();
        let Attribute::Element(Some(element)) = *x.required("dtype")? else {
            return Err("it has no type of elements".to_string());
        };
        self.spend(values.len())?;
        self.is_constant(x.result(0)?.0, Constant::Ints(values.clone()));
        let names = self.results(x, block)?;
        let given = OpDesc::new("assign_value").with_output("Out", names);
        let given = given.with_attr(OpAttr::longs("shape", [values.len() as i64]));
        let given = given.with_attr(scalars("values", values.into_iter().map(Attribute::Int)));
        self.push(block, given.with_attr(OpAttr::int("dtype", element.into())));
        Ok(())
    }

    /// Elements of any type, which a value may be overwritten with.
    pub(super) fn assign_value(&mut self, x: &Operation<'_>, block: usize) -> Result<(), Wrong> {
        let Attribute::List(values) = x.required("values")? else {
            return Err("its values are no list".to_string());
        };
        let Attribute::List(shape) = x.required("shape")? else {
            return Err("its shape is no list".to_string());
        };
        let Attribute::Element(Some(element)) = *x.required("dtype")? else {
            return Err("it has no type of elements".to_string());
        };
        self.spend(values.len() + shape.len())?;
        let number = |value: &Attribute| match *value {
            Attribute::Float(value) if element == VarKind::Bool => Attribute::Bool(value != 0.0),
            Attribute::Float(value) if is_whole(element) => Attribute::Int(value as i64),
            ref value => value.clone(),
        };
        let values = scalars("values", values.iter().map(number));
        let shape: Vec<i64> = shape.iter().filter_map(Attribute::int).collect();
        let names = match x.operands.first() {
            Some(&overwritten) => self.overwrite(overwritten, x.result(0)?.0)?,
            None => self.results(x, block)?,
        };
        let given = OpDesc::new("assign_value").with_output("Out", names);
        let given = given.with_attr(OpAttr::longs("shape", shape)).with_attr(values);
        self.push(block, given.with_attr(OpAttr::int("dtype", element.into())));
        Ok(())
    }
}

/// Whether elements of this type have no fraction.
pub(super) fn is_whole(element: VarKind) -> bool {
    !matches!(element, VarKind::Fp16 | VarKind::Bf16 | VarKind::Fp32 | VarKind::Fp64)
}

/// Numbers that each have their type.
pub(super) fn scalars(name: &str, values: impl Iterator<Item = Attribute>) -> OpAttr {
    let scalar = |value| match value {
        Attribute::Bool(value) => Some(Scalar { r#type: 1, b: Some(value), ..Scalar::default() }),
        Attribute::Int(value) => Some(Scalar { r#type: 2, i: Some(value), ..Scalar::default() }),
        Attribute::Float(value) => Some(Scalar { r#type: 3, r: Some(value), ..Scalar::default() }),
        _ => None,
    };
    OpAttr {
        name: name.to_string(),
        r#type: AttrType::Scalars.into(),
        scalars: values.filter_map(scalar).collect(),
        ..OpAttr::default()
    }
}
