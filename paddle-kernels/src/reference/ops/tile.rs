//! `tile`.

use crate::reference::call::Call;
use crate::reference::shape::{index, positions};
use crate::reference::values::Values;

pub(super) fn tile(call: &Call<'_>) -> Values {
    let (shape, out) = (call.shape(0), call.output_shape(0));
    let source = |position: Vec<usize>| {
        index(&position.iter().zip(&shape).map(|(at, size)| at % size).collect::<Vec<_>>(), &shape)
    };
    call.read(0).at(&positions(&out).map(source).collect::<Vec<_>>())
}
