//! Reads constants and random numbers, which also initialise parameters.

use super::foreign::anonymous;
use crate::convert::derived::float;
use crate::convert::dialect::{FAN, PATH, TYPE};
use crate::convert::error::{Fault, VariableFault};
use crate::convert::types::{dtype, parse_dim, parse_type, too_large, wire_dims};
use crate::ops::{
    AssignValue, Attributes, Fill, Foreign, GaussianRandom, Number, Op, Program, Range,
    TruncatedGaussianRandom, UniformRandom,
};
use crate::program::{DType, Dim, Type};
use crate::wire::{OpDesc, Scalar, VarKind};

/// The initialiser of a parameter of type `ty`; `None` if only the parameter's existence is known.
pub(in crate::convert) fn initializer(
    program: &Program,
    desc: &OpDesc,
    ty: &Type,
) -> Result<Option<Op>, Fault> {
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

/// The constant or the random numbers; `None` if the operator is another one, or has a type that is not ours.
pub(in crate::convert) fn constant(program: &Program, desc: &OpDesc) -> Result<Option<Op>, Fault> {
    let kind = desc.r#type.as_str();
    if !matches!(kind, "fill_constant" | "uniform_random" | "gaussian_random" | "truncated_gaussian_random") {
        return Ok(None);
    }
    constant_type(program, desc)?.map(|ty| constant_of_type(program, desc, ty)).transpose()
}

/// The constant or the random numbers, of type `ty`.
pub(in crate::convert) fn constant_of_type(program: &Program, desc: &OpDesc, ty: Type) -> Result<Op, Fault> {
    let of_mean_and_std = |mean, std| -> Result<[f64; 2], Fault> {
        Ok([float(desc, "mean")?.unwrap_or(mean), float(desc, "std")?.unwrap_or(std)])
    };
    Ok(match desc.r#type.as_str() {
        "fill_constant" | "fill_constant_batch_size_like" => {
            Fill { value: fill_value(desc, ty.dtype)?, ty }.into()
        }
        "uniform_random" | "uniform_random_batch_size_like" => {
            let UniformRandom { min, max, .. } = UniformRandom::prototypes()[0];
            let min = float(desc, "min")?.unwrap_or(min);
            let max = float(desc, "max")?.unwrap_or(max);
            let (fan, path) = (fan(program, desc)?, path(desc)?);
            UniformRandom { min, max, fan, path, ty }.resolved().into()
        }
        "truncated_gaussian_random" => {
            let TruncatedGaussianRandom { mean, std, .. } = TruncatedGaussianRandom::prototypes()[0];
            let [mean, std] = of_mean_and_std(mean, std)?;
            TruncatedGaussianRandom { mean, std, ty }.into()
        }
        _ => {
            let GaussianRandom { mean, std, .. } = GaussianRandom::prototypes()[0];
            let [mean, std] = of_mean_and_std(mean, std)?;
            let (fan, path) = (fan(program, desc)?, path(desc)?);
            GaussianRandom { mean, std, fan, path, ty }.resolved().into()
        }
    })
}

/// The name of the stream of random numbers.
fn path(desc: &OpDesc) -> Result<String, Fault> {
    Ok(desc.attr_string(PATH)?.unwrap_or_default().to_string())
}

/// The size on which random numbers depend.
fn fan(program: &Program, desc: &OpDesc) -> Result<Option<Dim>, Fault> {
    let Some(text) = desc.attr_string(FAN)? else { return Ok(None) };
    let wrong = || Fault::Attribute { attribute: FAN, message: format!("`{text}` is not a size") };
    parse_dim(program, text).ok_or_else(wrong).map(Some)
}

/// The type of an operator without inputs; `None` if one of its sizes is given elsewhere.
pub(in crate::convert) fn constant_type(program: &Program, desc: &OpDesc) -> Result<Option<Type>, Fault> {
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
    if ty.is_possible() {
        return Ok(Some(ty));
    }
    let dims = wire_dims(&ty);
    if dims.iter().all(|&dim| dim >= 0) {
        return Err(too_large(&ty));
    }
    let name = desc.output("Out").first().cloned().unwrap_or_default();
    Err(Fault::Variable { name, reason: VariableFault::Dimensions(dims) })
}

/// The value of a constant. If there is a `str_value`, it is exact and counts.
pub(in crate::convert) fn fill_value(desc: &OpDesc, dtype: DType) -> Result<Number, Fault> {
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

/// The elements, which are in the attribute of their element type, or in one of any type.
pub(in crate::convert) fn values(desc: &OpDesc, dtype: DType) -> Result<Vec<Number>, Fault> {
    let scalars = scalars(desc, "values");
    if !scalars.is_empty() {
        return Ok(scalars);
    }
    Ok(match dtype {
        DType::Bool => {
            let values = desc.attr_longs("bool_values")?.unwrap_or_default();
            values.into_iter().map(|value| Number::Bool(value != 0)).collect()
        }
        DType::I32 | DType::I64 => {
            let name = if dtype == DType::I32 { "int32_values" } else { "int64_values" };
            desc.attr_longs(name)?.unwrap_or_default().into_iter().map(Number::Int).collect()
        }
        DType::F32 => {
            let values = desc.attr_floats("fp32_values")?.unwrap_or_default();
            values.iter().map(|&value| Number::Float(value.into())).collect()
        }
        DType::F64 => {
            let values = desc.attr_doubles("fp64_values")?.unwrap_or_default();
            values.iter().map(|&value| Number::Float(value)).collect()
        }
    })
}

/// The numbers in an attribute that has each with its type.
pub(in crate::convert) fn scalars(desc: &OpDesc, attribute: &str) -> Vec<Number> {
    let number = |scalar: &Scalar| match (scalar.b, scalar.i, scalar.r) {
        (Some(value), ..) => Some(Number::Bool(value)),
        (_, Some(value), _) => Some(Number::Int(value)),
        (.., value) => value.map(Number::Float),
    };
    let found = desc.attr(attribute).map(|attr| &attr.scalars[..]).unwrap_or_default();
    found.iter().map_while(number).collect()
}

/// The constant or the random numbers that an operator without inputs gives.
pub(super) fn fill(program: &Program, desc: &OpDesc) -> Result<Op, Fault> {
    constant_of_type(program, desc, exact_type(program, desc)?)
}

pub(super) fn assign_value(program: &Program, desc: &OpDesc) -> Result<AssignValue, Fault> {
    let ty = exact_type(program, desc)?;
    Ok(AssignValue { values: values(desc, ty.dtype)?, ty }.rounded())
}

/// The numbers of a range are exact text.
pub(super) fn range(program: &Program, desc: &OpDesc) -> Result<Range, Fault> {
    let number = |attribute| {
        let text = desc.attr_string(attribute)?.unwrap_or_default();
        match (text.parse(), text.parse()) {
            (Ok(int), _) => Ok(Number::Int(int)),
            (_, Ok(float)) => Ok(Number::Float(float)),
            _ => Err(Fault::Attribute { attribute, message: format!("`{text}` is not a number") }),
        }
    };
    Ok(Range { start: number("start")?, step: number("step")?, ty: exact_type(program, desc)? })
}

/// The type of an operator without inputs, which our dialect always has.
fn exact_type(program: &Program, desc: &OpDesc) -> Result<Type, Fault> {
    constant_type(program, desc)?.ok_or_else(|| {
        let message = "its sizes are not known, and no exact type is beside it".to_string();
        Fault::Attribute { attribute: "shape", message }
    })
}
