//! Numbers rounded to whole ones. With `FUSED` these are instructions; without, as on an x86-64 of before 2008, they would
//! be calls of a library.

/// Rounds to whole numbers.
pub(in crate::cpu) trait Rounding: Sized {
    /// The whole number next to it towards 0.
    fn towards_zero<const FUSED: bool>(self) -> Self;
    /// The largest whole number not above.
    fn down<const FUSED: bool>(self) -> Self;
    /// The smallest whole number not below.
    fn up<const FUSED: bool>(self) -> Self;
    /// The nearest whole number; of two, the one further from 0.
    fn nearest<const FUSED: bool>(self) -> Self;
}

macro_rules! rounding {
    ($($float:ident),*) => {$(
        impl Rounding for $float {
            #[inline(always)]
            fn towards_zero<const FUSED: bool>(self) -> Self {
                /// From here on all numbers are whole.
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
