//! The file as JSON: operators, types and attributes, with the short names that they have there.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::wire::VarKind;

/// What is wrong with a part of the file.
pub(super) type Wrong = String;

/// One operator.
pub(super) struct Operation<'j> {
    pub(super) dialect: Dialect,
    pub(super) name: &'j str,
    /// The numbers of the values that it reads; [`ABSENT`] is none.
    pub(super) operands: Vec<i64>,
    /// The numbers of the values that it gives, and their types.
    pub(super) results: Vec<(i64, Ty)>,
    pub(super) attributes: Vec<(&'j str, Attribute)>,
    pub(super) regions: &'j [Value],
}

/// The number of an operand that is left out.
pub(super) const ABSENT: i64 = 0;

/// Where an operator comes from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Dialect {
    Builtin,
    Operator,
    ControlFlow,
    /// One that is read nowhere.
    Other,
}

/// The type of a value.
#[derive(Clone, PartialEq)]
pub(super) enum Ty {
    Tensor {
        element: VarKind,
        dims: Vec<i64>,
    },
    Array {
        element: VarKind,
        dims: Vec<i64>,
    },
    /// A list of values.
    List(Vec<Ty>),
    /// A type that is read nowhere, or none.
    Other,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Attribute {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// An element type; that of the operand if there is none.
    Element(Option<VarKind>),
    List(Vec<Attribute>),
    /// One that is read nowhere.
    Other,
}

impl Attribute {
    pub(super) fn int(&self) -> Option<i64> {
        if let Attribute::Int(value) = self { Some(*value) } else { None }
    }
}

impl<'j> Operation<'j> {
    pub(super) fn new(value: &'j Value) -> Result<Self, Wrong> {
        let object = object(value)?;
        let whole_name = text(field(object, "#")?)?;
        if whole_name == "p" {
            return parameter(object);
        }
        let (dialect, name) = whole_name.split_once('.').unwrap_or(("", whole_name));
        let dialect = match dialect {
            "0" => Dialect::Builtin,
            "1" => Dialect::Operator,
            "2" => Dialect::ControlFlow,
            _ => Dialect::Other,
        };
        let operands = list(field(object, "I")?)?.iter().map(|operand| number_of(operand, "%"));
        let results = list(field(object, "O")?)?.iter().map(result);
        let attributes = list(field(object, "A")?)?.iter().map(named_attribute);
        Ok(Operation {
            dialect,
            name,
            operands: operands.collect::<Result<_, _>>()?,
            results: results.collect::<Result<_, _>>()?,
            attributes: attributes.collect::<Result<_, _>>()?,
            regions: object.get("regions").map_or(Ok(&[][..]), list)?,
        })
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// The attribute of this name, which the operator has to have.
    pub(super) fn required(&self, name: &str) -> Result<&Attribute, Wrong> {
        self.attribute(name).ok_or_else(|| format!("it lacks its attribute `{name}`"))
    }

    /// The operand in a place, which the operator has to have.
    pub(super) fn operand(&self, place: usize) -> Result<i64, Wrong> {
        self.operands.get(place).copied().ok_or_else(|| format!("it lacks its operand {place}"))
    }

    /// The result in a place, which the operator has to have.
    pub(super) fn result(&self, place: usize) -> Result<&(i64, Ty), Wrong> {
        self.results.get(place).ok_or_else(|| format!("it lacks its result {place}"))
    }
}

/// Attributes of parameters have places instead of names.
fn parameter(object: &Map<String, Value>) -> Result<Operation<'_>, Wrong> {
    let of_value = list(field(object, "A")?)?;
    let name = text(of_value.get(3).ok_or("it has no name")?)?;
    let of_result = list(field(object, "OA")?)?;
    let flag = |place: usize| {
        of_result.get(place).is_some_and(|flag| flag.as_i64() == Some(1) || *flag == Value::Bool(true))
    };
    let flags = ["persistable", "stop_gradient", "trainable"].into_iter().enumerate();
    let flags = flags.map(|(place, name)| (name, Attribute::Bool(flag(place))));
    Ok(Operation {
        dialect: Dialect::Builtin,
        name: "parameter",
        operands: Vec::new(),
        results: vec![result(field(object, "O")?)?],
        attributes: flags.chain([("name", Attribute::Text(name.to_string()))]).collect(),
        regions: &[],
    })
}

/// The blocks of a region.
pub(super) fn blocks(region: &Value) -> Result<&[Value], Wrong> {
    list(field(object(region)?, "blocks")?)
}

/// The operators of a block.
pub(super) fn operators(block: &Value) -> Result<&[Value], Wrong> {
    list(field(object(block)?, "ops")?)
}

/// The numbers of the values that come into a block, and their types.
pub(super) fn arguments(block: &Value) -> Result<Vec<(i64, Ty)>, Wrong> {
    list(field(object(block)?, "args")?)?.iter().map(|argument| value_of(argument, "#")).collect()
}

/// The regions of a whole file.
pub(super) fn regions(file: &Value) -> Result<&[Value], Wrong> {
    let file = object(file)?;
    let magic = file.get("base_code").and_then(|code| code.get("magic"));
    if magic.and_then(Value::as_str) != Some("pir") {
        return Err("its `base_code` does not say `pir`".to_string());
    }
    list(field(object(field(file, "program")?)?, "regions")?)
}

/// The numbers of the values that operators write in place, whose names end with `_`: their first operands, and the second one of
/// `assign_out_`. Such a value is no constant, wherever the operator stands, as it may be in a loop.
pub(super) fn overwritten(regions: &[Value]) -> BTreeSet<i64> {
    let mut all = BTreeSet::new();
    for block in regions.iter().filter_map(|region| blocks(region).ok()).flatten() {
        for operator in operators(block).unwrap_or_default() {
            let name = operator.get("#").and_then(Value::as_str).filter(|name| name.ends_with('_'));
            let place = name.map(|name| usize::from(name.ends_with(".assign_out_")));
            all.extend(place.and_then(|place| operator.get("I")?.get(place)?.get("%")?.as_i64()));
            let inside = operator.get("regions").and_then(Value::as_array);
            all.extend(inside.map(|regions| overwritten(regions)).unwrap_or_default());
        }
    }
    all
}

fn result(value: &Value) -> Result<(i64, Ty), Wrong> {
    value_of(value, "%")
}

fn value_of(value: &Value, key: &str) -> Result<(i64, Ty), Wrong> {
    let ty = object(value)?.get("TT").map_or(Ok(Ty::Other), ty)?;
    Ok((number_of(value, key)?, ty))
}

fn number_of(value: &Value, key: &str) -> Result<i64, Wrong> {
    int(field(object(value)?, key)?)
}

fn ty(value: &Value) -> Result<Ty, Wrong> {
    let Some(object) = value.as_object() else { return Ok(Ty::Other) };
    let parts = || list(field(object, "D")?);
    let tensor = || {
        let parts = parts()?;
        let [of_elements, dims, ..] = parts else {
            return Err("a type of a tensor has no sizes".to_string());
        };
        let name = text(field(self::object(of_elements)?, "#")?)?;
        let element = element(name.trim_start_matches("0.t_"));
        let element = element.ok_or_else(|| format!("`{name}` is no type of elements"))?;
        Ok((element, list(dims)?.iter().map(int).collect::<Result<Vec<i64>, Wrong>>()?))
    };
    Ok(match text(field(object, "#")?)? {
        "0.t_dtensor" => {
            let (element, dims) = tensor()?;
            Ty::Tensor { element, dims }
        }
        "1.t_dense_tensor_array" => {
            let (element, dims) = tensor()?;
            Ty::Array { element, dims }
        }
        "0.t_vec" => Ty::List(parts()?.iter().map(ty).collect::<Result<_, _>>()?),
        _ => Ty::Other,
    })
}

fn named_attribute(value: &Value) -> Result<(&str, Attribute), Wrong> {
    let object = object(value)?;
    Ok((text(field(object, "N")?)?, attribute(field(object, "AT")?)?))
}

fn attribute(value: &Value) -> Result<Attribute, Wrong> {
    let object = object(value)?;
    let data = || field(object, "D");
    Ok(match text(field(object, "#")?)? {
        "0.a_bool" => Attribute::Bool(data()?.as_bool().ok_or("an attribute is no truth value")?),
        "0.a_i32" | "0.a_i64" | "0.a_index" => Attribute::Int(int(data()?)?),
        "0.a_f32" | "0.a_f64" => Attribute::Float(float(object)?),
        "0.a_str" => Attribute::Text(text(data()?)?.to_string()),
        "0.a_array" => Attribute::List(list(data()?)?.iter().map(attribute).collect::<Result<_, _>>()?),
        "1.a_intarray" => Attribute::List(
            list(data()?)?.iter().map(|value| int(value).map(Attribute::Int)).collect::<Result<_, _>>()?,
        ),
        "1.a_dtype" => Attribute::Element(element(text(data()?)?)),
        _ => Attribute::Other,
    })
}

/// Numbers that JSON lacks are words in another field.
fn float(object: &Map<String, Value>) -> Result<f64, Wrong> {
    match object.get("VD").and_then(Value::as_str) {
        Some("NaN") => Ok(f64::NAN),
        Some("INF") => Ok(f64::INFINITY),
        Some("-INF") => Ok(f64::NEG_INFINITY),
        Some(other) => Err(format!("`{other}` is no number")),
        None => field(object, "D")?.as_f64().ok_or_else(|| "an attribute is no number".to_string()),
    }
}

/// A type of elements by the name that it has in types or in attributes.
fn element(name: &str) -> Option<VarKind> {
    Some(match name {
        "bool" => VarKind::Bool,
        "ui8" | "uint8" => VarKind::Uint8,
        "i8" | "int8" => VarKind::Int8,
        "i16" | "int16" => VarKind::Int16,
        "i32" | "int32" => VarKind::Int32,
        "i64" | "int64" | "index" => VarKind::Int64,
        "f16" | "float16" => VarKind::Fp16,
        "bf16" | "bfloat16" => VarKind::Bf16,
        "f32" | "float32" => VarKind::Fp32,
        "f64" | "float64" => VarKind::Fp64,
        "c64" | "complex64" => VarKind::Complex64,
        "c128" | "complex128" => VarKind::Complex128,
        _ => return None,
    })
}

fn object(value: &Value) -> Result<&Map<String, Value>, Wrong> {
    value.as_object().ok_or_else(|| "a part of it is no object".to_string())
}

fn list(value: &Value) -> Result<&[Value], Wrong> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| "a part of it is no list".to_string())
}

fn text(value: &Value) -> Result<&str, Wrong> {
    value.as_str().ok_or_else(|| "a part of it is no text".to_string())
}

fn int(value: &Value) -> Result<i64, Wrong> {
    value.as_i64().ok_or_else(|| "a part of it is no whole number".to_string())
}

fn field<'j>(object: &'j Map<String, Value>, name: &str) -> Result<&'j Value, Wrong> {
    object.get(name).ok_or_else(|| format!("it has no `{name}`"))
}
