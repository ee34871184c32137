//! The loops of element-wise operators: one for each function, element type and instruction set.
#![allow(unsafe_code, reason = "loops over operands whose type is known only when a group is compiled")]

use std::marker::PhantomData;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use paddle_core::ops::{AccuracyClass, BinaryKind, Coefficients, LossKind, RankLoss, UnaryKind};
use paddle_core::program::DType;
use paddle_core::{with_binary, with_loss, with_unary};

use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::number::{Element, Float};

mod relations;

pub(super) use relations::{compare, logical, not, predicate};

/// Computes elements of one value from those of others. The arguments are the sources, the coefficients of the
/// operator, the destination, and the number of elements. A function of fewer arguments ignores the last sources.
///
/// # Safety
/// Each operand is valid for that many elements of its type, and the destination overlaps no source.
pub(super) type Loop = unsafe fn(Isa, [*const u8; SOURCES], Coefficients, *mut u8, usize);

/// The most arguments that a function has.
pub(super) const SOURCES: usize = 3;

trait One {
    type From: Element;
    type To: Element;
    fn apply<const FUSED: bool>(x: Self::From, with: Coefficients) -> Self::To;
}

trait Two {
    type From: Element;
    type To: Element;
    fn apply<const FUSED: bool>(x: Self::From, y: Self::From, with: Coefficients) -> Self::To;
}

trait Three {
    type From: Element;
    type To: Element;
    fn apply<const FUSED: bool>(x: Self::From, y: Self::From, z: Self::From, with: Coefficients) -> Self::To;
}

dispatch! {
    wide if F::From::WIDE;
    unsafe fn one<const FUSED: bool, F: One>(
        isa, from: [*const u8; SOURCES], with: Coefficients, to: *mut u8, count: usize,
    ) {
        // SAFETY: as required of the caller.
        let (x, out) = unsafe {
            (from_raw_parts(from[0].cast::<F::From>(), count), from_raw_parts_mut(to.cast::<F::To>(), count))
        };
        each::<FUSED, F>(x, out, with);
    }
}

dispatch! {
    wide if F::From::WIDE;
    unsafe fn two<const FUSED: bool, F: Two>(
        isa, from: [*const u8; SOURCES], with: Coefficients, to: *mut u8, count: usize,
    ) {
        // SAFETY: as required of the caller.
        let (x, y, out) = unsafe {
            (
                from_raw_parts(from[0].cast::<F::From>(), count),
                from_raw_parts(from[1].cast::<F::From>(), count),
                from_raw_parts_mut(to.cast::<F::To>(), count),
            )
        };
        each_pair::<FUSED, F>(x, y, out, with);
    }
}

dispatch! {
    wide if F::From::WIDE;
    unsafe fn three<const FUSED: bool, F: Three>(
        isa, from: [*const u8; SOURCES], with: Coefficients, to: *mut u8, count: usize,
    ) {
        // SAFETY: as required of the caller.
        let (x, y, z, out) = unsafe {
            (
                from_raw_parts(from[0].cast::<F::From>(), count),
                from_raw_parts(from[1].cast::<F::From>(), count),
                from_raw_parts(from[2].cast::<F::From>(), count),
                from_raw_parts_mut(to.cast::<F::To>(), count),
            )
        };
        each_triple::<FUSED, F>(x, y, z, out, with);
    }
}

dispatch! {
    unsafe fn choose<const FUSED: bool, T: Element>(
        isa, from: [*const u8; SOURCES], _with: Coefficients, to: *mut u8, count: usize,
    ) {
        // SAFETY: as required of the caller.
        let (condition, x, y, out) = unsafe {
            (
                from_raw_parts(from[0], count),
                from_raw_parts(from[1].cast::<T>(), count),
                from_raw_parts(from[2].cast::<T>(), count),
                from_raw_parts_mut(to.cast::<T>(), count),
            )
        };
        each_choice(condition, x, y, out);
    }
}

/// This is a function of its own, so that the compiler knows that `out` overlaps nothing. It takes no closure, as only
/// functions can be marked to be always inlined.
#[inline(always)]
fn each<const FUSED: bool, F: One>(x: &[F::From], out: &mut [F::To], with: Coefficients) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = F::apply::<FUSED>(*x, with);
    }
}

#[inline(always)]
fn each_pair<const FUSED: bool, F: Two>(x: &[F::From], y: &[F::From], out: &mut [F::To], with: Coefficients) {
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = F::apply::<FUSED>(*x, *y, with);
    }
}

#[inline(always)]
fn each_triple<const FUSED: bool, F: Three>(
    x: &[F::From],
    y: &[F::From],
    z: &[F::From],
    out: &mut [F::To],
    with: Coefficients,
) {
    for (((out, x), y), z) in out.iter_mut().zip(x).zip(y).zip(z) {
        *out = F::apply::<FUSED>(*x, *y, *z, with);
    }
}

#[inline(always)]
fn each_choice<T: Copy>(condition: &[u8], x: &[T], y: &[T], out: &mut [T]) {
    for (((out, condition), x), y) in out.iter_mut().zip(condition).zip(x).zip(y) {
        *out = if *condition != 0 { *x } else { *y };
    }
}

/// Chooses one of two values for each element. It copies bits.
pub(super) fn select(dtype: DType) -> Loop {
    match dtype {
        DType::Bool => choose::<u8>,
        DType::I32 | DType::F32 => choose::<i32>,
        DType::I64 | DType::F64 => choose::<i64>,
    }
}

/// The identity.
pub(super) fn copy(dtype: DType) -> Loop {
    struct Copy<T>(PhantomData<T>);
    impl<T: Element> One for Copy<T> {
        type From = T;
        type To = T;
        #[inline(always)]
        fn apply<const FUSED: bool>(x: T, _: Coefficients) -> T {
            x
        }
    }
    match dtype {
        DType::Bool => one::<Copy<u8>>,
        DType::I32 | DType::F32 => one::<Copy<i32>>,
        DType::I64 | DType::F64 => one::<Copy<i64>>,
    }
}

/// Whether functions of this accuracy class are computed in the arithmetic of `f64`, for numbers of `f32`.
///
/// A formula of several operations is then accurate for every argument: a product with `beta`, for example, loses no
/// digit in front of an exponential. Exact functions are exact in `f32` too. Sums whose terms may cancel may have the
/// errors of `f32`.
const fn is_wide(class: AccuracyClass) -> bool {
    matches!(class, AccuracyClass::Rounding(_))
}

/// The functions that are accurate enough in the arithmetic of `f32`, for every argument: those of a few operations,
/// and those in [`math::single`](crate::cpu::math::single).
const fn is_right_in_f32(kind: UnaryKind) -> bool {
    use UnaryKind::*;
    matches!(
        kind,
        Celu | Elu
            | Exp
            | ExpM1
            | LeakyRelu
            | Log
            | LogSigmoid
            | Rsqrt
            | Selu
            | Sigmoid
            | Silu
            | Softsign
            | Tanh
    )
}

/// Likewise for slopes.
const fn slope_is_right_in_f32(kind: UnaryKind) -> bool {
    use UnaryKind::*;
    matches!(kind, Elu | LeakyRelu | Log | LogSigmoid | Reciprocal | Selu | Sqrt)
}

/// The loop of a function; `None` if it is not defined on the element type.
pub(super) fn unary(kind: UnaryKind, dtype: DType) -> Option<Loop> {
    with_unary!(kind, K => {
        struct Of<T>(PhantomData<T>);
        impl<T: Float> One for Of<T> {
            type From = T;
            type To = T;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: T, with: Coefficients) -> T {
                if const { is_wide(K.accuracy().0) && !is_right_in_f32(K) } {
                    T::rounded::<FUSED>(K.apply(x.wide::<FUSED>(), with))
                } else {
                    T::plain::<FUSED>(K.apply(x.fast::<FUSED>(), with))
                }
            }
        }
        struct OfI32;
        impl One for OfI32 {
            type From = i32;
            type To = i32;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: i32, with: Coefficients) -> i32 {
                K.apply_int(x.into(), with) as i32
            }
        }
        struct OfI64;
        impl One for OfI64 {
            type From = i64;
            type To = i64;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: i64, with: Coefficients) -> i64 {
                K.apply_int(x, with)
            }
        }
        match dtype {
            DType::F32 => Some(one::<Of<f32>>),
            DType::F64 => Some(one::<Of<f64>>),
            DType::I32 if K.is_of_integers() => Some(one::<OfI32>),
            DType::I64 if K.is_of_integers() => Some(one::<OfI64>),
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
            fn apply<const FUSED: bool>(saved: T, grad: T, with: Coefficients) -> T {
                if const { is_wide(K.accuracy().1) && !slope_is_right_in_f32(K) } {
                    T::rounded::<FUSED>(K.derivative(saved.wide::<FUSED>(), with) * grad.wide::<FUSED>())
                } else {
                    T::plain::<FUSED>(K.derivative(saved.fast::<FUSED>(), with) * grad.fast::<FUSED>())
                }
            }
        }
        match dtype {
            DType::F32 => Some(two::<Of<f32>>),
            DType::F64 => Some(two::<Of<f64>>),
            DType::Bool | DType::I32 | DType::I64 => None,
        }
    })
}

/// A loss of a prediction and a label.
pub(super) fn loss(kind: LossKind, dtype: DType) -> Option<Loop> {
    with_loss!(kind, K => {
        struct Of<T>(PhantomData<T>);
        impl<T: Float> Two for Of<T> {
            type From = T;
            type To = T;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: T, label: T, with: Coefficients) -> T {
                T::plain::<FUSED>(K.apply(x.fast::<FUSED>(), label.fast::<FUSED>(), with))
            }
        }
        match dtype {
            DType::F32 => Some(two::<Of<f32>>),
            DType::F64 => Some(two::<Of<f64>>),
            DType::Bool | DType::I32 | DType::I64 => None,
        }
    })
}

/// The gradient of a loss with respect to the prediction, from prediction, label and the gradient of the result.
pub(super) fn loss_grad(kind: LossKind, dtype: DType) -> Option<Loop> {
    with_loss!(kind, K => {
        struct Of<T>(PhantomData<T>);
        impl<T: Float> Three for Of<T> {
            type From = T;
            type To = T;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: T, label: T, grad: T, with: Coefficients) -> T {
                let slope = K.derivative(x.fast::<FUSED>(), label.fast::<FUSED>(), with);
                T::plain::<FUSED>(slope * grad.fast::<FUSED>())
            }
        }
        match dtype {
            DType::F32 => Some(three::<Of<f32>>),
            DType::F64 => Some(three::<Of<f64>>),
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
            fn apply<const FUSED: bool>(x: T, y: T, _: Coefficients) -> T {
                T::plain::<FUSED>(K.apply(x.fast::<FUSED>(), y.fast::<FUSED>()))
            }
        }
        struct OfI32;
        impl Two for OfI32 {
            type From = i32;
            type To = i32;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: i32, y: i32, _: Coefficients) -> i32 {
                K.apply_int(x.into(), y.into()) as i32
            }
        }
        struct OfI64;
        impl Two for OfI64 {
            type From = i64;
            type To = i64;
            #[inline(always)]
            fn apply<const FUSED: bool>(x: i64, y: i64, _: Coefficients) -> i64 {
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

/// `scale · x + bias`.
pub(super) fn scale(dtype: DType) -> Option<Loop> {
    macro_rules! of {
        ($type:ident, |$c:ident| $coefficient:expr, |$x:ident, $scale:ident, $bias:ident| $formula:expr) => {{
            struct Of;
            impl One for Of {
                type From = $type;
                type To = $type;
                #[inline(always)]
                fn apply<const FUSED: bool>($x: $type, with: Coefficients) -> $type {
                    let [scale, bias, _] = with;
                    let ($scale, $bias) = (
                        {
                            let $c = scale;
                            $coefficient
                        },
                        {
                            let $c = bias;
                            $coefficient
                        },
                    );
                    $formula
                }
            }
            Some(one::<Of> as Loop)
        }};
    }
    match dtype {
        DType::F32 => of!(f32, |c| c as f32, |x, scale, bias| scale * x + bias),
        DType::F64 => of!(f64, |c| c, |x, scale, bias| scale * x + bias),
        DType::I32 => {
            of!(i32, |c| c as i64 as i32, |x, scale, bias| scale.wrapping_mul(x).wrapping_add(bias))
        }
        DType::I64 => of!(i64, |c| c as i64, |x, scale, bias| scale.wrapping_mul(x).wrapping_add(bias)),
        DType::Bool => None,
    }
}

/// `ln(1 + exp o) - label · o` with `o = left - right`.
pub(super) fn rank_loss(dtype: DType) -> Option<Loop> {
    struct Of<T>(PhantomData<T>);
    impl<T: Float> Three for Of<T> {
        type From = T;
        type To = T;
        #[inline(always)]
        fn apply<const FUSED: bool>(label: T, left: T, right: T, _: Coefficients) -> T {
            let (label, left, right) = (label.fast::<FUSED>(), left.fast::<FUSED>(), right.fast::<FUSED>());
            T::plain::<FUSED>(RankLoss::apply(label, left, right))
        }
    }
    match dtype {
        DType::F32 => Some(three::<Of<f32>>),
        DType::F64 => Some(three::<Of<f64>>),
        DType::Bool | DType::I32 | DType::I64 => None,
    }
}

/// A cast to another element type.
pub(super) fn cast(from: DType, to: DType) -> Loop {
    macro_rules! cast {
        ($from:ident |$x:ident| $is_true:expr) => {{
            macro_rules! number {
                ($to:ident) => {{
                    struct Of;
                    impl One for Of {
                        type From = $from;
                        type To = $to;
                        #[inline(always)]
                        fn apply<const FUSED: bool>(x: $from, _: Coefficients) -> $to {
                            x as $to
                        }
                    }
                    one::<Of> as Loop
                }};
            }
            struct Truth;
            impl One for Truth {
                type From = $from;
                type To = u8;
                #[inline(always)]
                fn apply<const FUSED: bool>($x: $from, _: Coefficients) -> u8 {
                    $is_true.into()
                }
            }
            match to {
                DType::Bool => one::<Truth> as Loop,
                DType::I32 => number!(i32),
                DType::I64 => number!(i64),
                DType::F32 => number!(f32),
                DType::F64 => number!(f64),
            }
        }};
    }
    match from {
        DType::Bool => cast!(u8 | x | x != 0),
        DType::I32 => cast!(i32 | x | x != 0),
        DType::I64 => cast!(i64 | x | x != 0),
        DType::F32 => cast!(f32 | x | x != 0.0),
        DType::F64 => cast!(f64 | x | x != 0.0),
    }
}
