//! Arbitrary choices that are the same in every run.

use paddle_core::ops::SampleInput;
use paddle_core::program::DType;

use crate::host::Host;

/// A stream of arbitrary numbers (xorshift64*).
pub(crate) struct Draw {
    state: u64,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    fn bits(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number on `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.below(2) == 1
    }

    /// One element of the slice.
    pub(crate) fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// `count` elements on `[low, high)`, which are whole numbers for integers. Truth values are true for numbers above
    /// 0.
    pub(crate) fn elements(&mut self, dtype: DType, count: usize, (low, high): (f64, f64)) -> Host {
        let mut number = || low + (high - low) * self.unit();
        match dtype {
            DType::Bool => Host::Bool((0..count).map(|_| number() > 0.0).collect()),
            DType::I32 => Host::I32((0..count).map(|_| number().floor() as i32).collect()),
            DType::I64 => Host::I64((0..count).map(|_| number().floor() as i64).collect()),
            DType::F32 => Host::F32((0..count).map(|_| number() as f32).collect()),
            DType::F64 => Host::F64((0..count).map(|_| number()).collect()),
        }
    }

    /// Elements for an input of a sample.
    pub(crate) fn input(&mut self, input: &SampleInput) -> Host {
        let count = input.rows.unwrap_or(1) * input.dims.iter().product::<i64>() as usize;
        self.elements(input.dtype, count, input.range)
    }
}
