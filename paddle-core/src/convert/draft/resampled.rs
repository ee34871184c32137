//! Values of other sizes along an axis, each of whose elements mixes those around a place.

use super::{At, Tried};
use crate::ops::{AssignValue, Matmul, Number, Transpose};
use crate::program::{DType, Type, VarId};

/// The most weights of an axis.
const MOST_WEIGHTS: i64 = 1 << 18;

/// How elements around a place are mixed.
#[derive(Clone, Copy)]
pub(in crate::convert) enum Mix {
    /// The two next to it, by their distance.
    Linear,
    /// Four around it, by a cubic with this coefficient.
    Cubic(f64),
}

impl Mix {
    /// The weights of the elements around a place, from the one at or before it on, that is `rest` behind that one.
    fn around(self, rest: f64) -> Vec<(i64, f64)> {
        match self {
            Mix::Linear => vec![(0, 1.0 - rest), (1, rest)],
            Mix::Cubic(a) => (-1..3).map(|k| (k, cubic((k as f64 - rest).abs(), a))).collect(),
        }
    }
}

/// Keys, "Cubic convolution interpolation for digital image processing", 1981.
fn cubic(distance: f64, a: f64) -> f64 {
    let d = distance;
    match d {
        _ if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
        _ if d < 2.0 => ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a,
        _ => 0.0,
    }
}

impl At<'_> {
    /// An element for each of these places along an axis, which has `from` elements. What is outside is the outermost element, or
    /// has no weight.
    pub(in crate::convert) fn mixed(
        &mut self,
        x: VarId,
        axis: usize,
        from: i64,
        places: &[f64],
        mix: Mix,
        leaves_out: bool,
    ) -> Tried {
        let (to, dtype) = (places.len() as i64, self.ty(x).dtype);
        if from.saturating_mul(to) > MOST_WEIGHTS {
            return Ok(Err("it has too many weights"));
        }
        if !matches!(dtype, DType::F32 | DType::F64) {
            return Ok(Err("it mixes integers"));
        }
        let mut weights = vec![0.0; (from * to) as usize];
        for (k, &place) in places.iter().enumerate() {
            let first = place.floor();
            let around = mix.around(place - first);
            let is_inside = |offset: i64| (0..from).contains(&(first as i64).saturating_add(offset));
            let all: f64 =
                around.iter().filter(|(offset, _)| is_inside(*offset)).map(|(_, weight)| weight).sum();
            for (offset, weight) in around {
                if leaves_out && !is_inside(offset) {
                    continue;
                }
                let at = (first as i64).saturating_add(offset).clamp(0, from - 1);
                weights[(at * to) as usize + k] += if leaves_out { weight / all } else { weight };
            }
        }
        let values = weights.into_iter().map(Number::Float).collect();
        let weights = AssignValue { values, ty: Type::new(dtype, [from, to]) }.rounded();
        let weights = self.emit(weights, &[])?;
        let rank = self.ty(x).rank();
        if axis + 1 == rank {
            return self.emit(Matmul::PLAIN, &[x, weights]).map(Ok);
        }
        let turn = Transpose::to_last(axis, rank);
        let last = self.emit(turn.clone(), &[x])?;
        let mixed = self.emit(Matmul::PLAIN, &[last, weights])?;
        self.emit(turn, &[mixed]).map(Ok)
    }
}
