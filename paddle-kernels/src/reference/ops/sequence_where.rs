//! `sequence_where`.

use paddle_core::ops::SequenceWhere;

use super::Evaluate;
use crate::messages::made_lengths;
use crate::reference::call::{Call, Results};
use crate::reference::sequences::{offsets, sequences};
use crate::reference::values::Values;

impl Evaluate for SequenceWhere {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let Values::Bool(holds) = call.read(0) else { panic!("the shape rule wants truth values") };
        let chosen = |tokens: std::ops::Range<usize>| -> Vec<i64> {
            (0..).zip(&holds[tokens]).filter(|(_, holds)| **holds).map(|(position, _)| position).collect()
        };
        let chosen: Vec<Vec<i64>> = sequences(call, 2, call.shape(0)[0]).into_iter().map(chosen).collect();
        let others = offsets(call, 3, call.shape(1)[0]);
        made_lengths(&others, |row| chosen[row].len() as i64, "the chosen tokens of")?;
        Ok(vec![Values::I64(chosen.concat())])
    }
}
