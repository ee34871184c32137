//! Initialisers: the operators that give parameters their first values. The table is the source of the checks of
//! `init = ..`, of the suggestions in messages, and of the documented functions that editors show.

use crate::ops::{Fill, GaussianRandom, Number, Op, TruncatedGaussianRandom, UniformRandom};
use crate::program::{Dim, DimOverflow, Type};

/// An initialiser of the language.
#[derive(Clone, Copy, Debug)]
pub struct Initializer {
    /// The name.
    pub name: &'static str,
    /// The values that it draws.
    pub doc: &'static str,
    /// The names of its arguments, which are numbers, in order.
    pub arguments: &'static [&'static str],
    /// Makes the operator that initialises a parameter of a type.
    build: Build,
}

/// Makes an operator from the arguments' numbers and the parameter's type.
type Build = fn(&[f64], Type) -> Result<Op, DimOverflow>;

impl Initializer {
    /// The initialiser of this name.
    pub fn find(name: &str) -> Option<&'static Initializer> {
        INITIALIZERS.iter().find(|initializer| initializer.name == name)
    }

    /// The operator that initialises a parameter of this type. `numbers` are as many as there are arguments.
    pub(crate) fn op(&self, numbers: &[f64], ty: Type) -> Result<Op, DimOverflow> {
        (self.build)(numbers, ty)
    }
}

/// Passes the table of initialisers to a macro: `with_initializers!(callback)`.
///
/// A row: documentation, name, the names of its arguments, and the operator that it becomes.
#[macro_export]
macro_rules! with_initializers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Every element is `value`.
            constant(value)
                => |numbers, ty| Ok(Fill { value: Number::Float(numbers[0]), ty }.into());

            /// Uniform between `min` and `max`.
            uniform(min, max)
                => |numbers, ty| Ok(UniformRandom { min: numbers[0], max: numbers[1], fan: None, path: String::new(), ty }.into());

            /// Normally distributed.
            normal(mean, deviation)
                => |numbers, ty| Ok(GaussianRandom { mean: numbers[0], std: numbers[1], fan: None, path: String::new(), ty }.into());

            /// Normally distributed, and drawn again where it is farther from the mean than two deviations.
            truncated_normal(mean, deviation)
                => |numbers, ty| Ok(TruncatedGaussianRandom { mean: numbers[0], std: numbers[1], ty }.into());

            /// Uniform within `±√(6 / (inputs + outputs))`, which keeps the variance of values and gradients from layer
            /// to layer (Glorot and Bengio 2010, eq. 16).
            xavier()
                => |_, ty| xavier(ty);

            /// Normally distributed with deviation `√(2 / inputs)`, for layers followed by `relu` (He et al. 2015,
            /// eq. 10).
            msra()
                => |_, ty| msra(ty);
        }
    };
}

macro_rules! table {
    ($($(#[doc = $doc:literal])* $name:ident($($argument:ident),*) => $build:expr;)*) => {
        /// Every initialiser of the language.
        pub const INITIALIZERS: &[Initializer] = &[$(Initializer {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            arguments: &[$(stringify!($argument)),*],
            build: $build,
        }),*];
    };
}

with_initializers!(table);

/// The initialiser of a weight of this type in fully connected layers.
pub(crate) fn xavier(ty: Type) -> Result<Op, DimOverflow> {
    let (inputs, outputs) = fans(&ty)?;
    let fan = Some((&inputs + &outputs)?);
    Ok(UniformRandom { min: -6.0, max: 6.0, fan, path: String::new(), ty }.resolved().into())
}

/// The initialiser of a weight of this type in convolutions.
pub(crate) fn msra(ty: Type) -> Result<Op, DimOverflow> {
    let (inputs, _) = fans(&ty)?;
    Ok(GaussianRandom { mean: 0.0, std: 2.0, fan: Some(inputs), path: String::new(), ty }.resolved().into())
}

/// The initialiser that gives every element this value.
pub(crate) fn constant(value: f64, ty: Type) -> Op {
    Fill { value: Number::Float(value), ty }.into()
}

/// The fan-in and the fan-out of a weight: how many inputs an element of the layer's result has, and into how many
/// results an input goes. They are counted as PaddlePaddle counts them, for matrices `[inputs, outputs]` and filters
/// `[outputs, inputs, ..]`.
fn fans(ty: &Type) -> Result<(Dim, Dim), DimOverflow> {
    match &ty.dims[..] {
        [] => Ok((Dim::from(1), Dim::from(1))),
        [size] => Ok((size.clone(), size.clone())),
        [inputs, outputs] => Ok((inputs.clone(), outputs.clone())),
        [outputs, inputs, field @ ..] => {
            let field = field.iter().try_fold(Dim::from(1), |product, size| &product * size)?;
            Ok(((inputs * &field)?, (outputs * &field)?))
        }
    }
}

/// An initialiser as the language writes it.
pub(crate) fn show(initializer: &Op) -> String {
    let is = |op: Result<Op, DimOverflow>| op.as_ref() == Ok(initializer);
    match initializer {
        Op::UniformRandom(op) if is(xavier(op.ty.clone())) => "xavier()".to_string(),
        Op::GaussianRandom(op) if is(msra(op.ty.clone())) => "msra()".to_string(),
        Op::Fill(Fill { value, .. }) => format!("constant({value})"),
        Op::UniformRandom(UniformRandom { min, max, .. }) => format!("uniform({min:?}, {max:?})"),
        Op::GaussianRandom(GaussianRandom { mean, std, .. }) => format!("normal({mean:?}, {std:?})"),
        Op::TruncatedGaussianRandom(TruncatedGaussianRandom { mean, std, .. }) => {
            format!("truncated_normal({mean:?}, {std:?})")
        }
        other => other.name().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{DType, SymbolId};

    fn ty(dims: &[Dim]) -> Type {
        Type { dtype: DType::F32, rows: None, dims: dims.to_vec() }
    }

    #[test]
    fn bounds_follow_from_the_shape() {
        let uniform = |bound: f64, ty| {
            Op::from(UniformRandom { min: -bound, max: bound, fan: None, path: String::new(), ty })
        };
        let normal =
            |std: f64, ty| Op::from(GaussianRandom { mean: 0.0, std, fan: None, path: String::new(), ty });
        let matrix = Type::new(DType::F32, [13, 8]);
        let filters = Type::new(DType::F32, [8, 3, 5, 5]);
        assert_eq!(xavier(matrix.clone()), Ok(uniform((6.0f64 / 21.0).sqrt(), matrix.clone())));
        assert_eq!(xavier(filters.clone()), Ok(uniform((6.0f64 / 275.0).sqrt(), filters.clone())));
        assert_eq!(msra(filters.clone()), Ok(normal((2.0f64 / 75.0).sqrt(), filters.clone())));
        assert_eq!(show(&xavier(matrix.clone()).unwrap()), "xavier()");
        assert_eq!(show(&msra(filters).unwrap()), "msra()");
        assert_eq!(show(&constant(0.5, matrix)), "constant(0.5)");
    }

    /// A parameter gets the same bits if its sizes are bound later.
    #[test]
    fn sizes_may_be_bound_later() {
        let symbolic = xavier(ty(&[Dim::symbol(SymbolId(0)), Dim::from(8)])).unwrap();
        let Op::UniformRandom(UniformRandom { fan: Some(fan), .. }) = &symbolic else {
            panic!("{symbolic:?} has no fan")
        };
        let bound = fan.substitute(&|_| Dim::from(13)).unwrap();
        let matrix = ty(&[Dim::from(13), Dim::from(8)]);
        let op =
            UniformRandom { min: -6.0, max: 6.0, fan: Some(bound), path: String::new(), ty: matrix.clone() };
        assert_eq!(xavier(matrix), Ok(op.resolved().into()));
    }
}
