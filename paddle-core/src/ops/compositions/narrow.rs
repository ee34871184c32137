//! Numbers of narrow types, in the wider types that are here.

use crate::ops::{
    Binary, BinaryKind, Compare, CompareKind, Fill, Number, Op, Scale, Select, Unary, UnaryKind,
};
use crate::program::{DType, Type, VarId};

/// A floating-point type of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Half precision of IEEE 754: 11 binary digits, at least 2⁻²⁴.
    F16,
    /// The upper half of single precision: 8 binary digits.
    Bf16,
}

/// What becomes of digits for which there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// They are cut off, as in PaddlePaddle before version 3 on the CPU.
    Cut,
    /// The number is rounded to the nearest one, and between two to the even one, as in IEEE 754.
    Rounded,
}

/// What a type of 16 bits has of a value of single precision.
pub(crate) fn to_half<E>(
    x: VarId,
    half: Half,
    rest: Rest,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let size = emit(Unary::of(UnaryKind::Abs).into(), &[x])?;
    let digits = match half {
        Half::F16 => 11,
        Half::Bf16 => 8,
    };
    let first_digits = match rest {
        Rest::Cut => cut,
        Rest::Rounded => rounded,
    };
    let first = first_digits(x, digits, &mut emit)?;
    match half {
        Half::F16 => {
            // Below the smallest normal number, those that are there are 2⁻²⁴ apart.
            let steps = emit(scaled(2f64.powi(24)), &[x])?;
            let steps = match rest {
                Rest::Cut => emit(Unary::of(UnaryKind::Trunc).into(), &[steps])?,
                Rest::Rounded => whole(steps, &mut emit)?,
            };
            let small = emit(scaled(2f64.powi(-24)), &[steps])?;
            let is_small = compare(CompareKind::LessThan, size, 2f64.powi(-14), &mut emit)?;
            let kept = emit(Select.into(), &[is_small, small, first])?;
            // What is above the largest number is infinite, and NaN stays.
            let is_finite = match rest {
                Rest::Cut => compare(CompareKind::LessEqual, size, 65_504.0, &mut emit)?,
                Rest::Rounded => compare(CompareKind::LessThan, size, 65_520.0, &mut emit)?,
            };
            let infinite = emit(scaled(1e38), &[x])?;
            emit(Select.into(), &[is_finite, kept, infinite])
        }
        Half::Bf16 => {
            // Multiples of large numbers would be infinite.
            let down = emit(scaled(2f64.powi(-64)), &[x])?;
            let large = first_digits(down, digits, &mut emit)?;
            let large = emit(scaled(2f64.powi(64)), &[large])?;
            let is_moderate = compare(CompareKind::LessThan, size, 2f64.powi(64), &mut emit)?;
            let kept = emit(Select.into(), &[is_moderate, first, large])?;
            let is_finite = compare(CompareKind::LessEqual, size, f32::MAX.into(), &mut emit)?;
            emit(Select.into(), &[is_finite, kept, x])
        }
    }
}

type Emit<'e, E> = &'e mut dyn FnMut(Op, &[VarId]) -> Result<VarId, E>;

fn scaled(scale: f64) -> Op {
    Scale { scale, bias: 0.0 }.into()
}

/// The first binary digits of a number. They are rounded, and the number before is taken where that is further from 0. A
/// share of 2⁻ⁿ of a number of n digits is between a half and the whole of its distance to the one before it.
fn cut<E>(x: VarId, digits: i32, emit: Emit<'_, E>) -> Result<VarId, E> {
    let near = rounded(x, digits, emit)?;
    let less = emit(scaled(1.0 - 1.25 * 2f64.powi(-digits)), &[near])?;
    let before = rounded(less, digits, emit)?;
    let [size, of] = [near, x].map(|value| emit(Unary::of(UnaryKind::Abs).into(), &[value]));
    let is_further = emit(Compare { kind: CompareKind::GreaterThan }.into(), &[size?, of?])?;
    emit(Select.into(), &[is_further, before, near])
}

/// The nearest number with so many binary digits: the others are lost in the sum with a large multiple. Dekker (1971).
fn rounded<E>(x: VarId, digits: i32, emit: Emit<'_, E>) -> Result<VarId, E> {
    let multiple = emit(scaled(2f64.powi(24 - digits) + 1.0), &[x])?;
    let rest = emit(Binary { kind: BinaryKind::Sub }.into(), &[multiple, x])?;
    emit(Binary { kind: BinaryKind::Sub }.into(), &[multiple, rest])
}

/// The nearest whole number of a small one: its other digits are lost in the sum with a large one.
fn whole<E>(x: VarId, emit: Emit<'_, E>) -> Result<VarId, E> {
    let large = Fill { value: Number::Float(1.5 * 2f64.powi(23)), ty: Type::scalar(DType::F32) };
    let large = emit(large.into(), &[])?;
    let sum = emit(Binary { kind: BinaryKind::Add }.into(), &[x, large])?;
    emit(Binary { kind: BinaryKind::Sub }.into(), &[sum, large])
}

fn compare<E>(kind: CompareKind, x: VarId, with: f64, emit: Emit<'_, E>) -> Result<VarId, E> {
    let with = Fill { value: Number::Float(with), ty: Type::scalar(DType::F32) };
    let with = emit(with.into(), &[])?;
    emit(Compare { kind }.into(), &[x, with])
}

/// Whole numbers of the type `dtype`, as integers of so many bits have them: they wrap around.
pub(crate) fn wrap<E>(
    x: VarId,
    (bits, is_signed): (u32, bool),
    dtype: DType,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let divisor = Fill { value: Number::Int(1 << bits), ty: Type::scalar(dtype) };
    let divisor = emit(divisor.into(), &[])?;
    let remainder = Op::from(Binary { kind: BinaryKind::Mod });
    if !is_signed {
        return emit(remainder, &[x, divisor]);
    }
    let below = (1i64 << (bits - 1)) as f64;
    let raised = emit(Scale { scale: 1.0, bias: below }.into(), &[x])?;
    let rest = emit(remainder, &[raised, divisor])?;
    emit(Scale { scale: 1.0, bias: -below }.into(), &[rest])
}
