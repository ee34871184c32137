//! What numbers a run may compute.

use super::backend::{Backend, HostSlice, HostSliceMut};
use super::storage::{Stored, StoredValues};
use crate::program::DType;

/// Elements that come to the host at a time.
const PIECE: usize = 1 << 10;

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

/// An element that is not finite, and what it is: `NaN`, `inf` or `-inf`.
pub(super) type NotFinite = (usize, &'static str);

/// The first element that is not finite.
pub(super) fn first_not_finite(values: HostSlice<'_>) -> Option<NotFinite> {
    first(values, |value| !value.is_finite())
}

/// The first element of a stored value that is NaN or infinite, and which of them it is: `NaN`, `inf` or `-inf`.
pub fn not_finite<B: Backend>(
    backend: &B,
    values: &impl StoredValues<B>,
    stored: &Stored,
) -> Option<(usize, &'static str)> {
    let at = (0, backend.element_bytes(stored.dtype));
    let download = |offset, to: HostSliceMut<'_>| values.download(backend, stored, offset, to);
    look(&download, at, stored.dtype, stored.elements(), Numbers::Finite)
}

/// Looks at elements that begin at an offset and have so many bytes. They come to the host piece by piece, until the worst is found: for
/// [`Numbers::Traced`] the first NaN, or, where there is none, the first infinity; else the first that is not finite.
pub(super) fn look(
    download: &dyn Fn(usize, HostSliceMut<'_>),
    (offset, element_bytes): (usize, usize),
    dtype: DType,
    count: usize,
    numbers: Numbers,
) -> Option<NotFinite> {
    let is_wanted = |value: f64| if numbers == Numbers::Traced { value.is_nan() } else { !value.is_finite() };
    macro_rules! look {
        ($variant:ident, $zero:expr) => {{
            let (mut piece, mut infinite) = ([$zero; PIECE], None);
            for begin in (0..count).step_by(PIECE) {
                let piece = &mut piece[..PIECE.min(count - begin)];
                let at = offset + begin * element_bytes;
                download(at, HostSliceMut::$variant(piece));
                let behind = |(element, found)| (begin + element, found);
                if let Some(found) = first(HostSlice::$variant(piece), is_wanted) {
                    return Some(behind(found));
                }
                infinite = infinite.or_else(|| first_not_finite(HostSlice::$variant(piece)).map(behind));
            }
            infinite
        }};
    }
    match dtype {
        DType::F32 => look!(F32, 0.0),
        DType::F64 => look!(F64, 0.0),
        DType::Bool | DType::I32 | DType::I64 => None,
    }
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
