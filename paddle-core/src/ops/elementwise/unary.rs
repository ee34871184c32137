//! Functions of one value.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LOG2_E, LOG10_E};

use super::coefficients::{self, Coefficients, Named};
use super::{BinaryKind, Real, class};
use crate::ops::{
    AccuracyClass, Attribute, AttributeError, AttributeReader, Attributes, Effects, Gradient, GradientError,
    Infer, Mismatch, MismatchKind, Operation, Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};
use crate::with_functions;

/// The value of the forward pass in terms of which a derivative is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saved {
    /// The input.
    X,
    /// The output.
    Out,
}

/// The range of samples of functions whose row has no `in`.
const TESTED: (f64, f64) = (-8.0, 8.0);

macro_rules! unary {
    ($d:tt $(
        $(#[doc = $doc:literal])*
        $mark:ident $name:ident $kind:ident $((
            $($arg:ident: $arg_kind:ident = $arg_default:literal $arg_doc:literal),*;
            $($named:ident: $named_kind:ident = $default:literal $named_doc:literal),*
        ))?
        [$class:ident, $slope_class:ident] $(in $tested:expr;)? $(if $valid:expr, $invalid:literal;)?
        |$x:ident| $formula:expr
        $(, int |$i:ident| $whole:expr)?
        $(, slope $saved:ident |$s:ident| $slope:expr)?;
    )*) => {
        /// Element-wise functions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum UnaryKind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl UnaryKind {
            /// All of them.
            pub const ALL: &'static [UnaryKind] = &[$(UnaryKind::$kind),*];

            /// The function's value.
            #[inline(always)]
            pub fn apply<T: Real>(self, value: T, coefficients: Coefficients) -> T {
                match self {
                    $(UnaryKind::$kind => {
                        bind!(T::of, coefficients $(, $($arg: $arg_kind)* $($named: $named_kind)*)?);
                        let $x = value;
                        $formula
                    })*
                }
            }

            /// The value on integers, which wraps around; 0 if the function is not defined on them, see
            /// [`Self::is_of_integers`].
            #[inline(always)]
            pub fn apply_int(self, value: i64, coefficients: Coefficients) -> i64 {
                match self {
                    $(UnaryKind::$kind => {
                        bind!(whole, coefficients $(, $($arg: $arg_kind)* $($named: $named_kind)*)?);
                        or!(0 $(, { let $i = value; $whole })?)
                    })*
                }
            }

            /// The derivative at the saved value, which is the input or the output, as the schema of the gradient says.
            /// 0 if the function has no derivative.
            #[inline(always)]
            pub fn derivative<T: Real>(self, saved: T, coefficients: Coefficients) -> T {
                match self {
                    $(UnaryKind::$kind => {
                        bind!(T::of, coefficients $(, $($arg: $arg_kind)* $($named: $named_kind)*)?);
                        or!(T::of(0.0) $(, { let $s = saved; $slope })?)
                    })*
                }
            }

            /// Whether the function is defined on integers too.
            pub const fn is_of_integers(self) -> bool {
                match self {
                    $(UnaryKind::$kind => unary!(@is $($whole)?),)*
                }
            }

            /// The names and defaults of the function's attributes.
            pub const fn attributes(self) -> &'static Named {
                match self {
                    $(UnaryKind::$kind => &[$(
                        $((stringify!($arg), number!($arg_kind $arg_default)),)*
                        $((stringify!($named), number!($named_kind $default)),)*
                    )?],)*
                }
            }

            /// What is wrong with the attributes, if they are not allowed.
            fn invalid(self, coefficients: Coefficients) -> Option<&'static str> {
                match self {
                    $(UnaryKind::$kind => {
                        bind!(f64::from, coefficients $(, $($arg: $arg_kind)* $($named: $named_kind)*)?);
                        unary!(@invalid $($valid, $invalid)?)
                    })*
                }
            }

            /// The value in terms of which the derivative is written; `None` for functions that are constant between
            /// jumps.
            const fn saved(self) -> Option<Saved> {
                match self {
                    $(UnaryKind::$kind => or!(None $(, Some(Saved::$saved))?),)*
                }
            }

            /// The accuracy class of the function, and that of its gradient.
            pub const fn accuracy(self) -> (AccuracyClass, AccuracyClass) {
                match self {
                    $(UnaryKind::$kind => (class::$class, class::$slope_class),)*
                }
            }

            /// The range from which samples are drawn.
            fn tested(self) -> (f64, f64) {
                match self {
                    $(UnaryKind::$kind => or!(TESTED $(, $tested)?),)*
                }
            }

            fn schema(self) -> &'static Schema {
                match self {
                    $(UnaryKind::$kind => const {
                        &Schema {
                            name: stringify!($name),
                            doc: concat!($($doc),*),
                            inputs: &[Slot::of("X")],
                            outputs: &[Slot::of("Out")],
                            accuracy: class::$class,
                            effects: Effects {
                                differentiable: UnaryKind::$kind.saved().is_some(),
                                ..Effects::ELEMENT_WISE
                            },
                        }
                    },)*
                }
            }

            /// The schema of the gradient.
            fn gradient_schema(self) -> &'static Schema {
                match self {
                    $(UnaryKind::$kind => const {
                        &Schema {
                            name: concat!(stringify!($name), "_grad"),
                            doc: concat!("Gradient of `", stringify!($name), "`."),
                            inputs: &[Slot::of(or!("X" $(, stringify!($saved))?)), Slot::of("Out@GRAD")],
                            outputs: &[Slot::of("X@GRAD")],
                            accuracy: class::$slope_class,
                            effects: Effects::ELEMENT_WISE,
                        }
                    },)*
                }
            }
        }

        /// Runs an expression with `$K` bound to a *constant* kind, so that a loop around `K.apply(x, ..)` is compiled
        /// once per function: `with_unary!(kind, K => xs.map(|x| K.apply(x, coefficients)))`.
        #[macro_export]
        macro_rules! with_unary {
            ($d kind:expr, $d K:ident => $d body:expr) => {
                match $d kind {
                    $($crate::ops::UnaryKind::$kind => {
                        const $d K: $crate::ops::UnaryKind = $crate::ops::UnaryKind::$kind;
                        $d body
                    })*
                }
            };
        }
    };
    (@invalid) => { None };
    (@invalid $valid:expr, $invalid:literal) => { if $valid { None } else { Some($invalid) } };
    (@is) => { false };
    (@is $formula:expr) => { true };
}

with_functions!(unary($));

/// An attribute as an integer, for formulas on integers.
#[inline(always)]
fn whole(coefficient: f64) -> i64 {
    coefficient as i64
}

/// An element-wise function. `X`: any shape; floating point, or integers if the function is defined on them. `Out` has
/// the same type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unary {
    /// The kind of function.
    pub kind: UnaryKind,
    /// Its attributes.
    pub coefficients: Coefficients,
}

/// The gradient of an element-wise function: `Out@GRAD` times the derivative at the saved value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnaryGrad {
    /// The kind of function.
    pub kind: UnaryKind,
    /// The attributes of the function.
    pub coefficients: Coefficients,
}

macro_rules! attributes_of {
    ($($function:ident: $kinds:expr;)*) => {$(
        impl $function {
            /// The function with default attributes.
            pub const fn of(kind: UnaryKind) -> Self {
                $function { kind, coefficients: coefficients::defaults(kind.attributes()) }
            }
        }

        impl Attributes for $function {
            fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
                coefficients::to_attributes(self.kind.attributes(), self.coefficients)
            }

            fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
                Ok($function { coefficients: coefficients::read(self.kind.attributes(), reader)?, ..*self })
            }

            fn prototypes() -> Vec<Self> {
                $kinds.map(|&kind| $function::of(kind)).collect()
            }
        }
    )*};
}
attributes_of! {
    Unary: UnaryKind::ALL.iter();
    UnaryGrad: UnaryKind::ALL.iter().filter(|kind| kind.saved().is_some());
}

impl Operation for Unary {
    fn schema(&self) -> &'static Schema {
        self.kind.schema()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        match self.kind.is_of_integers() {
            true => cx.need_number(0)?,
            false => cx.need_float(0)?,
        }
        match self.kind.invalid(self.coefficients) {
            Some(invalid) => Err(cx.fail(MismatchKind::Attribute, format!("`{}`: {invalid}", cx.operator))),
            None => Ok(vec![cx.ty(0).clone()]),
        }
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let saved = match self.kind.saved() {
            Some(Saved::X) => g.input(0),
            Some(Saved::Out) => g.output(0),
            None => return Ok(vec![None]),
        };
        let grad = g.grad(0)?;
        let op = UnaryGrad { kind: self.kind, coefficients: self.coefficients };
        Ok(vec![Some(g.emit(op, &[saved, grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        Unary::prototypes().into_iter().flat_map(Unary::cases).collect()
    }
}

impl Unary {
    fn cases(self) -> Vec<Sample> {
        let (low, high) = self.kind.tested();
        let case = || Sample::of(self);
        let other = Unary { coefficients: coefficients::others(self.kind.attributes()), ..self };
        let mut cases = vec![
            case().rows(3, &[4]).within(low, high),
            case().dense(&[]).within(low, high),
            case().rows(0, &[2]),
            Sample::of(other).rows(5, &[3]).within(low, high),
        ];
        if self.kind.is_of_integers() {
            let integers = |dtype| case().rows(3, &[4]).within(low, high).dtype(dtype);
            cases.extend([integers(DType::I32), integers(DType::I64)]);
        }
        cases
    }
}

impl Operation for UnaryGrad {
    fn schema(&self) -> &'static Schema {
        self.kind.gradient_schema()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.same_dtype(0, 1)?;
        Ok(vec![cx.broadcast(0, 1)?])
    }
}
