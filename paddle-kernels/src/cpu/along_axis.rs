//! The layout of a value around one of its axes.

use paddle_core::plan::Extent;

/// The extents before an axis, along it, and behind it.
pub(super) struct Along {
    before: Vec<Extent>,
    along: Extent,
    behind: Vec<Extent>,
}

/// The same sizes in a launch, as numbers of elements.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) before: usize,
    pub(super) along: usize,
    pub(super) behind: usize,
}

impl Along {
    /// Splits a shape at an axis; `None` if there is no such axis.
    pub(super) fn new(shape: &[Extent], axis: i64) -> Option<Along> {
        let (before, rest) = shape.split_at_checked(usize::try_from(axis).ok()?)?;
        let (&along, behind) = rest.split_first()?;
        Some(Along { before: before.into(), along, behind: behind.into() })
    }

    pub(super) fn sizes(&self, sizes: &[usize]) -> Sizes {
        let (before, behind) = (product(&self.before, sizes), product(&self.behind, sizes));
        Sizes { before, along: self.along.get(sizes), behind }
    }
}

/// The number of elements.
pub(super) fn product(extents: &[Extent], sizes: &[usize]) -> usize {
    extents.iter().map(|extent| extent.get(sizes)).product()
}
