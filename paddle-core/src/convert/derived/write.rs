//! Writes slots and attributes as a definition has them.

use super::form::{Constant, Form, form, wire_name};
use crate::convert::dialect::OURS;
use crate::convert::types::{dim_text, element, type_text};
use crate::ops::{Attribute, Number, Op, Slot};
use crate::wire::{OpAttr, OpDesc, OpVar};

/// Writes the names of variables into the slots of the schema.
///
/// An input that is changed in place also has a slot among PaddlePaddle's outputs.
pub(in crate::convert) fn slots(op: &Op, inputs: &[String], outputs: &[String], desc: &mut OpDesc) {
    let schema = op.schema();
    desc.inputs = in_slots(schema.inputs, inputs);
    desc.outputs = in_slots(schema.outputs, outputs);
    if !op.operation().is_ours() {
        let changed = schema.inputs.iter().zip(&desc.inputs).filter(|(slot, _)| slot.is_changed);
        desc.outputs
            .extend(changed.map(|(slot, vars)| OpVar { parameter: changed_slot(slot.name), ..vars.clone() }));
    }
}

/// The output slot for an input slot that is changed in place.
pub(in crate::convert) fn changed_slot(input: &str) -> String {
    format!("{}Out", input.replace("Accumulator", "Accum"))
}

fn in_slots(slots: &[Slot], arguments: &[String]) -> Vec<OpVar> {
    let of_slot = |(k, slot): (usize, &Slot)| {
        let own = if slot.is_variadic { arguments.get(k..) } else { arguments.get(k..=k) };
        let arguments = own.unwrap_or_default().to_vec();
        OpVar { parameter: slot.name.to_string(), arguments, ..OpVar::default() }
    };
    slots.iter().enumerate().map(of_slot).collect()
}

/// The attributes of an operator.
///
/// PaddlePaddle's own operators get every attribute that PaddlePaddle gives them, so that its passes find what they
/// look for.
pub(in crate::convert) fn attributes(op: &Op) -> Vec<OpAttr> {
    let (own, is_ours) = (op.attributes(), op.operation().is_ours());
    let mut attrs = Vec::new();
    let Some(row) = form(op) else {
        for (name, value) in &own {
            push(&mut attrs, wire_name(op, name, value), value, is_ours);
        }
        return attrs;
    };
    for form in row {
        if let Form::Only(name, value) | Form::Hint(name, value) = *form {
            attrs.push(match value {
                Constant::Bool(value) => OpAttr::bool(name, value),
                Constant::Int(value) => OpAttr::int(name, value),
                Constant::Text(value) => OpAttr::string(name, value),
            });
        } else if let Some((name, value)) = own.iter().find(|(name, _)| Some(*name) == form.ours()) {
            push(&mut attrs, wire_name(op, name, value), value, matches!(form, Form::Long(_)));
        }
    }
    attrs
}

/// Writes an attribute, in 64 bits if it `is_long`.
fn push(attrs: &mut Vec<OpAttr>, name: &str, value: &Attribute, is_long: bool) {
    attrs.push(match value {
        Attribute::Number(Number::Bool(value)) => OpAttr::bool(name, *value),
        Attribute::Number(Number::Int(value)) if is_long => OpAttr::long(name, *value),
        Attribute::Number(Number::Int(value)) => whole(name, *value),
        Attribute::Number(Number::Float(value)) => return push_float(attrs, name, *value),
        Attribute::Text(text) => OpAttr::string(name, text),
        Attribute::Ints(values) if is_long => OpAttr::longs(name, values.clone()),
        Attribute::Ints(values) => wholes(name, values),
        Attribute::Dims(dims) => OpAttr::strings(name, dims.iter().map(dim_text)),
        Attribute::DType(dtype) => OpAttr::int(name, element(*dtype).into()),
        Attribute::Type(ty) => OpAttr::string(name, type_text(ty)),
        Attribute::Rows(rows) => OpAttr::long(name, rows.0.into()),
        Attribute::Program(program) => OpAttr::string(name, program.to_string()),
        // Operators with such attributes have rules of their own.
        Attribute::Numbers(_) | Attribute::Types(_) | Attribute::Bytes(_) => return,
    });
}

/// A whole number: `INT`, which PaddlePaddle uses for axes and the like, or `LONG` if it does not fit.
pub(in crate::convert) fn whole(name: &str, value: i64) -> OpAttr {
    match i32::try_from(value) {
        Ok(value) => OpAttr::int(name, value),
        Err(_) => OpAttr::long(name, value),
    }
}

/// Whole numbers: `INTS`, or `LONGS` if one does not fit.
pub(in crate::convert) fn wholes(name: &str, values: &[i64]) -> OpAttr {
    match values.iter().map(|&value| i32::try_from(value)).collect::<Result<Vec<i32>, _>>() {
        Ok(values) => OpAttr::ints(name, values),
        Err(_) => OpAttr::longs(name, values),
    }
}

/// Writes a `FLOAT`, and the exact number beside it if that is not one of single precision.
pub(in crate::convert) fn push_float(attrs: &mut Vec<OpAttr>, name: &str, value: f64) {
    let single = value as f32;
    attrs.push(OpAttr::float(name, single));
    if f64::from(single).to_bits() != value.to_bits() {
        attrs.push(OpAttr::double(format!("{OURS}{name}"), value));
    }
}
