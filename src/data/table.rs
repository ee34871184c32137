//! Text tables of numbers. The last column is the target.

use std::path::Path;

use paddle_core::memory::TryGrow;

use super::error::shortened;
use super::{DataError, Sample};

/// Parses a table of `N` features and a target.
///
/// A line with a comma is separated by commas, any other line by white space. Blank lines are skipped. The first line
/// is skipped if none of its fields is a number, as it then has the names of the columns.
pub(super) fn parse<const N: usize>(path: &Path, bytes: &[u8]) -> Result<Vec<Sample<N>>, DataError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        DataError::NotUtf8 { path: path.into(), line }
    })?;
    let mut samples = Vec::new();
    let mut may_be_names = true;
    for (text, line) in text.lines().zip(1..) {
        if text.trim().is_empty() {
            continue;
        }
        let fields: Vec<&str> = match text.contains(',') {
            true => text.split(',').map(str::trim).collect(),
            false => text.split_whitespace().collect(),
        };
        if fields.len() != N + 1 {
            return Err(DataError::Columns { path: path.into(), line, found: fields.len(), expected: N + 1 });
        }
        if std::mem::take(&mut may_be_names) && fields.iter().all(|field| field.parse::<f32>().is_err()) {
            continue;
        }
        let mut sample = Sample { features: [0.0; N], target: 0.0 };
        let places = sample.features.iter_mut().chain([&mut sample.target]);
        for ((place, field), column) in places.zip(fields).zip(1..) {
            *place = field.parse().ok().filter(|number: &f32| number.is_finite()).ok_or_else(|| {
                DataError::Number { path: path.into(), line, column, found: shortened(field) }
            })?;
        }
        let kept = samples.try_push(sample);
        kept.map_err(|error| DataError::Io { path: path.into(), source: error.into() })?;
    }
    if samples.is_empty() {
        return Err(DataError::Empty { path: path.into(), expected: N + 1 });
    }
    Ok(samples)
}
