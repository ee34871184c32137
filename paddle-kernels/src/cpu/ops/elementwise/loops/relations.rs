//! The loops whose results are truth values.

use std::marker::PhantomData;

use paddle_core::ops::{Coefficients, CompareKind, LogicalKind, PredicateKind};
use paddle_core::program::DType;

use super::{Loop, One, Two, one, two};
use crate::cpu::number::{Element, Float};

/// Comparison of values of an element type.
pub(in crate::cpu::ops::elementwise) fn compare(kind: CompareKind, dtype: DType) -> Loop {
    macro_rules! of {
        ($($kind:ident),*) => {
            match kind {
                $(CompareKind::$kind => {
                    struct Of<T>(PhantomData<T>);
                    impl<T: Element + PartialOrd> Two for Of<T> {
                        type From = T;
                        type To = u8;
                        #[inline(always)]
                        fn apply<const FUSED: bool>(x: T, y: T, _: Coefficients) -> u8 {
                            CompareKind::$kind.holds(x, y).into()
                        }
                    }
                    match dtype {
                        DType::Bool => two::<Of<u8>> as Loop,
                        DType::I32 => two::<Of<i32>>,
                        DType::I64 => two::<Of<i64>>,
                        DType::F32 => two::<Of<f32>>,
                        DType::F64 => two::<Of<f64>>,
                    }
                })*
            }
        };
    }
    of!(LessThan, LessEqual, GreaterThan, GreaterEqual, Equal, NotEqual)
}

/// A truth function.
pub(in crate::cpu::ops::elementwise) fn logical(kind: LogicalKind) -> Loop {
    macro_rules! of {
        ($($kind:ident),*) => {
            match kind {
                $(LogicalKind::$kind => {
                    struct Of;
                    impl Two for Of {
                        type From = u8;
                        type To = u8;
                        #[inline(always)]
                        fn apply<const FUSED: bool>(x: u8, y: u8, _: Coefficients) -> u8 {
                            LogicalKind::$kind.holds(x != 0, y != 0).into()
                        }
                    }
                    two::<Of> as Loop
                })*
            }
        };
    }
    of!(And, Or, Xor)
}

/// not x.
pub(in crate::cpu::ops::elementwise) fn not() -> Loop {
    struct Not;
    impl One for Not {
        type From = u8;
        type To = u8;
        #[inline(always)]
        fn apply<const FUSED: bool>(x: u8, _: Coefficients) -> u8 {
            (x == 0).into()
        }
    }
    one::<Not>
}

/// A property of numbers.
pub(in crate::cpu::ops::elementwise) fn predicate(kind: PredicateKind, dtype: DType) -> Option<Loop> {
    macro_rules! of {
        ($($kind:ident),*) => {
            match kind {
                $(PredicateKind::$kind => {
                    struct Of<T>(PhantomData<T>);
                    impl<T: Float> One for Of<T> {
                        type From = T;
                        type To = u8;
                        #[inline(always)]
                        fn apply<const FUSED: bool>(x: T, _: Coefficients) -> u8 {
                            PredicateKind::$kind.holds(x).into()
                        }
                    }
                    match dtype {
                        DType::F32 => Some(one::<Of<f32>> as Loop),
                        DType::F64 => Some(one::<Of<f64>> as Loop),
                        DType::Bool | DType::I32 | DType::I64 => None,
                    }
                })*
            }
        };
    }
    of!(Finite, Infinite, NotANumber)
}
