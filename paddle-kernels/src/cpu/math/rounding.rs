//! Rounding to whole numbers. With `FUSED` these functions are instructions. Without it, as on an x86-64 from before
//! 2008, they would be calls of library functions.

/// Numbers that can be rounded to whole numbers.
pub(in crate::cpu) trait Rounding: Sized {
    /// The next whole number towards 0.
    fn towards_zero<const FUSED: bool>(self) -> Self;
    /// The largest whole number that is not above `self`.
    fn down<const FUSED: bool>(self) -> Self;
    /// The smallest whole number that is not below `self`.
    fn up<const FUSED: bool>(self) -> Self;
    /// The nearest whole number. If two are equally near, the one further from 0.
    fn nearest<const FUSED: bool>(self) -> Self;
}

macro_rules! rounding {
    ($($float:ident),*) => {$(
        impl Rounding for $float {
            #[inline(always)]
            fn towards_zero<const FUSED: bool>(self) -> Self {
                /// All numbers from here on are whole.
                const WHOLE: $float = (1_u64 << ($float::MANTISSA_DIGITS - 1)) as $float;
                if FUSED {
                    return self.trunc();
                }
                let size = self.abs();
                let whole = (size + WHOLE) - WHOLE;
                let below = if whole > size { whole - 1.0 } else { whole };
                (if size < WHOLE { below } else { size }).copysign(self)
            }

            #[inline(always)]
            fn down<const FUSED: bool>(self) -> Self {
                if FUSED {
                    return self.floor();
                }
                let trunc = self.towards_zero::<FUSED>();
                if trunc > self { trunc - 1.0 } else { trunc }
            }

            #[inline(always)]
            fn up<const FUSED: bool>(self) -> Self {
                -(-self).down::<FUSED>()
            }

            #[inline(always)]
            fn nearest<const FUSED: bool>(self) -> Self {
                let trunc = self.towards_zero::<FUSED>();
                if (self - trunc).abs() < 0.5 { trunc } else { trunc + (1.0 as $float).copysign(self) }
            }
        }
    )*};
}
rounding!(f32, f64);
