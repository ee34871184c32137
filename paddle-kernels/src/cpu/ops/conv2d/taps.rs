//! The taps of a filter: which of its elements meet which elements of a copy.

use super::strips::Strips;

/// An element of a filter.
#[derive(Clone, Copy, Default)]
pub(super) struct Tap {
    /// Its number in the filter.
    pub(super) element: usize,
    /// Where a copy has the element of the first channel that it meets for the first result.
    pub(super) met: usize,
}

/// The most elements of a filter.
pub(super) const TAPS: usize = 128;

/// The elements of a filter that meet elements of a copy.
pub(super) struct Taps {
    taps: [Tap; TAPS],
    count: usize,
}

impl Taps {
    /// The taps of strips, for filters of this width; none if there are too many.
    pub(super) fn new(strips: &Strips, width: usize) -> Option<Taps> {
        let [down, across] = strips.axes;
        let mut taps = Taps { taps: [Tap::default(); TAPS], count: 0 };
        for y in 0..down.taps {
            for x in 0..across.taps {
                let tap = Tap { element: down.met(y) * width + across.met(x), met: strips.met([y, x]) };
                *taps.taps.get_mut(taps.count)? = tap;
                taps.count += 1;
            }
        }
        Some(taps)
    }

    pub(super) fn all(&self) -> &[Tap] {
        &self.taps[..self.count]
    }
}
