//! Layers that are functions of one value: the rows of the operators' table.

use super::Call;
use crate::ops::{Coefficients, Number, Operation, Unary, UnaryKind};
use crate::program::{BuildError, VarId};

/// Passes the functions of one value as layers to a macro; see
/// [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_function_layers {
    ($($callback:ident)::+) => {
        $crate::with_functions! { $crate::function_layers (($($callback)::+)) }
    };
}

/// Turns rows of functions into rows of layers.
#[doc(hidden)]
#[macro_export]
macro_rules! function_layers {
    (($($callback:ident)::+) $(
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
        $($callback)::+! {$(
            $(#[doc = $doc])*
            ///
            /// Element by element.
            $name(x: Value "The argument." $($(, $arg: $arg_kind $arg_doc)*)?;
                  $($($named: $named_kind = $default $named_doc),*)?) $mark
                => |call| unary(call, UnaryKind::$kind);
        )*}
    };
}

with_function_layers!(layers);

/// The value of a layer for a number, if the layer is a function of one number and nothing else: `sqrt`, `exp`.
pub fn of_number(layer: &str, number: Number) -> Option<Number> {
    let is_it = |kind: &&UnaryKind| {
        let op = Unary::of(**kind);
        op.schema().name == layer && kind.attributes().is_empty()
    };
    let kind = UnaryKind::ALL.iter().find(is_it)?;
    let none = Unary::of(*kind).coefficients;
    match number {
        Number::Bool(_) => None,
        Number::Int(whole) if kind.is_of_integers() => Some(Number::Int(kind.apply_int(whole, none))),
        number => Some(Number::Float(kind.apply(number.as_f64(), none))),
    }
}

fn unary(call: &mut Call<'_>, kind: UnaryKind) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let op =
        Unary { kind, coefficients: coefficients(call, Unary::of(kind).coefficients, kind.attributes()) };
    let last = call.layer.positional.last().map_or("x", |argument| argument.name);
    Ok(call.emit_with(last, op, &[x])?[0])
}

/// The attributes of a formula: those of the call, or their defaults.
pub(super) fn coefficients(
    call: &Call<'_>,
    mut coefficients: Coefficients,
    attributes: &[(&'static str, Number)],
) -> Coefficients {
    for (coefficient, (name, _)) in coefficients.iter_mut().zip(attributes) {
        let flag = || call.given_flag(name).map(|flag| f64::from(u8::from(flag)));
        let given =
            call.given_number(name).or_else(flag).or_else(|| call.given_int(name).map(|int| int as f64));
        *coefficient = given.unwrap_or(*coefficient);
    }
    coefficients
}
