//! Indices of dense row-major elements.

/// The position of element `index`: one number per axis.
pub(super) fn position(mut index: usize, shape: &[usize]) -> Vec<usize> {
    let mut position = vec![0; shape.len()];
    for (axis, &size) in shape.iter().enumerate().rev() {
        position[axis] = index % size;
        index /= size;
    }
    position
}

/// The positions of all elements, in order.
pub(super) fn positions(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..shape.iter().product()).map(|element| position(element, shape))
}

/// The element at a position.
pub(super) fn index(position: &[usize], shape: &[usize]) -> usize {
    position.iter().zip(shape).fold(0, |flat, (&at, &size)| flat * size + at)
}

/// For each element of a value of shape `to`, the element of a value of shape `from` that it is taken from. `None` for
/// elements that are taken from nowhere.
pub(super) fn moved(
    from: &[usize],
    to: &[usize],
    source: impl Fn(Vec<usize>) -> Option<Vec<usize>>,
) -> Vec<Option<usize>> {
    let taken = |element: usize| Some(index(&source(position(element, to))?, from));
    (0..to.iter().product()).map(taken).collect()
}

/// For each element of a value of shape `to`, the element of a value of shape `from` that broadcasts to it.
pub(super) fn broadcast(from: &[usize], to: &[usize]) -> Vec<usize> {
    let lead = to.len().checked_sub(from.len()).expect("a value broadcasts to no fewer dimensions");
    assert!(
        from.iter().zip(&to[lead..]).all(|(from, to)| *from == 1 || from == to),
        "{from:?} does not broadcast to {to:?}"
    );
    let source = |index: usize| {
        let position = position(index, to);
        let axes = position[lead..].iter().zip(from);
        axes.fold(0, |flat, (&at, &size)| flat * size + if size == 1 { 0 } else { at })
    };
    (0..to.iter().product()).map(source).collect()
}

/// For each element of a value of shape `from`, the element of the result to which a reduction over `axes` adds it.
/// Empty `axes` are all axes.
pub(super) fn reduction(from: &[usize], axes: &[i64]) -> Vec<usize> {
    let kept = |axis: &usize| !axes.is_empty() && !axes.contains(&(*axis as i64));
    let target = |index: usize| {
        let position = position(index, from);
        (0..from.len()).filter(kept).fold(0, |flat, axis| flat * from[axis] + position[axis])
    };
    (0..from.iter().product()).map(target).collect()
}

/// The number of elements along `axes`. Empty `axes` are all axes.
pub(super) fn extent(shape: &[usize], axes: &[i64]) -> usize {
    let along = |axis: &usize| axes.is_empty() || axes.contains(&(*axis as i64));
    (0..shape.len()).filter(along).map(|axis| shape[axis]).product()
}
