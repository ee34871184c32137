//! A value seen along one of its axes.

use paddle_core::plan::Extent;

/// The extents before an axis, along it, and behind it.
pub(super) struct Along {
    before: Vec<Extent>,
    along: Extent,
    behind: Vec<Extent>,
}

/// The same in a launch: as many elements.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) before: usize,
    pub(super) along: usize,
    pub(super) behind: usize,
}

impl Along {
    /// `None` if there is no such axis.
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

/// How many elements there are.
pub(super) fn product(extents: &[Extent], sizes: &[usize]) -> usize {
    extents.iter().map(|extent| extent.get(sizes)).product()
}
