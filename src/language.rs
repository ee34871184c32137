//! What the names of the language stand for in editors and in rustc's lints.
//!
//! `network!` compiles a model's source to a program; beside it, it emits the same source once more as a function
//! that never runs, in which every layer is a function of this module. So hovering over a layer shows its
//! documentation, and unused variables are reported as everywhere in Rust. Nothing here is to be called by hand.

use std::fmt;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Not, Rem, RemAssign, Sub, SubAssign};

/// A value of a network.
#[derive(Clone, Copy, Debug)]
pub struct Var(());

/// In the name of parameters: `param = "block{i}"`.
impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("value")
    }
}

macro_rules! operators {
    ($($name:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        impl $name for Var {
            type Output = Var;

            fn $method(self, _: Var) -> Var {
                self
            }
        }

        impl $assign for Var {
            fn $assign_method(&mut self, _: Var) {}
        }
    )*};
}
operators! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
    Rem rem RemAssign rem_assign;
}

impl Neg for Var {
    type Output = Var;

    fn neg(self) -> Var {
        self
    }
}

impl Not for Var {
    type Output = Var;

    fn not(self) -> Var {
        self
    }
}

macro_rules! functions {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        pub fn $name(x: Var, _: Var) -> Var {
            x
        }
    )*};
}
functions! {
    /// Whether `x < y`, element by element.
    lt;
    /// Whether `x <= y`, element by element.
    le;
    /// Whether `x > y`, element by element.
    gt;
    /// Whether `x >= y`, element by element.
    ge;
    /// Whether `x == y`, element by element.
    eq;
    /// Whether `x != y`, element by element.
    ne;
    /// Whether both hold, element by element. Both sides are computed.
    and;
    /// Whether one of both holds, element by element. Both sides are computed.
    or;
    /// Whole numbers, from the first on.
    range;
    /// A call of a sub-network whose parameters have a name.
    named_by;
}

/// A constant, several values as one, or a layer that is applied to the result of another.
#[doc(hidden)]
pub fn v<T>(_: T) -> Var {
    Var(())
}

/// A whole number.
#[doc(hidden)]
pub fn integer(_: i64) -> Var {
    Var(())
}

/// A condition.
#[doc(hidden)]
pub fn cond(_: Var) -> bool {
    true
}

/// A value where a pattern says of how many parts it is.
#[doc(hidden)]
pub fn unpacked<T, U>(_: T) -> U {
    unreachable!("the source of a network is compiled to a program; it is not run by Rust")
}

/// What a `for` goes over.
#[doc(hidden)]
pub fn each<T, U>(_: T) -> std::option::IntoIter<U> {
    None.into_iter()
}

/// A call with its named arguments.
#[doc(hidden)]
pub fn with<const N: usize>(x: Var, _: [Var; N]) -> Var {
    x
}

macro_rules! layers {
    ($($(#[doc = $doc:literal])*
       $name:ident($($arg:ident: $kind:ident $(($($word:ident),*))? $arg_doc:literal),*;
                   $($named:ident: $named_kind:ident $(($($named_word:ident),*))? $named_doc:literal),*)
       $($mark:ident)? => $build:expr;)*) => {$(
        $(#[doc = $doc])*
        ///
        $(#[doc = concat!("* `", stringify!($arg), "`: ", $arg_doc)])*
        pub fn $name($($arg: Var),*) -> Var {
            [$($arg),*][0]
        }
    )*};
}

macro_rules! named_arguments {
    ($($(#[doc = $doc:literal])*
       $name:ident($($arg:ident: $kind:ident $(($($word:ident),*))? $arg_doc:literal),*;
                   $($named:ident: $named_kind:ident $(($($named_word:ident),*))? $named_doc:literal),*)
       $($mark:ident)? => $build:expr;)*) => {
        $(named_arguments!(@marked $($mark)? (@of $name) [$($named: $named_kind $(($($named_word),*))? $named_doc,)*]);)*
    };
    // Layers with parameters have the arguments that all of them have.
    (@marked weights ($($front:tt)*) [$($named:tt)*]) => {
        paddle_core::with_parameter_arguments!(weights named_arguments! ($($front)*) [$($named)*]);
    };
    (@marked weights_and_bias ($($front:tt)*) [$($named:tt)*]) => {
        paddle_core::with_parameter_arguments!(weights_and_bias named_arguments! ($($front)*) [$($named)*]);
    };
    (@marked $($mark:ident)? ($($front:tt)*) [$($named:tt)*]) => {
        named_arguments!($($front)* [$($named)*]);
    };
    (@of $name:ident []) => {};
    (@of $name:ident [$($named:ident: $kind:ident $(($($word:ident),*))? $named_doc:literal,)+]) => {
        #[doc = concat!("Of [`", stringify!($name), "`](super::", stringify!($name), ").")]
        pub mod $name {
            $(
                #[doc = $named_doc]
                pub fn $named(value: crate::language::Var) -> crate::language::Var {
                    value
                }
            )+
        }
    };
}

macro_rules! choices {
    ($($(#[doc = $doc:literal])*
       $name:ident($($arg:ident: $kind:ident $(($($word:ident),*))? $arg_doc:literal),*;
                   $($named:ident: $named_kind:ident $(($($named_word:ident),*))? $named_doc:literal),*)
       $($mark:ident)? => $build:expr;)*) => {$(
        #[doc = concat!("Of [`", stringify!($name), "`](super::", stringify!($name), ").")]
        pub mod $name {
            $(choices!(@of $arg $arg_doc $($($word)*)?);)*
            $(choices!(@of $named $named_doc $($($named_word)*)?);)*
        }
    )*};
    (@of $argument:ident $doc:literal) => {};
    (@of $argument:ident $doc:literal $($word:ident)+) => {
        #[doc = $doc]
        pub mod $argument {
            $(
                #[doc = $doc]
                pub fn $word() -> crate::language::Var {
                    crate::language::v(())
                }
            )+
        }
    };
}

macro_rules! families {
    ($($family:ident $with_layers:ident,)*) => {
        $(paddle_core::$with_layers!(layers);)*

        /// The named arguments of the layers that have some.
        pub mod named {
            $(paddle_core::$with_layers!(named_arguments);)*
        }

        /// The words that arguments of layers allow.
        pub mod choice {
            $(paddle_core::$with_layers!(choices);)*
        }
    };
}

paddle_core::with_layer_families!(families);
paddle_macros::__library!();

macro_rules! initializers {
    ($($(#[doc = $doc:literal])* $name:ident($($argument:ident),*) => $build:expr;)*) => {
        /// What parameters are at first.
        pub mod initializer {
            $(
                $(#[doc = $doc])*
                pub fn $name($($argument: super::Var),*) -> super::Var {
                    super::v(($($argument,)*))
                }
            )*
        }
    };
}

paddle_core::with_initializers!(initializers);
