//! `uniform_random`, `gaussian_random`: what parameters are initialised with.
//!
//! Random numbers are counter-based: element `i` is a function of (seed, stream, `i`), whatever the order or the
//! number of threads. The stream of an initialiser is a hash of the parameter's name.

use super::{Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Sample, Schema};
use crate::program::{DType, Type, VarId};

/// Uniform on `[min, max)`.
#[derive(Clone, Debug, PartialEq)]
pub struct UniformRandom {
    /// Lower bound.
    pub min: f64,
    /// Upper bound, not reached.
    pub max: f64,
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
    /// The type of the result.
    pub ty: Type,
}

attributes!(UniformRandom { min = -1.0, max = 1.0, ty });
attributes!(GaussianRandom { mean = 0.0, std = 1.0, ty });

/// Both want floating-point elements and finite bounds.
fn check(ty: &Type, numbers: [f64; 2]) -> Result<Vec<Type>, Mismatch> {
    let wrong = |message: &str| {
        Err(Mismatch { input: None, kind: MismatchKind::Attribute, message: message.to_string() })
    };
    if !ty.dtype.is_float() {
        return wrong("random numbers are floating-point");
    }
    if numbers.iter().any(|number| !number.is_finite()) {
        return wrong("the bounds of random numbers have to be finite");
    }
    Ok(vec![ty.clone()])
}

impl Operation for UniformRandom {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "uniform_random",
            doc: "Uniform on [min, max).",
            inputs: &[],
            outputs: &["Out"],
            effects: Effects::RANDOM,
        }
    }

    fn infer(&self, _: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        check(&self.ty, [self.min, self.max])
    }

    fn gradient(&self, _: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(Vec::new())
    }

    fn prototypes() -> Vec<Self> {
        vec![UniformRandom { min: -1.0, max: 1.0, ty: Type::scalar(DType::F32) }]
    }

    fn samples() -> Vec<Sample> {
        let ty = Type::new(DType::F32, [40]);
        vec![Sample::of(UniformRandom { min: -0.5, max: 0.5, ty })]
    }
}

impl Operation for GaussianRandom {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "gaussian_random",
            doc: "Normal with mean and std.",
            inputs: &[],
            outputs: &["Out"],
            effects: Effects::RANDOM,
        }
    }

    fn infer(&self, _: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        check(&self.ty, [self.mean, self.std])
    }

    fn gradient(&self, _: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Ok(Vec::new())
    }

    fn prototypes() -> Vec<Self> {
        vec![GaussianRandom { mean: 0.0, std: 1.0, ty: Type::scalar(DType::F32) }]
    }

    fn samples() -> Vec<Sample> {
        let ty = Type::new(DType::F32, [40]);
        vec![Sample::of(GaussianRandom { mean: 1.0, std: 2.0, ty })]
    }
}
