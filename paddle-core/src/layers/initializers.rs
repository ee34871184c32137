//! Initialisers: what parameters are at first. One table, from which come the checks of `init = ..`, the suggestions of
//! messages, and the documented functions that editors show.

use crate::ops::{Fill, GaussianRandom, Number, Op, UniformRandom};
use crate::program::Type;

/// How many values go into an element of a layer's result, and into how many results an input goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fans {
    /// Inputs.
    pub inputs: f64,
    /// Outputs.
    pub outputs: f64,
}

/// An initialiser of the language.
#[derive(Clone, Copy, Debug)]
pub struct Initializer {
    /// The name.
    pub name: &'static str,
    /// What it draws.
    pub doc: &'static str,
    /// Its arguments, numbers, in order.
    pub arguments: &'static [&'static str],
    /// The operator that initialises a parameter of this type.
    pub build: fn(&[f64], Fans, Type) -> Op,
}

impl Initializer {
    /// The initialiser of this name.
    pub fn find(name: &str) -> Option<&'static Initializer> {
        INITIALIZERS.iter().find(|initializer| initializer.name == name)
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
                => |numbers, _, ty| Fill { value: Number::Float(numbers[0]), ty }.into();

            /// Uniform between `min` and `max`.
            uniform(min, max)
                => |numbers, _, ty| UniformRandom { min: numbers[0], max: numbers[1], ty }.into();

            /// Normally distributed.
            normal(mean, deviation)
                => |numbers, _, ty| GaussianRandom { mean: numbers[0], std: numbers[1], ty }.into();

            /// Uniform within `±√(6 / (inputs + outputs))`, which keeps the variance of values and gradients from layer
            /// to layer (Glorot and Bengio 2010, eq. 16).
            xavier()
                => |_, fans, ty| {
                    let bound = (6.0 / (fans.inputs + fans.outputs)).sqrt();
                    UniformRandom { min: -bound, max: bound, ty }.into()
                };

            /// Normally distributed with deviation `√(2 / inputs)`, for layers followed by `relu` (He et al. 2015,
            /// eq. 10).
            msra()
                => |_, fans, ty| GaussianRandom { mean: 0.0, std: (2.0 / fans.inputs).sqrt(), ty }.into();
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
