//! `uniform_random`, `gaussian_random`, `truncated_gaussian_random`: initial values of parameters, and noise.
//!
//! Random numbers are counter-based: element `i` is a function of (seed, step, iterations of the loops around, stream,
//! `i`), whatever the order or the number of threads. The stream of an initialiser is a hash of the parameter's name.
//! The optional input `Rows` has the number of each row of the result in the fed batch. With it, the elements of a row
//! are the same whether it is drawn with all rows or with some.

use std::collections::BTreeSet;

use super::{
    AccuracyClass, Effects, Infer, Mismatch, MismatchKind, OfShards, Operation, Operator, Program, Sample,
    Schema, Slot, row_numbers,
};
use crate::program::{DType, Dim, RowsId, Type};

/// Uniform on `[min, max)`.
#[derive(Clone, Debug, PartialEq)]
pub struct UniformRandom {
    /// Lower bound.
    pub min: f64,
    /// Upper bound, not reached.
    pub max: f64,
    /// A size that is bound later and on which the bounds depend. `min` and `max` are then the squares of the bounds,
    /// times this size, with the signs of the bounds.
    pub fan: Option<Dim>,
    /// The name of the operator's stream of random numbers. If it is empty, the stream has the name of the result.
    pub path: String,
    /// The type of the result.
    pub ty: Type,
}

/// Normal with the given mean and standard deviation.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianRandom {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
    /// A size that is bound later and on which the deviation depends. `std` is then the square of the deviation, times
    /// this size.
    pub fan: Option<Dim>,
    /// The name of the operator's stream of random numbers. If it is empty, the stream has the name of the result.
    pub path: String,
    /// The type of the result.
    pub ty: Type,
}

/// Normal, but no farther from the mean than two standard deviations. Numbers that are farther are drawn again.
#[derive(Clone, Debug, PartialEq)]
pub struct TruncatedGaussianRandom {
    /// Mean.
    pub mean: f64,
    /// The standard deviation of the numbers before the far ones are drawn again.
    pub std: f64,
    /// The type of the result.
    pub ty: Type,
}

impl UniformRandom {
    /// The operator with plain bounds, once the size is a number.
    pub fn resolved(self) -> Self {
        match constant(&self.fan) {
            Some(fan) => UniformRandom {
                min: signed_root(self.min / fan),
                max: signed_root(self.max / fan),
                fan: None,
                ..self
            },
            None => self,
        }
    }
}

impl GaussianRandom {
    /// The operator with a plain deviation, once the size is a number.
    pub fn resolved(self) -> Self {
        match constant(&self.fan) {
            Some(fan) => GaussianRandom { std: signed_root(self.std / fan), fan: None, ..self },
            None => self,
        }
    }
}

fn constant(fan: &Option<Dim>) -> Option<f64> {
    fan.as_ref().and_then(Dim::constant).map(|fan| fan as f64)
}

/// The root of the absolute value, with the sign of `square`: `-√2` for -2.
fn signed_root(square: f64) -> f64 {
    square.abs().sqrt().copysign(square)
}

attributes!(UniformRandom { min = -1.0, max = 1.0, fan = None, path = String::new(), ty: Type::scalar(DType::F32) } resolved);
attributes!(GaussianRandom { mean = 0.0, std = 1.0, fan = None, path = String::new(), ty: Type::scalar(DType::F32) } resolved);
attributes!(TruncatedGaussianRandom { mean = 0.0, std = 1.0, ty: Type::scalar(DType::F32) });

/// Checks that elements are floating point, that `numbers` are finite, and that the type has the size `fan`. An input
/// with the numbers of rows has to have one for each row.
fn check(cx: &Infer<'_>, ty: &Type, numbers: [f64; 2], fan: &Option<Dim>) -> Result<Vec<Type>, Mismatch> {
    let wrong = |message: &str| {
        Err(Mismatch { input: None, kind: MismatchKind::Attribute, message: message.to_string() })
    };
    if !ty.dtype.is_float() {
        return wrong("random numbers are floating-point");
    }
    if numbers.iter().any(|number| !number.is_finite()) {
        return wrong("the bounds of random numbers have to be finite");
    }
    let of_type: BTreeSet<_> = ty.dims.iter().flat_map(Dim::symbols).collect();
    let is_known = |fan: &Dim| fan.constant().is_some() || !fan.symbols().iter().all(|s| of_type.contains(s));
    if fan.as_ref().is_some_and(is_known) {
        return wrong("the size that random numbers go by has to be one of their type that is bound later");
    }
    if ty.rows.is_some_and(|rows| rows.0 as usize >= cx.program.row_spaces().len()) {
        return wrong("the type names a row space that the program does not have");
    }
    row_numbers::check(cx, 0, ty.rows)?;
    Ok(vec![ty.clone()])
}

impl Operation for UniformRandom {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "uniform_random",
                doc: "Uniform on [min, max).",
                inputs: &[Slot::of("Rows").variadic().without_gradient()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("drawn in f64 and rounded once"),
                effects: Effects::RANDOM,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        if self.min > self.max {
            let message = format!("there is nothing between {:?} and {:?}", self.min, self.max);
            return Err(Mismatch { input: None, kind: MismatchKind::Attribute, message });
        }
        check(cx, &self.ty, [self.min, self.max], &self.fan)
    }

    fn random_stream(&self) -> Option<&str> {
        (!self.path.is_empty()).then_some(&self.path)
    }

    fn of_shards(&self, _: &Program, operator: &Operator, _output: usize) -> OfShards {
        row_numbers::drawn(operator, 0)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |path: &str, ty| UniformRandom { min: -0.5, max: 0.5, fan: None, path: path.into(), ty };
        let of_rows = |rows, size: i64| {
            let ty = Type { rows: Some(RowsId(0)), ..Type::new(DType::F32, [size]) };
            Sample::of(of("noise", ty)).rows(rows, &[]).dtype(DType::I64).within(0.0, 9.0)
        };
        vec![
            Sample::of(of("", Type::new(DType::F32, [40]))),
            Sample::of(of("", Type::new(DType::F64, [0]))),
            of_rows(5, 3),
            of_rows(0, 3),
        ]
    }
}

impl Operation for GaussianRandom {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "gaussian_random",
                doc: "Normal with mean and std.",
                inputs: &[Slot::of("Rows").variadic().without_gradient()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("drawn in f64 and rounded once"),
                effects: Effects::RANDOM,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        if self.std < 0.0 {
            let message = format!("a deviation is not negative, but {:?} is", self.std);
            return Err(Mismatch { input: None, kind: MismatchKind::Attribute, message });
        }
        check(cx, &self.ty, [self.mean, self.std], &self.fan)
    }

    fn random_stream(&self) -> Option<&str> {
        (!self.path.is_empty()).then_some(&self.path)
    }

    fn of_shards(&self, _: &Program, operator: &Operator, _output: usize) -> OfShards {
        row_numbers::drawn(operator, 0)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |path: &str, ty| GaussianRandom { mean: 1.0, std: 2.0, fan: None, path: path.into(), ty };
        let of_rows = |rows, size: i64| {
            let ty = Type { rows: Some(RowsId(0)), ..Type::new(DType::F32, [size]) };
            Sample::of(of("noise", ty)).rows(rows, &[]).dtype(DType::I64).within(0.0, 9.0)
        };
        vec![Sample::of(of("", Type::new(DType::F32, [40]))), of_rows(700, 3), of_rows(1, 4)]
    }
}

impl Operation for TruncatedGaussianRandom {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "truncated_gaussian_random",
                doc: "Normal with mean and std, within two std of the mean.",
                inputs: &[],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("drawn in double precision and rounded once"),
                effects: Effects::RANDOM,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        if self.std < 0.0 {
            let message = format!("a deviation is not negative, but {:?} is", self.std);
            return Err(Mismatch { input: None, kind: MismatchKind::Attribute, message });
        }
        check(cx, &self.ty, [self.mean, self.std], &None)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let ty = Type::new(DType::F32, [300]);
        vec![Sample::of(TruncatedGaussianRandom { mean: 1.0, std: 2.0, ty })]
    }
}
