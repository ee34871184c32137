//! Conversion of values between row-major order, in which operators see them, and other layouts.

use paddle_core::plan::OperandType;

use super::values::Values;

/// The elements in the order of the operand's layout.
pub(super) fn from_row_major(values: Values, ty: &OperandType, sizes: &[usize]) -> Values {
    match ty.layout.is_row_major() {
        true => values,
        false => values.at(&places(ty, sizes)),
    }
}

/// The elements of an operand in row-major order.
pub(super) fn to_row_major(values: Values, ty: &OperandType, sizes: &[usize]) -> Values {
    if ty.layout.is_row_major() {
        return values;
    }
    let places = places(ty, sizes);
    let mut inverse = vec![0; places.len()];
    for (at, place) in places.into_iter().enumerate() {
        inverse[place] = at;
    }
    values.at(&inverse)
}

/// For each element in memory, its number in row-major order.
fn places(ty: &OperandType, sizes: &[usize]) -> Vec<usize> {
    let shape: Vec<usize> = ty.shape.iter().map(|extent| extent.get(sizes)).collect();
    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let mut places = vec![0];
    for axis in ty.layout.axes(shape.len()) {
        let along = |place: usize| (0..shape[axis]).map(move |at| (place, at));
        places = places.into_iter().flat_map(along).map(|(place, at)| place + at * stride(axis)).collect();
    }
    places
}
