//! The functions and types that stand for the language in editors and in rustc's lints.
//!
//! `network!` compiles a model's source to a program. Beside it, it emits the source once more as a function that never
//! runs, the ghost, in which every layer is a function of this module. So editors show a layer's documentation on
//! hover, and rustc reports unused variables as everywhere. Nothing here is to be called by hand.

use std::fmt;
use std::marker::PhantomData;

/// A value of a network.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Var(());

/// Formats a value in the name of parameters: `param = "block{i}"`.
impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("value")
    }
}

/// Anything that stands for a value: a variable of a type that editors show, a number, or the result of a layer.
#[doc(hidden)]
pub trait Value {}

impl<T> Value for T {}

/// The rows of a type, `_` in the language. Rust has no type `_`.
#[doc(hidden)]
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug)]
pub struct __(());

/// A size that differs between calls of a sub-network.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Any(());

/// The type of a variable that is a sequence.
#[doc(hidden)]
#[derive(Debug)]
pub struct Seq<T>(PhantomData<T>);

impl<T> Clone for Seq<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Seq<T> {}

/// The types of variables as editors show them: `Tensor<f32, __, 16>`. A dimension is a name or a number. Rust tells
/// type parameters from const parameters, so there is a `Tensor` for each combination: that of `name::number` has a
/// name, then a number.
#[doc(hidden)]
pub mod tensor {
    use std::marker::PhantomData;

    macro_rules! tensors {
        ([$($generics:tt)*] [$($given:ident)*] [$($names:ident)*]) => {
            /// The type of a variable.
            #[derive(Debug)]
            pub struct Tensor<E, $($generics)*>(PhantomData<(E, $($names),*)>);

            impl<E, $($generics)*> Clone for Tensor<E, $($given),*> {
                fn clone(&self) -> Self {
                    *self
                }
            }

            impl<E, $($generics)*> Copy for Tensor<E, $($given),*> {}
        };
        ([$($generics:tt)*] [$($given:ident)*] [$($names:ident)*] $next:ident $($left:ident)*) => {
            tensors!([$($generics)*] [$($given)*] [$($names)*]);

            /// The types whose next dimension is a name.
            pub mod name {
                use std::marker::PhantomData;

                tensors!([$($generics)* $next,] [$($given)* $next] [$($names)* $next] $($left)*);
            }

            /// The types whose next dimension is a number.
            pub mod number {
                use std::marker::PhantomData;

                tensors!([$($generics)* const $next: usize,] [$($given)* $next] [$($names)*] $($left)*);
            }
        };
    }
    tensors!([] [] [] A B C D F);
}

macro_rules! operators {
    ($($(#[doc = $doc:literal])* $name:ident $($update:ident)?;)*) => {
        /// The operators of the language.
        #[doc(hidden)]
        pub mod operator {
            use super::{Value, Var, v};

            $(
                $(#[doc = $doc])*
                pub fn $name(x: impl Value, y: impl Value) -> Var {
                    v((x, y))
                }

                $(
                    /// The result becomes the new value of a variable.
                    pub fn $update(value: impl Value, _: &mut impl Value) {
                        v(value);
                    }
                )?
            )*

            /// The negative, element by element.
            pub fn neg(x: impl Value) -> Var {
                v(x)
            }

            /// The logical negation, element by element.
            pub fn not(x: impl Value) -> Var {
                v(x)
            }
        }
    };
}
operators! {
    /// The sum, element by element.
    add add_assign;
    /// The difference, element by element.
    sub sub_assign;
    /// The product, element by element.
    mul mul_assign;
    /// The quotient, element by element. For integers it is rounded towards zero.
    div div_assign;
    /// The remainder of the division, element by element, with the sign of the divisor.
    rem rem_assign;
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
    /// Whether both are true, element by element. Both sides are computed.
    and;
    /// Whether at least one is true, element by element. Both sides are computed.
    or;
    /// The integers from the first number on.
    range;
}

/// A call of a sub-network whose parameters are named.
#[doc(hidden)]
pub fn named_by(x: Var, _: impl Value) -> Var {
    x
}

/// A constant, a tuple, or the result of a layer on these arguments.
#[doc(hidden)]
pub fn v<T>(_: T) -> Var {
    Var(())
}

/// An integer.
#[doc(hidden)]
pub fn integer(_: i64) -> Var {
    Var(())
}

/// A condition.
#[doc(hidden)]
pub fn cond(_: impl Value) -> bool {
    true
}

/// A value with the type of the variable or pattern that it is bound to.
#[doc(hidden)]
pub fn bound<T, U>(_: T) -> U {
    unreachable!("the source of a network is compiled to a program; it is not run by Rust")
}

/// The items that a `for` iterates over.
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
                   $($named:ident: $named_kind:ident $(($($named_word:ident),*))? $(= $default:literal)? $named_doc:literal),*)
       $($mark:ident)? => $build:expr;)*) => {$(
        $(#[doc = $doc])*
        ///
        $(#[doc = concat!("* `", stringify!($arg), "`: ", $arg_doc)])*
        pub fn $name($($arg: impl Value),*) -> Var {
            v(($($arg,)*))
        }
    )*};
}

macro_rules! named_arguments {
    ($($(#[doc = $doc:literal])*
       $name:ident($($arg:ident: $kind:ident $(($($word:ident),*))? $arg_doc:literal),*;
                   $($named:ident: $named_kind:ident $(($($named_word:ident),*))? $(= $default:literal)? $named_doc:literal),*)
       $($mark:ident)? => $build:expr;)*) => {
        $(named_arguments!(@marked $($mark)? (@of $name) [$($named: $named_kind $(($($named_word),*))? $(= $default)? $named_doc,)*]);)*
    };
    (@marked ($($front:tt)*) [$($named:tt)*]) => {
        named_arguments!($($front)* [$($named)*]);
    };
    // Layers with parameters have the arguments that all of them have.
    (@marked $mark:ident ($($front:tt)*) [$($named:tt)*]) => {
        paddle_core::with_parameter_arguments!($mark named_arguments! ($($front)*) [$($named)*]);
    };
    (@of $name:ident []) => {};
    (@of $name:ident [$($named:ident: $kind:ident $(($($word:ident),*))? $(= $default:literal)? $named_doc:literal,)+]) => {
        #[doc = concat!("Of [`", stringify!($name), "`](super::", stringify!($name), ").")]
        pub mod $name {
            $(
                #[doc = $named_doc]
                $(#[doc = concat!("`", $default, "` if it is left out.")])?
                pub fn $named(value: impl crate::ghost::Value) -> crate::ghost::Var {
                    crate::ghost::v(value)
                }
            )+
        }
    };
}

macro_rules! choices {
    ($($(#[doc = $doc:literal])*
       $name:ident($($arg:ident: $kind:ident $(($($word:ident),*))? $arg_doc:literal),*;
                   $($named:ident: $named_kind:ident $(($($named_word:ident),*))? $(= $default:literal)? $named_doc:literal),*)
       $($mark:ident)? => $build:expr;)*) => {$(
        #[doc = concat!("Of [`", stringify!($name), "`](super::", stringify!($name), ").")]
        pub mod $name {
            $(choices!(@of $arg [$($($word)*)?] $arg_doc);)*
            $(choices!(@of $named [$($($named_word)*)?] $named_doc $($default)?);)*
        }
    )*};
    (@of $argument:ident [] $doc:literal $($default:literal)?) => {};
    (@of $argument:ident [$($word:ident)+] $doc:literal) => {
        choices!(@words $argument [$($word)+] $doc, "");
    };
    (@of $argument:ident [$($word:ident)+] $doc:literal $default:literal) => {
        choices!(@words $argument [$($word)+] $doc, concat!("`", $default, "` if it is left out."));
    };
    (@words $argument:ident [$($word:ident)+] $doc:literal, $default:expr) => {
        #[doc = $doc]
        #[doc = $default]
        pub mod $argument {
            $(
                #[doc = $doc]
                #[doc = $default]
                pub fn $word() -> crate::ghost::Var {
                    crate::ghost::v(())
                }
            )+
        }
    };
}

macro_rules! families {
    ($($family:ident $with_layers:ident,)*) => {
        $(paddle_core::$with_layers!(layers);)*

        /// The named arguments of the layers that have some.
        #[doc(hidden)]
        pub mod named {
            $(paddle_core::$with_layers!(named_arguments);)*
        }

        /// The words that arguments of layers allow.
        #[doc(hidden)]
        pub mod choice {
            $(paddle_core::$with_layers!(choices);)*
        }
    };
}

paddle_core::with_layer_families!(families);
paddle_macros::__library!();

macro_rules! initializers {
    ($($(#[doc = $doc:literal])* $name:ident($($argument:ident),*) => $build:expr;)*) => {
        /// The initialisers of parameters.
        pub mod initializer {
            $(
                $(#[doc = $doc])*
                pub fn $name($($argument: impl super::Value),*) -> super::Var {
                    super::v(($($argument,)*))
                }
            )*
        }
    };
}

paddle_core::with_initializers!(initializers);
