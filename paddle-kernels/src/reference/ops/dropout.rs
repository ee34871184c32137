//! `dropout` and its gradient: the generator is that of every backend.

use paddle_core::ops::{Dropout, DropoutGrad};

use super::Evaluate;
use crate::random::{Random, dropped_below};
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

fn keep(call: &Call<'_>, x: &[f64], mask: &[bool], divisor: f64) -> Values {
    let kept = x.iter().zip(mask).map(|(x, &kept)| if kept { x / divisor } else { 0.0 });
    Values::round(call.output_dtype(0), kept.collect())
}

impl Evaluate for Dropout {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let x = call.read(0).floats();
        let numbers = match call.op.inputs.len() {
            1 => vec![0],
            _ => call.numbers(1),
        };
        let random = Random { seed: call.launch.seed, stream: call.group.random_stream };
        let (width, bound) = (x.len() / numbers.len().max(1), dropped_below(self.dropout_prob));
        let mut mask = Vec::with_capacity(x.len());
        for number in numbers {
            let first = (number as u64).wrapping_mul(width as u64);
            mask.extend(random.words(first).take(width).map(|word| u64::from(word) >= bound));
        }
        let divisor = self.dropout_implementation.divisor(self.dropout_prob);
        Ok(vec![keep(call, &x, &mask, divisor), Values::Bool(mask)])
    }
}

impl Evaluate for DropoutGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let Values::Bool(mask) = call.read(0) else { panic!("the shape rule wants a mask") };
        let divisor = self.dropout_implementation.divisor(self.dropout_prob);
        Ok(vec![keep(call, &call.read(1).floats(), &mask, divisor)])
    }
}
