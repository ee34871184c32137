//! What numbers a run may compute.

use super::backend::HostSlice;

/// What numbers a run may compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// Any.
    #[default]
    Any,
    /// Only finite ones: the first operator that gives NaN or an infinity is an error. Nothing is fused, and every
    /// value is looked at, so runs are slow.
    Finite,
    /// None that are worse than what they are computed from: the first operator that gives an infinity from finite
    /// numbers, or NaN where it read none, is an error. So infinities may be fed, as masks have them. As slow.
    Traced,
}

/// An element that is not finite, and what it is.
pub(super) type NotFinite = (usize, &'static str);

/// The first element that is not finite.
pub(super) fn first_not_finite(values: HostSlice<'_>) -> Option<NotFinite> {
    first(values, |value| !value.is_finite())
}

/// The first NaN, or, where there is none, the first infinity.
pub(super) fn worst(values: HostSlice<'_>) -> Option<NotFinite> {
    first(values, f64::is_nan).or_else(|| first_not_finite(values))
}

/// The first of the worst that were found.
pub(super) fn worst_of(found: impl Iterator<Item = NotFinite>) -> Option<NotFinite> {
    found.reduce(|first, next| if badness(Some(next)) > badness(Some(first)) { next } else { first })
}

/// The larger, the worse.
pub(super) fn badness(worst: Option<NotFinite>) -> u8 {
    match worst {
        None => 0,
        Some((_, "NaN")) => 2,
        Some(_) => 1,
    }
}

fn first(values: HostSlice<'_>, is_wanted: impl Fn(f64) -> bool) -> Option<NotFinite> {
    let found = match values {
        HostSlice::F32(values) => {
            values.iter().map(|&value| value.into()).enumerate().find(|&(_, value)| is_wanted(value))
        }
        HostSlice::F64(values) => values.iter().copied().enumerate().find(|&(_, value)| is_wanted(value)),
        HostSlice::Bool(_) | HostSlice::I32(_) | HostSlice::I64(_) => None,
    };
    found.map(|(element, value)| {
        let name = match value {
            _ if value.is_nan() => "NaN",
            _ if value > 0.0 => "inf",
            _ => "-inf",
        };
        (element, name)
    })
}
