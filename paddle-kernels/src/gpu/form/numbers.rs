//! The numbers of forms, and their operators.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use super::build::compute;
use super::{Array, Binary, Expression, Type, Unary, Value};

/// A number in single precision.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Float(pub(super) Value);

/// A whole number of 32 bits without sign; it wraps around.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Unsigned(pub(super) Value);

/// A whole number of 32 bits; it wraps around.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Signed(pub(super) Value);

/// A truth value.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Truth(pub(super) Value);

/// What is held in one register.
pub(in crate::gpu) trait Register: Copy {
    /// Its type.
    const TYPE: Type;

    /// The value.
    fn value(self) -> Value;

    /// The number that is a value of this type.
    fn from_value(value: Value) -> Self;

    /// `this` if the condition holds, otherwise `other`.
    fn choose(condition: Truth, this: Self, other: Self) -> Self {
        Self::from_value(compute(Self::TYPE, Expression::Select(condition.0, this.value(), other.value())))
    }
}

macro_rules! registers {
    ($($type:ident),*) => {$(
        impl Register for $type {
            const TYPE: Type = Type::$type;

            fn value(self) -> Value {
                self.0
            }

            fn from_value(value: Value) -> Self {
                $type(value)
            }
        }
    )*};
}
registers!(Float, Unsigned, Signed, Truth);

macro_rules! operators {
    ($($type:ident: $($trait:ident $method:ident $operation:ident),*;)*) => {$($(
        impl $trait for $type {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                $type(compute(Type::$type, Expression::Binary(Binary::$operation, self.0, other.0)))
            }
        }
    )*)*};
}
operators! {
    Float: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div;
    Unsigned: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor,
        Shl shl ShiftLeft, Shr shr ShiftRight;
    Signed: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    Truth: BitAnd bitand And, BitOr bitor Or, BitXor bitxor NotEqual;
}

macro_rules! unary {
    ($($type:ident: $trait:ident $method:ident $operation:ident),*) => {$(
        impl $trait for $type {
            type Output = Self;

            fn $method(self) -> Self {
                $type(compute(Type::$type, Expression::Unary(Unary::$operation, self.0)))
            }
        }
    )*};
}
unary!(Float: Neg neg Negate, Signed: Neg neg Negate, Truth: Not not Not, Unsigned: Not not Flip);

macro_rules! relations {
    ($($type:ident: $($name:ident $operation:ident),*;)*) => {$(
        #[allow(dead_code, reason = "each type has all comparisons")]
        impl $type {
            $(pub(in crate::gpu) fn $name(self, other: Self) -> Truth {
                Truth(compute(Type::Truth, Expression::Binary(Binary::$operation, self.0, other.0)))
            })*
        }
    )*};
}
relations! {
    Float: is Equal, is_not NotEqual, less Less, less_equal LessEqual, greater Greater, greater_equal GreaterEqual;
    Unsigned: is Equal, is_not NotEqual, less Less, less_equal LessEqual, greater Greater, greater_equal GreaterEqual;
    Signed: is Equal, is_not NotEqual, less Less, less_equal LessEqual, greater Greater, greater_equal GreaterEqual;
    Truth: is Equal, is_not NotEqual;
}

impl Float {
    pub(super) fn unary(self, operation: Unary) -> Float {
        Float(compute(Type::Float, Expression::Unary(operation, self.0)))
    }

    pub(in crate::gpu) fn constant(value: f32) -> Float {
        Float(compute(Type::Float, Expression::Float(value)))
    }

    /// The product with a factor and a term added.
    pub(in crate::gpu) fn multiply_add(self, factor: Float, term: Float) -> Float {
        Float(compute(Type::Float, Expression::MultiplyAdd(self.0, factor.0, term.0)))
    }

    /// This number as it was rounded, whatever is done with it.
    pub(in crate::gpu) fn rounded(self) -> Float {
        Float(compute(Type::Float, Expression::Rounded(self.0)))
    }

    pub(in crate::gpu) fn bits(self) -> Unsigned {
        Unsigned(compute(Type::Unsigned, Expression::Bits(Type::Unsigned, self.0)))
    }

    /// The nearest whole number towards zero, for numbers that fit.
    pub(in crate::gpu) fn to_signed(self) -> Signed {
        Signed(compute(Type::Signed, Expression::Convert(Type::Signed, self.0)))
    }
}

impl Unsigned {
    pub(in crate::gpu) fn of(value: u32) -> Unsigned {
        Unsigned(compute(Type::Unsigned, Expression::Unsigned(value)))
    }

    pub(in crate::gpu) fn as_float(self) -> Float {
        Float(compute(Type::Float, Expression::Bits(Type::Float, self.0)))
    }

    pub(in crate::gpu) fn as_signed(self) -> Signed {
        Signed(compute(Type::Signed, Expression::Bits(Type::Signed, self.0)))
    }

    pub(in crate::gpu) fn to_float(self) -> Float {
        Float(compute(Type::Float, Expression::Convert(Type::Float, self.0)))
    }

    /// The smaller number.
    pub(in crate::gpu) fn least(self, other: Unsigned) -> Unsigned {
        Unsigned::choose(self.less(other), self, other)
    }

    /// The larger number.
    pub(in crate::gpu) fn max_with(self, other: Unsigned) -> Unsigned {
        Unsigned::choose(self.less(other), other, self)
    }

    /// The upper half of a product of 64 bits.
    pub(in crate::gpu) fn multiply_high(self, other: Unsigned) -> Unsigned {
        let (half, mask) = (Unsigned::of(16), Unsigned::of(0xffff));
        let (a, b) = (self >> half, self & mask);
        let (c, d) = (other >> half, other & mask);
        let low = b * d;
        let middle = a * d + (low >> half);
        let other_middle = b * c + (middle & mask);
        a * c + (middle >> half) + (other_middle >> half)
    }
}

impl Signed {
    pub(in crate::gpu) fn of(value: i32) -> Signed {
        Signed(compute(Type::Signed, Expression::Signed(value)))
    }

    pub(in crate::gpu) fn as_unsigned(self) -> Unsigned {
        Unsigned(compute(Type::Unsigned, Expression::Bits(Type::Unsigned, self.0)))
    }

    pub(in crate::gpu) fn to_float(self) -> Float {
        Float(compute(Type::Float, Expression::Convert(Type::Float, self.0)))
    }

    /// To lower places; the sign stays.
    pub(in crate::gpu) fn shift_right(self, places: u32) -> Signed {
        Signed(compute(Type::Signed, Expression::Binary(Binary::ShiftRight, self.0, Unsigned::of(places).0)))
    }
}

impl Truth {
    pub(in crate::gpu) fn of(value: bool) -> Truth {
        Truth(compute(Type::Truth, Expression::Truth(value)))
    }

    /// 0 or 1.
    pub(in crate::gpu) fn to_unsigned(self) -> Unsigned {
        Unsigned(compute(Type::Unsigned, Expression::Convert(Type::Unsigned, self.0)))
    }
}

/// A whole number of 64 bits, as devices without such numbers have it: two words. It wraps around.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Long {
    pub(in crate::gpu) low: Unsigned,
    pub(in crate::gpu) high: Unsigned,
}

impl Long {
    pub(in crate::gpu) fn of(value: i64) -> Long {
        Long { low: Unsigned::of(value as u32), high: Unsigned::of((value >> 32) as u32) }
    }

    /// The number that has 32 bits.
    pub(in crate::gpu) fn of_signed(value: Signed) -> Long {
        Long { low: value.as_unsigned(), high: value.shift_right(31).as_unsigned() }
    }

    pub(in crate::gpu) fn of_unsigned(value: Unsigned) -> Long {
        Long { low: value, high: Unsigned::of(0) }
    }

    pub(in crate::gpu) fn is(self, other: Long) -> Truth {
        self.low.is(other.low) & self.high.is(other.high)
    }

    pub(in crate::gpu) fn less(self, other: Long) -> Truth {
        let high = (self.high.as_signed(), other.high.as_signed());
        high.0.less(high.1) | (high.0.is(high.1) & self.low.less(other.low))
    }

    /// Whether it is negative.
    pub(in crate::gpu) fn is_negative(self) -> Truth {
        self.high.as_signed().less(Signed::of(0))
    }

    pub(in crate::gpu) fn choose(condition: Truth, this: Long, other: Long) -> Long {
        Long {
            low: Unsigned::choose(condition, this.low, other.low),
            high: Unsigned::choose(condition, this.high, other.high),
        }
    }

    /// Whether it is at least 0 and below `size`.
    pub(in crate::gpu) fn is_index(self, size: Unsigned) -> Truth {
        self.high.is(Unsigned::of(0)) & self.low.less(size)
    }

    /// The nearest float. The two parts are exact if the upper one is small, and otherwise the sum is rounded twice.
    pub(in crate::gpu) fn to_float(self) -> Float {
        let negative = self.is_negative();
        let size = Long::choose(negative, -self, self);
        // Bits that a float cannot hold are joined to the lowest one that decides on the rounding.
        let big = size.high.is_not(Unsigned::of(0));
        let sticky = (size.low & Unsigned::of(0xffff)).is_not(Unsigned::of(0)).to_unsigned();
        let kept = (size.high.to_float() * Float::constant(4_294_967_296.0))
            + ((size.low & Unsigned::of(0xffff_0000)) | sticky).to_float();
        let value = Float::choose(big, kept, size.low.to_float());
        Float::choose(negative, -value, value)
    }
}

impl Add for Long {
    type Output = Long;

    fn add(self, other: Long) -> Long {
        let low = self.low + other.low;
        let carry = low.less(self.low).to_unsigned();
        Long { low, high: self.high + other.high + carry }
    }
}

impl Neg for Long {
    type Output = Long;

    fn neg(self) -> Long {
        Long { low: !self.low, high: !self.high } + Long::of(1)
    }
}

impl Sub for Long {
    type Output = Long;

    fn sub(self, other: Long) -> Long {
        self + (-other)
    }
}

impl Mul for Long {
    type Output = Long;

    fn mul(self, other: Long) -> Long {
        let high = self.low.multiply_high(other.low) + self.low * other.high + self.high * other.low;
        Long { low: self.low * other.low, high }
    }
}

/// A word of a memory.
pub(in crate::gpu) fn load_word(operand: u32, at: Unsigned) -> Unsigned {
    Unsigned(compute(Type::Unsigned, Expression::Load(Array::Memory(operand), at.0)))
}

/// Changes a word of a memory.
pub(in crate::gpu) fn store_word(operand: u32, at: Unsigned, word: Unsigned) {
    super::build::push(super::Statement::Store(Array::Memory(operand), at.0, word.0));
}
