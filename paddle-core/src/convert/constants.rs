//! From the wire: operators without inputs, which are constants and initialise parameters.

use super::error::{Fault, VariableFault};
use super::foreign::anonymous;
use super::names::{FAN, TYPE};
use super::types::{dtype, fits, parse_dim, parse_type, wire_dims};
use crate::ops::{Fill, Foreign, GaussianRandom, Number, Op, UniformRandom};
use crate::program::{DType, Dim, Program, Type};
use crate::wire::{AttrType, OpDesc, VarKind};

/// The initialiser of a parameter of type `ty`; `None` if nothing is known of it but that it exists.
pub(super) fn initializer(program: &Program, desc: &OpDesc, ty: &Type) -> Result<Option<Op>, Fault> {
    if !desc.inputs.iter().all(|slot| slot.arguments.is_empty()) {
        return Ok(None);
    }
    match constant(program, desc)? {
        Some(op) => Ok(Some(op)),
        None if desc.outputs.iter().flat_map(|slot| &slot.arguments).count() == 1 => {
            let (name, desc) = (desc.r#type.clone(), anonymous(desc));
            Ok(Some(Foreign { name, desc, types: vec![ty.clone()] }.into()))
        }
        None => Ok(None),
    }
}

/// A constant or random numbers; `None` if it is another operator, or of a type that is not ours.
pub(super) fn constant(program: &Program, desc: &OpDesc) -> Result<Option<Op>, Fault> {
    let kind = desc.r#type.as_str();
    if !matches!(kind, "fill_constant" | "uniform_random" | "gaussian_random") {
        return Ok(None);
    }
    let Some(ty) = constant_type(program, desc)? else { return Ok(None) };
    Ok(Some(match kind {
        "fill_constant" => Fill { value: fill_value(desc, ty.dtype)?, ty }.into(),
        "uniform_random" => UniformRandom {
            min: float(desc, "min", "rust.min", -1.0)?,
            max: float(desc, "max", "rust.max", 1.0)?,
            fan: fan(program, desc)?,
            ty,
        }
        .resolved()
        .into(),
        _ => GaussianRandom {
            mean: float(desc, "mean", "rust.mean", 0.0)?,
            std: float(desc, "std", "rust.std", 1.0)?,
            fan: fan(program, desc)?,
            ty,
        }
        .resolved()
        .into(),
    }))
}

/// The size that random numbers go by.
fn fan(program: &Program, desc: &OpDesc) -> Result<Option<Dim>, Fault> {
    let Some(text) = desc.attr_string(FAN)? else { return Ok(None) };
    let wrong = || Fault::Attribute { attribute: FAN, message: format!("`{text}` is not a size") };
    parse_dim(program, text).ok_or_else(wrong).map(Some)
}

/// The type of an operator without inputs; `None` if some size comes from elsewhere.
fn constant_type(program: &Program, desc: &OpDesc) -> Result<Option<Type>, Fault> {
    let ty = match desc.attr_string(TYPE)? {
        Some(text) => parse_type(program, text).ok_or_else(|| Fault::Attribute {
            attribute: TYPE,
            message: format!("`{text}` is not a type"),
        })?,
        None => {
            let number = desc.attr_int("dtype")?.unwrap_or(VarKind::Fp32.into());
            let Some(dtype) = VarKind::try_from(number).ok().and_then(dtype) else { return Ok(None) };
            let shape = desc.attr_longs("shape")?.unwrap_or_default();
            if shape.contains(&-1) {
                return Ok(None);
            }
            Type::new(dtype, shape)
        }
    };
    if fits(&ty) {
        return Ok(Some(ty));
    }
    let dims = wire_dims(&ty);
    if dims.iter().all(|&dim| dim >= 0) {
        return Err(Fault::Size { ty: format!("{}{dims:?}", ty.dtype) });
    }
    let name = desc.output("Out").first().cloned().unwrap_or_default();
    Err(Fault::Variable { name, reason: VariableFault::Dimensions(dims) })
}

/// The value of a constant: `str_value` if there is one, which is exact.
pub(super) fn fill_value(desc: &OpDesc, dtype: DType) -> Result<Number, Fault> {
    let attribute = "str_value";
    let text = desc.attr_string(attribute)?.unwrap_or_default();
    let single = desc.attr_float("value")?.unwrap_or(0.0);
    let number = match text {
        "" => Number::Float(f64::from(single)),
        _ => match (text.parse(), text.parse()) {
            (Ok(int), _) => Number::Int(int),
            (_, Ok(float)) => Number::Float(float),
            _ => return Err(Fault::Attribute { attribute, message: format!("`{text}` is not a number") }),
        },
    };
    Ok(match dtype {
        DType::Bool => Number::Bool(number.as_f64() != 0.0),
        DType::I32 | DType::I64 => match number {
            Number::Float(value) => Number::Int(value as i64),
            number => number,
        },
        DType::F32 | DType::F64 => number,
    })
}

/// A number: the exact one, if it is there; else the one of single precision, as it is.
pub(super) fn float(desc: &OpDesc, name: &str, exact: &str, default: f64) -> Result<f64, Fault> {
    if let Some(attr) = desc.attr(exact)
        && attr.r#type == i32::from(AttrType::Float64)
        && let Some(value) = attr.float64
    {
        return Ok(value);
    }
    Ok(desc.attr_float(name)?.map_or(default, f64::from))
}
