//! `one_hot_v2`.

use paddle_core::ops::{Number, OneHot};

use super::Evaluate;
use crate::messages;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for OneHot {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let Values::I64(ids) = call.read(0) else { panic!("the shape rule wants ids of type i64") };
        let depth = *call.output_shape(0).last().expect("the shape rule adds a dimension") as i64;
        if let Some(at) = ids.iter().position(|id| !self.allow_out_of_range && !(0..depth).contains(id)) {
            return Err(messages::class_out_of_range(ids[at], at, depth as usize));
        }
        let row = |id: i64| (0..depth).map(move |j| Number::Int(i64::from(j == id)));
        Ok(vec![Values::of_numbers(call.output_dtype(0), ids.into_iter().flat_map(row))])
    }
}
