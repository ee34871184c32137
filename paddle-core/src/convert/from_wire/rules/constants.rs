//! Rules for constants and random numbers, which also initialise parameters.

use super::foreign::anonymous;
use crate::convert::derived::float;
use crate::convert::dialect::{FAN, PATH, TYPE};
use crate::convert::from_wire::{ConvertError, Fault, Reading, VariableFault, one};
use crate::convert::types::{dtype, parse_dim, parse_type, too_large, wire_dims};
use crate::ops::{
    AssignValue, Attributes, Fill, Foreign, GaussianRandom, Number, OneHot, Op, Program, Range,
    TruncatedGaussianRandom, UniformRandom,
};
use crate::program::{DType, Dim, Type};
use crate::wire::{OpDesc, Scalar, VarKind};

/// The most numbers that are listed: a few bytes could ask for many.
const MOST_NUMBERS: f64 = (1 << 20) as f64;

/// The initialiser of a parameter of type `ty`; `None` if only the parameter's existence is known.
pub(in crate::convert::from_wire) fn initializer(
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
pub(super) fn constant(program: &Program, desc: &OpDesc) -> Result<Option<Op>, Fault> {
    let kind = desc.r#type.as_str();
    if !matches!(kind, "fill_constant" | "uniform_random" | "gaussian_random" | "truncated_gaussian_random") {
        return Ok(None);
    }
    constant_type(program, desc)?.map(|ty| constant_of_type(program, desc, ty)).transpose()
}

/// The constant or the random numbers, of type `ty`.
pub(super) fn constant_of_type(program: &Program, desc: &OpDesc, ty: Type) -> Result<Op, Fault> {
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

/// The elements, which are in the attribute of their element type, or in one of any type.
fn values(desc: &OpDesc, dtype: DType) -> Result<Vec<Number>, Fault> {
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
pub(super) fn scalars(desc: &OpDesc, attribute: &str) -> Vec<Number> {
    let number = |scalar: &Scalar| match (scalar.b, scalar.i, scalar.r) {
        (Some(value), ..) => Some(Number::Bool(value)),
        (_, Some(value), _) => Some(Number::Int(value)),
        (.., value) => value.map(Number::Float),
    };
    let found = desc.attr(attribute).map(|attr| &attr.scalars[..]).unwrap_or_default();
    found.iter().map_while(number).collect()
}

/// Evenly spaced numbers, rounded as in PaddlePaddle: the second half is counted from the end.
fn evenly(start: f64, stop: f64, count: i64) -> impl Iterator<Item = f64> {
    let step = (stop - start) / (count - 1).max(1) as f64;
    (0..count).map(move |i| match i < count / 2 || count == 1 {
        true => start + step * i as f64,
        false => stop - step * (count - 1 - i) as f64,
    })
}

impl Reading<'_, '_> {
    pub(super) fn assign_value(&mut self) -> Result<bool, ConvertError> {
        let Some(ty) = constant_type(&self.reader.draft.program, self.desc)? else { return Ok(false) };
        let values = values(self.desc, ty.dtype)?;
        self.out(AssignValue { values, ty }.rounded(), &[])
    }

    /// A range of our own dialect.
    pub(super) fn own_range(&mut self) -> Result<bool, ConvertError> {
        let Some(ty) = constant_type(&self.reader.draft.program, self.desc)? else { return Ok(false) };
        let number = |attribute| {
            let text = self.desc.attr_string(attribute)?.unwrap_or_default();
            match (text.parse(), text.parse()) {
                (Ok(int), _) => Ok(Number::Int(int)),
                (_, Ok(float)) => Ok(Number::Float(float)),
                _ => Err(Fault::Attribute { attribute, message: format!("`{text}` is not a number") }),
            }
        };
        let (start, step) = (number("start")?, number("step")?);
        self.out(Range { start, step, ty }, &[])
    }

    /// The only number of a constant in a slot.
    fn only(&self, slot: &'static str) -> Result<Option<Number>, Fault> {
        let numbers = self.constant_of(self.input(slot)?);
        Ok(numbers.and_then(|numbers| if let [one] = numbers[..] { Some(one) } else { None }))
    }

    /// The numbers from `Start` to before `End`: constants, a size that a batch has, or what a run computes.
    pub(super) fn range(&mut self) -> Result<bool, ConvertError> {
        if let Some(range) = self.range_of_size()? {
            return self.out(range, &[]);
        }
        let (Some(start), Some(end), Some(step)) =
            (self.only("Start")?, self.only("End")?, self.only("Step")?)
        else {
            return self.computed_range();
        };
        let dtype = self.ty(self.input("Start")?).dtype;
        let count = ((end.as_f64() - start.as_f64()) / step.as_f64()).ceil();
        // The number of elements is NaN or negative, or more than fit into any memory.
        if !(0.0..1e15).contains(&count) {
            return Ok(false);
        }
        self.out(Range { start, step, ty: Type::new(dtype, [count as i64]) }, &[])
    }

    fn computed_range(&mut self) -> Result<bool, ConvertError> {
        // Beside operators that stay foreign, and give what is declared, the size of a run's own would not fit.
        if self.reader.found.is_none() && self.reader.has_unknown() {
            return Ok(false);
        }
        let (limits, desc) = ([self.input("Start")?, self.input("End")?, self.input("Step")?], self.desc);
        match self.at().range_between(limits)? {
            Some(numbers) => self.named_value(one(desc.output("Out"), "Out")?, numbers),
            None => self.lacks("its start, end or step is not one number, or has rows"),
        }
    }

    /// The whole numbers from a known one to before a size that a batch has.
    fn range_of_size(&mut self) -> Result<Option<Range>, Fault> {
        let [end, start, step] =
            [self.dims("", "End", "")?, self.dims("", "Start", "")?, self.dims("", "Step", "")?];
        let (Some([end]), Some([start]), Some([step])) = (end.as_deref(), start.as_deref(), step.as_deref())
        else {
            return Ok(None);
        };
        let ty = self.ty(self.input("End")?);
        let Some(first) = start.constant().filter(|_| step.constant() == Some(1)) else { return Ok(None) };
        if end.constant().is_some() || ty.dtype.is_float() {
            return Ok(None);
        }
        let Ok(size) = end - start else { return Ok(None) };
        let ty = Type { dtype: ty.dtype, rows: None, dims: vec![size] };
        Ok(Some(Range { start: Number::Int(first), step: Number::Int(1), ty }))
    }

    /// `Num` numbers from `Start` to `Stop`, which have to be constants.
    pub(super) fn linspace(&mut self) -> Result<bool, ConvertError> {
        let (Some(start), Some(stop), Some(count)) =
            (self.only("Start")?, self.only("Stop")?, self.only("Num")?)
        else {
            return Ok(false);
        };
        let kind = self.desc.attr_int("dtype")?.unwrap_or(VarKind::Fp32.into());
        let Some(dtype) = VarKind::try_from(kind).ok().and_then(dtype) else { return Ok(false) };
        let count = count.as_i64().filter(|&count| count > 0 && count as f64 <= MOST_NUMBERS);
        let (Some(count), true) = (count, dtype != DType::Bool) else { return Ok(false) };
        let number =
            |value: f64| if dtype.is_float() { Number::Float(value) } else { Number::Int(value as i64) };
        // `logspace` has powers of a base.
        let base = if self.has(&["Base"]) { self.only("Base")?.map(|base| base.as_f64()) } else { None };
        if base.is_none() && self.desc.r#type == "logspace" {
            return Ok(false);
        }
        let power = |place: f64| base.map_or(place, |base| base.powf(place));
        let values = evenly(start.as_f64(), stop.as_f64(), count).map(power).map(number).collect();
        self.out(AssignValue { values, ty: Type::new(dtype, [count]) }.rounded(), &[])
    }

    /// The identity matrix is the one-hot rows of 0, 1, 2, ….
    pub(super) fn eye(&mut self) -> Result<bool, ConvertError> {
        let rows = self.desc.attr_long("num_rows")?.unwrap_or(0);
        let columns = self.desc.attr_long("num_columns")?.filter(|&columns| columns >= 0).unwrap_or(rows);
        let kind = self.desc.attr_int("dtype")?.unwrap_or(VarKind::Fp32.into());
        let Some(dtype) = VarKind::try_from(kind).ok().and_then(dtype) else { return Ok(false) };
        if rows < 1 || columns < 1 {
            return Ok(false);
        }
        let numbers =
            Range { start: Number::Int(0), step: Number::Int(1), ty: Type::new(DType::I64, [rows]) };
        let numbers = self.emit(numbers, &[])?;
        self.out(OneHot { depth: Dim::from(columns), dtype, allow_out_of_range: true }, &[numbers])
    }
}
