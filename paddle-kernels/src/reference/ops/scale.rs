//! `scale`.

use paddle_core::ops::{Real, Scale};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for Scale {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        fn affine<T: Real>(op: Scale, x: T) -> T {
            T::of(op.scale) * x + T::of(op.bias)
        }
        // A cast to an integer truncates.
        let whole = |x: i64| (self.scale as i64).wrapping_mul(x).wrapping_add(self.bias as i64);
        let out = match call.read(0) {
            Values::F32(x) => Values::F32(x.into_iter().map(|x| affine(*self, x)).collect()),
            Values::F64(x) => Values::F64(x.into_iter().map(|x| affine(*self, x)).collect()),
            Values::I32(x) => Values::I32(x.into_iter().map(|x| whole(i64::from(x)) as i32).collect()),
            Values::I64(x) => Values::I64(x.into_iter().map(whole).collect()),
            Values::Bool(_) => panic!("truth values are not scaled"),
        };
        Ok(vec![out])
    }
}
