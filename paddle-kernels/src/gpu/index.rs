//! Indices of elements.

use paddle_core::plan::Extent;

use super::form::{Unsigned, scalar};

/// The position of an element: its number along each axis.
pub(super) fn position(index: Unsigned, shape: &[Extent]) -> Vec<Unsigned> {
    let mut rest = index;
    let mut position = Vec::new();
    for (axis, extent) in shape.iter().enumerate().rev() {
        if axis == 0 {
            position.push(rest);
            break;
        }
        let size = scalar(&[*extent]);
        let quotient = rest / size;
        position.push(rest - quotient * size);
        rest = quotient;
    }
    position.reverse();
    position
}

/// The element at a position.
pub(super) fn element(position: &[Unsigned], shape: &[Extent]) -> Unsigned {
    position.iter().zip(shape).fold(Unsigned::of(0), |flat, (&at, &extent)| flat * scalar(&[extent]) + at)
}

/// Whether a value of shape `from` has the elements of one of shape `to` in the same order.
pub(super) fn is_whole(from: &[Extent], to: &[Extent]) -> bool {
    let significant = |shape: &[Extent]| -> Vec<Extent> {
        shape.iter().copied().filter(|extent| *extent != Extent::Fixed(1)).collect()
    };
    significant(from) == significant(to)
}

/// The element of a value of shape `from` that broadcasts to the element `index` of a value of shape `to`.
pub(super) fn broadcast(index: Unsigned, from: &[Extent], to: &[Extent]) -> Unsigned {
    let one = Extent::Fixed(1);
    if is_whole(from, to) {
        return index;
    }
    if from.iter().all(|extent| *extent == one) {
        return Unsigned::of(0);
    }
    let lead = to.len() - from.len();
    if from == &to[lead..] {
        return index % scalar(from);
    }
    let position = position(index, to);
    let axes = position[lead..].iter().zip(from);
    axes.fold(Unsigned::of(0), |flat, (&at, &extent)| match extent == one {
        true => flat,
        false => flat * scalar(&[extent]) + at,
    })
}

/// Whether [`broadcast`] is defined: axes are those of `to`, or have one element.
pub(super) fn broadcasts(from: &[Extent], to: &[Extent]) -> bool {
    let Some(lead) = to.len().checked_sub(from.len()) else { return is_whole(from, to) };
    from.iter().zip(&to[lead..]).all(|(from, to)| from == to || *from == Extent::Fixed(1))
        || is_whole(from, to)
}
