//! `tile`.

use paddle_core::ops::Tile;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::{index, positions};

impl Evaluate for Tile {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (shape, out) = (call.shape(0), call.output_shape(0));
        let source = |position: Vec<usize>| {
            index(&position.iter().zip(&shape).map(|(at, size)| at % size).collect::<Vec<_>>(), &shape)
        };
        Ok(vec![call.read(0).at(&positions(&out).map(source).collect::<Vec<_>>())])
    }
}
