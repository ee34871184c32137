//! Arbitrary elements that are the same in every run.

use paddle_core::ops::SampleInput;
use paddle_core::program::DType;

use super::Fed;
use crate::element::Values;
use crate::random::SplitMix64;

/// Numbers are odd multiples of it. So they are never 0, where functions have corners, and there is room around each
/// for differences.
const GRID: f64 = 1.0 / 2048.0;

/// A source of numbers.
pub(super) struct Draw(SplitMix64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Draw(SplitMix64::new(seed))
    }

    fn whole(&mut self, (low, high): (f64, f64)) -> i64 {
        let (low, high) = (low.ceil() as i64, high.ceil() as i64);
        low + self.0.below(high.abs_diff(low)) as i64
    }

    fn float(&mut self, (low, high): (f64, f64)) -> f64 {
        let cells = ((high - low) / (2.0 * GRID)) as u64;
        low + (2 * self.0.below(cells) + 1) as f64 * GRID
    }

    /// Elements of a type, within a range.
    pub(super) fn elements(&mut self, dtype: DType, count: usize, range: (f64, f64)) -> Values {
        let numbers = 0..count;
        match dtype {
            DType::Bool => Values::Bool(numbers.map(|_| self.0.below(2) == 1).collect()),
            DType::I32 => Values::I32(numbers.map(|_| self.whole(range) as i32).collect()),
            DType::I64 => Values::I64(numbers.map(|_| self.whole(range)).collect()),
            DType::F32 => Values::F32(numbers.map(|_| self.float(range) as f32).collect()),
            DType::F64 => Values::F64(numbers.map(|_| self.float(range)).collect()),
        }
    }

    /// An input of a sample.
    pub(super) fn input(&mut self, input: &SampleInput) -> Fed {
        let dims = input.dims.iter().map(|&dim| usize::try_from(dim).unwrap_or(0));
        let shape: Vec<usize> = input.rows.into_iter().chain(dims).collect();
        let values = self.elements(input.dtype, shape.iter().product(), input.range);
        Fed { values, shape, offsets: input.offsets().into_iter().collect() }
    }
}
