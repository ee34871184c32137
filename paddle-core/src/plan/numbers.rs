//! Which numbers a run may compute: the check for NaN and infinity.

use super::backend::{Backend, HostSlice, HostSliceMut};
use super::storage::{Stored, StoredValues};
use crate::program::DType;

/// The number of elements that are downloaded at a time.
const PIECE: usize = 1 << 10;

/// Which numbers a run may compute: the check for NaN and infinity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// Any number. Nothing is checked.
    #[default]
    Any,
    /// Finite numbers only. The first operator that gives NaN or an infinity is an error. Nothing is fused, and each
    /// value is checked, so runs are slow.
    Finite,
    /// Numbers that are no worse than those that they are computed from. An operator that gives an infinity from
    /// finite numbers, or NaN without having read one, is an error. So infinities may be fed, as masks need. Runs are
    /// as slow as with `Finite`.
    Traced,
}

/// The index of an element that is not finite, and its value: `NaN`, `inf` or `-inf`.
pub(super) type NotFinite = (usize, &'static str);

/// The first element that is not finite.
pub(super) fn first_not_finite(values: HostSlice<'_>) -> Option<NotFinite> {
    first(values, |value| !value.is_finite())
}

/// The first element of a stored value that is not finite, and its value: `NaN`, `inf` or `-inf`.
pub fn not_finite<B: Backend>(
    backend: &B,
    values: &impl StoredValues<B>,
    stored: &Stored,
) -> Option<(usize, &'static str)> {
    let at = (0, backend.element_bytes(stored.dtype));
    let download = |offset, to: HostSliceMut<'_>| values.download(backend, stored, offset, to);
    look(&download, at, stored.dtype, stored.elements(), Numbers::Finite)
}

/// Searches the elements that begin at a byte offset. For [`Numbers::Traced`] it finds the first NaN or, without a
/// NaN, the first infinity; otherwise the first element that is not finite. The elements are downloaded piece by
/// piece, until the result is known.
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

/// A rank: 0 for finite, higher for worse.
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
