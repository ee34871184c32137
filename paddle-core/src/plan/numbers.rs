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
}

/// The place of the first element that is not finite, and what it is.
pub(super) fn first_not_finite(values: HostSlice<'_>) -> Option<(usize, &'static str)> {
    fn first(mut values: impl Iterator<Item = f64>) -> Option<(usize, &'static str)> {
        let mut found = "";
        let element = values.position(|value| {
            found = match value {
                _ if value.is_nan() => "NaN",
                f64::INFINITY => "inf",
                f64::NEG_INFINITY => "-inf",
                _ => return false,
            };
            true
        })?;
        Some((element, found))
    }
    match values {
        HostSlice::F32(values) => first(values.iter().map(|&value| value.into())),
        HostSlice::F64(values) => first(values.iter().copied()),
        HostSlice::Bool(_) | HostSlice::I32(_) | HostSlice::I64(_) => None,
    }
}
