//! The loops of element-wise operators: one for each function, element type and instruction set.
#![allow(unsafe_code, reason = "loops over operands whose type is known only when a group is compiled")]

use std::marker::PhantomData;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use paddle_core::ops::{BinaryKind, CompareKind, LogicalKind, UnaryKind};
use paddle_core::program::DType;
use paddle_core::{with_binary, with_unary};

use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::number::{Element, Float};

/// Computes elements of one value from those of others: (sources, destination, number of elements). A function of fewer
/// arguments does not look at the last sources.
///
/// # Safety
/// Each operand is valid for that many elements of its type, and the destination overlaps no source.
pub(super) type Loop = unsafe fn(Isa, [*const u8; SOURCES], *mut u8, usize);

/// The most arguments that a function has.
pub(super) const SOURCES: usize = 3;

trait One {
    type From: Element;
    type To: Element;
    fn apply<const FUSED: bool>(x: Self::From) -> Self::To;
}

trait Two {
    type From: Element;
    type To: Element;
    fn apply<const FUSED: bool>(x: Self::From, y: Self::From) -> Self::To;
}

dispatch! {
    unsafe fn one<const FUSED: bool, F: One>(isa, from: [*const u8; SOURCES], to: *mut u8, count: usize) {
        // SAFETY: the caller's.
        let (x, out) = unsafe {
            (from_raw_parts(from[0].cast::<F::From>(), count), from_raw_parts_mut(to.cast::<F::To>(), count))
        };
        each(x, out, |x| F::apply::<FUSED>(x));
    }
}

dispatch! {
    unsafe fn two<const FUSED: bool, F: Two>(isa, from: [*const u8; SOURCES], to: *mut u8, count: usize) {
        // SAFETY: the caller's.
        let (x, y, out) = unsafe {
            (
                from_raw_parts(from[0].cast::<F::From>(), count),
                from_raw_parts(from[1].cast::<F::From>(), count),
                from_raw_parts_mut(to.cast::<F::To>(), count),
            )
        };
        each_pair(x, y, out, |x, y| F::apply::<FUSED>(x, y));
    }
}

dispatch! {
    unsafe fn scale_all<const FUSED: bool, T: Scaled>(
        isa, from: [*const u8; SOURCES], to: *mut u8, count: usize,
    ) {
        // SAFETY: the caller's.
        let ([x, scale, bias], out) = unsafe {
            (from.map(|from| from_raw_parts(from.cast::<T>(), count)), from_raw_parts_mut(to.cast::<T>(), count))
        };
        each_triple(x, scale, bias, out, |x, scale, bias| x.scaled(scale, bias));
    }
}

/// A function of its own, so that the compiler knows that `out` is apart.
#[inline(always)]
fn each<T: Copy, U>(x: &[T], out: &mut [U], f: impl Fn(T) -> U) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = f(*x);
    }
}

#[inline(always)]
fn each_pair<T: Copy, U>(x: &[T], y: &[T], out: &mut [U], f: impl Fn(T, T) -> U) {
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = f(*x, *y);
    }
}

#[inline(always)]
fn each_triple<T: Copy>(x: &[T], y: &[T], z: &[T], out: &mut [T], f: impl Fn(T, T, T) -> T) {
    for (((out, x), y), z) in out.iter_mut().zip(x).zip(y).zip(z) {
        *out = f(*x, *y, *z);
    }
}

/// x.
pub(super) fn copy(dtype: DType) -> Loop {
    struct Copy<T>(PhantomData<T>);
    impl<T: Element> One for Copy<T> {
        type From = T;
        type To = T;
        #[inline(always)]
        fn apply<const FUSED: bool>(x: T) -> T {
            x
        }
    }
    match dtype {
        DType::Bool => one::<Copy<u8>>,
        DType::I32 | DType::F32 => one::<Copy<i32>>,
        DType::I64 | DType::F64 => one::<Copy<i64>>,
    }
}

/// The loop of a function; `None` if it is not defined on the element type.
pub(super) fn unary(kind: UnaryKind, dtype: DType) -> Option<Loop> {
    with_unary!(kind, K => {
        struct Of<T>(PhantomData<T>);
        impl<T: Float> One for Of<T> {
            type From = T;
            type To = T;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: T) -> T {
                T::plain::<FUSED>(K.apply(x.fast::<FUSED>()))
            }
        }
        match dtype {
            DType::F32 => Some(one::<Of<f32>>),
            DType::F64 => Some(one::<Of<f64>>),
            DType::Bool | DType::I32 | DType::I64 => None,
        }
    })
}

/// The gradient of a function, from the saved value and the gradient of its result.
pub(super) fn unary_grad(kind: UnaryKind, dtype: DType) -> Option<Loop> {
    with_unary!(kind, K => {
        struct Of<T>(PhantomData<T>);
        impl<T: Float> Two for Of<T> {
            type From = T;
            type To = T;
            #[inline(always)]
            fn apply<const FUSED: bool>(saved: T, grad: T) -> T {
                T::plain::<FUSED>(K.derivative(saved.fast::<FUSED>()) * grad.fast::<FUSED>())
            }
        }
        match dtype {
            DType::F32 => Some(two::<Of<f32>>),
            DType::F64 => Some(two::<Of<f64>>),
            DType::Bool | DType::I32 | DType::I64 => None,
        }
    })
}

/// Arithmetic.
pub(super) fn binary(kind: BinaryKind, dtype: DType) -> Option<Loop> {
    with_binary!(kind, K => {
        struct Of<T>(PhantomData<T>);
        impl<T: Float> Two for Of<T> {
            type From = T;
            type To = T;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: T, y: T) -> T {
                T::plain::<FUSED>(K.apply(x.fast::<FUSED>(), y.fast::<FUSED>()))
            }
        }
        struct OfI32;
        impl Two for OfI32 {
            type From = i32;
            type To = i32;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: i32, y: i32) -> i32 {
                K.apply_int(x.into(), y.into()) as i32
            }
        }
        struct OfI64;
        impl Two for OfI64 {
            type From = i64;
            type To = i64;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: i64, y: i64) -> i64 {
                K.apply_int(x, y)
            }
        }
        match dtype {
            DType::F32 => Some(two::<Of<f32>>),
            DType::F64 => Some(two::<Of<f64>>),
            DType::I32 => Some(two::<OfI32>),
            DType::I64 => Some(two::<OfI64>),
            DType::Bool => None,
        }
    })
}

trait Scaled: Element {
    fn scaled(self, scale: Self, bias: Self) -> Self;
}

macro_rules! scaled {
    ($($type:ident |$x:ident, $scale:ident, $bias:ident| $formula:expr;)*) => {$(
        impl Scaled for $type {
            #[inline(always)]
            fn scaled(self, $scale: Self, $bias: Self) -> Self {
                let $x = self;
                $formula
            }
        }
    )*};
}
scaled! {
    i32 |x, scale, bias| scale.wrapping_mul(x).wrapping_add(bias);
    i64 |x, scale, bias| scale.wrapping_mul(x).wrapping_add(bias);
    f32 |x, scale, bias| scale * x + bias;
    f64 |x, scale, bias| scale * x + bias;
}

/// `scale · x + bias`, from x, scale and bias.
pub(super) fn scale(dtype: DType) -> Option<Loop> {
    match dtype {
        DType::F32 => Some(scale_all::<f32>),
        DType::F64 => Some(scale_all::<f64>),
        DType::I32 => Some(scale_all::<i32>),
        DType::I64 => Some(scale_all::<i64>),
        DType::Bool => None,
    }
}

/// Comparison of values of an element type.
pub(super) fn compare(kind: CompareKind, dtype: DType) -> Loop {
    macro_rules! of {
        ($($kind:ident),*) => {
            match kind {
                $(CompareKind::$kind => {
                    struct Of<T>(PhantomData<T>);
                    impl<T: Element + PartialOrd> Two for Of<T> {
                        type From = T;
                        type To = u8;
                        #[inline(always)]
                        fn apply<const FUSED: bool>(x: T, y: T) -> u8 {
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
pub(super) fn logical(kind: LogicalKind) -> Loop {
    macro_rules! of {
        ($($kind:ident),*) => {
            match kind {
                $(LogicalKind::$kind => {
                    struct Of;
                    impl Two for Of {
                        type From = u8;
                        type To = u8;
                        #[inline(always)]
                        fn apply<const FUSED: bool>(x: u8, y: u8) -> u8 {
                            LogicalKind::$kind.holds(x != 0, y != 0).into()
                        }
                    }
                    two::<Of> as Loop
                })*
            }
        };
    }
    of!(And, Or)
}

/// not x.
pub(super) fn not() -> Loop {
    struct Not;
    impl One for Not {
        type From = u8;
        type To = u8;
        #[inline(always)]
        fn apply<const FUSED: bool>(x: u8) -> u8 {
            (x == 0).into()
        }
    }
    one::<Not>
}
