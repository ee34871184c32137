//! The normal distribution: one exponential is all that it needs.

use paddle_core::ops::Real;

use super::{exp_parts, f, halves, polynomial};
use crate::gpu::form::numbers::{Float, Register};

/// What the distribution function Φ and the density φ of the normal distribution consist of; the polynomials are those of the
/// CPU's kernels (`cpu/math/normal.rs`).
pub(super) struct Normal {
    /// `(Φ(x) - ½) / x`, for |x| up to 1.
    pub(super) slope: Float,
    /// `Φ(-|x|) / exp(-x²/2)`, for |x| from 1 on.
    pub(super) ratio: Float,
    /// `exp(-x²/2)`, as `(1 + less) · a · b`.
    power: (Float, Float, Float),
}

impl Normal {
    pub(super) fn of(x: Float) -> Normal {
        const END: f32 = 15.0;
        let size = x.abs().min(f(END));
        let square = size * size;
        let slope = polynomial(
            square,
            &[-8.694_948_5e-6, 1.163_652_5e-4, -1.189_229_2e-3, 9.974_603e-3, -6.649_059e-2, 0.398_942_3],
        );
        let sum = (size + f(4.0)).rounded();
        let scale = f(1.0) / sum;
        // What the rounding of the sum has left.
        let scale = scale - scale * scale * (size - (sum - f(4.0)).rounded());
        let of_ratio = [
            1.476_010_1e-3,
            -3.393_935_3e-3,
            -7.506_738_6e-3,
            6.038_056e-2,
            -0.186_524_1,
            0.387_138_1,
            -0.607_896_6,
            0.755_285_14,
        ];
        let ratio = scale * polynomial((size - f(4.0)) * scale, &of_ratio);
        let (short, rest) = halves(size);
        let (less, a, b) = exp_parts(f(-0.5) * (short * short), f(0.0));
        // The rest of the square counts, as the exponential magnifies it.
        let of_rest = f(-0.5) * ((size + short) * rest);
        let less = less + (less + f(1.0)) * of_rest.exp_m1();
        let a = Float::choose(x.abs().less(f(END)), a, f(0.0));
        Normal { slope, ratio, power: (less, a, b) }
    }

    /// `y · exp(-x²/2)`. The power may be so small that it has few digits, so it is not computed by itself.
    pub(super) fn times_power(&self, y: Float) -> Float {
        let (less, a, b) = self.power;
        (y * less + y) * a * b
    }
}
