//! `sgd`.

use paddle_core::ops::Real;

use super::call::Call;
use super::values::Values;

/// The new parameter.
pub(super) fn sgd(call: &Call<'_>) -> Values {
    fn step<T: Real>(parameter: &[T], rate: &[T], gradient: &[T]) -> Vec<T> {
        parameter.iter().zip(gradient).map(|(&p, &g)| p - rate[0] * g).collect()
    }
    match (call.read(0), call.read(1), call.read(2)) {
        (Values::F32(p), Values::F32(rate), Values::F32(g)) => Values::F32(step(&p, &rate, &g)),
        (Values::F64(p), Values::F64(rate), Values::F64(g)) => Values::F64(step(&p, &rate, &g)),
        (p, rate, g) => {
            let types = [p.dtype(), rate.dtype(), g.dtype()];
            panic!("`sgd` needs floating-point numbers of one type, not {types:?}")
        }
    }
}
