//! Reads attributes as a definition has them.

use super::form::wire_name;
use crate::convert::dialect::OURS;
use crate::convert::error::Fault;
use crate::convert::types::{dtype, parse_dim, parse_type};
use crate::ops::{Attribute, AttributeError, Number, Op, Program};
#[cfg(feature = "read")]
use crate::ops::{AttributeReader, Attributes};
use crate::program::{Dim, RowsId};
use crate::text;
use crate::wire::{AttrType, OpDesc, VarKind};

/// The operator of this kind with the attributes that are written. Others have their defaults.
#[cfg(feature = "read")]
pub(in crate::convert) fn attributes_of<T: Attributes + Into<Op> + Clone>(
    program: &Program,
    desc: &OpDesc,
) -> Result<T, Fault> {
    let [prototype, ..] = &T::prototypes()[..] else { return Err(Fault::UnknownOperator) };
    let op: Op = prototype.clone().into();
    let reader = AttributeReader::new(op.name(), written(program, desc, &op)?);
    prototype.with_attributes(reader).map_err(|error| fault(&op, error))
}

/// An operator with the attributes that are written. Others have their defaults.
pub(in crate::convert) fn with_attributes(program: &Program, desc: &OpDesc, op: &Op) -> Result<Op, Fault> {
    op.with_attributes(written(program, desc, op)?).map_err(|error| fault(op, error))
}

/// The attributes of an operator that are written, under their own names.
fn written(program: &Program, desc: &OpDesc, op: &Op) -> Result<Vec<(String, Attribute)>, Fault> {
    let mut found = Vec::new();
    for (name, of_prototype) in op.attributes() {
        if let Some(value) = attribute(program, desc, wire_name(op, name, &of_prototype), &of_prototype)? {
            found.push((name.to_string(), value));
        }
    }
    Ok(found)
}

/// An attribute of the kind of `like`, if it is there.
fn attribute(
    program: &Program,
    desc: &OpDesc,
    name: &'static str,
    like: &Attribute,
) -> Result<Option<Attribute>, Fault> {
    let wrong = |message| Fault::Attribute { attribute: name, message };
    let number = |number| Attribute::Number(number);
    Ok(match like {
        Attribute::Number(Number::Bool(_)) => desc.attr_bool(name)?.map(Number::Bool).map(number),
        Attribute::Number(Number::Int(_)) => desc.attr_long(name)?.map(Number::Int).map(number),
        Attribute::Number(Number::Float(_)) => float(desc, name)?.map(Number::Float).map(number),
        Attribute::Text(_) => desc.attr_string(name)?.map(|text| Attribute::Text(text.to_string())),
        Attribute::Ints(_) => desc.attr_longs(name)?.map(Attribute::Ints),
        Attribute::Dims(_) => match desc.attr_strings(name)? {
            None => None,
            Some(texts) => {
                let size = |text: &String| {
                    parse_dim(program, text).ok_or_else(|| wrong(format!("`{text}` is not a size")))
                };
                Some(Attribute::Dims(texts.iter().map(size).collect::<Result<Vec<Dim>, Fault>>()?))
            }
        },
        Attribute::DType(_) => match desc.attr_int(name)? {
            None => None,
            Some(kind) => {
                let element = VarKind::try_from(kind).ok().and_then(dtype);
                let element = element.ok_or_else(|| wrong(format!("{kind} is no element type")))?;
                Some(Attribute::DType(element))
            }
        },
        Attribute::Type(_) => match desc.attr_string(name)? {
            None => None,
            Some(text) => {
                let ty = parse_type(program, text);
                Some(Attribute::Type(ty.ok_or_else(|| wrong(format!("`{text}` is not a type")))?))
            }
        },
        Attribute::Rows(_) => match desc.attr_long(name)? {
            None => None,
            Some(number) => Some(Attribute::Rows(row_space(program, name, number)?)),
        },
        Attribute::Program(_) => desc.attr_string(name)?.map(|text| match text::parse(text) {
            Ok(program) => Attribute::Program(program.into()),
            // The error is reported when the operator is made.
            Err(_) => Attribute::Text(text.to_string()),
        }),
        // Operators with such attributes have rules of their own.
        Attribute::Numbers(_) | Attribute::Types(_) | Attribute::Bytes(_) => None,
    })
}

/// The row space with this number, which is an attribute.
pub(in crate::convert) fn row_space(
    program: &Program,
    attribute: &'static str,
    number: i64,
) -> Result<RowsId, Fault> {
    let count = program.row_spaces().len();
    let rows = u32::try_from(number).ok().filter(|&number| (number as usize) < count);
    let message = || format!("there is no row space {number}");
    rows.map(RowsId).ok_or_else(|| Fault::Attribute { attribute, message: message() })
}

/// A number: the exact one if it is there, otherwise the one of single precision.
pub(in crate::convert) fn float(desc: &OpDesc, name: &str) -> Result<Option<f64>, Fault> {
    let exact = desc.attr(&format!("{OURS}{name}"));
    let exact = exact.filter(|attr| attr.r#type == i32::from(AttrType::Float64));
    match exact.and_then(|attr| attr.float64) {
        Some(value) => Ok(Some(value)),
        None => Ok(desc.attr_float(name)?.map(f64::from)),
    }
}

/// The fault of attributes that fit no operator.
fn fault(op: &Op, error: AttributeError) -> Fault {
    let on_wire = |attribute: &'static str| {
        let own = op.attributes().into_iter().find(|(name, _)| *name == attribute);
        own.map_or(attribute, |(name, value)| wire_name(op, name, &value))
    };
    match error {
        AttributeError::Missing { attribute, .. } => {
            Fault::MissingAttribute { attribute: on_wire(attribute) }
        }
        AttributeError::Wrong { attribute, .. } => {
            Fault::Attribute { attribute: on_wire(attribute), message: error.to_string() }
        }
        // Only attributes of the operator are read, so this cannot happen.
        AttributeError::Unknown { .. } | AttributeError::UnknownOperator(_) => Fault::UnknownOperator,
    }
}
