//! Files that may be compressed by gzip.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use paddle_core::memory::TryGrow;

use super::DataError;

/// The most bytes that are unpacked: a small file may unpack to any number of them.
const MOST: u64 = 1 << 30;

/// The bytes unpacked, if they are packed; otherwise as they are.
pub(super) fn unpack(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, DataError> {
    let failed = |source| DataError::Io { path: path.into(), source };
    let mut unpacked = Vec::new();
    if !bytes.starts_with(&[0x1F, 0x8B]) {
        unpacked.try_extend_from_slice(bytes).map_err(|error| failed(error.into()))?;
        return Ok(unpacked);
    }
    MultiGzDecoder::new(bytes).take(MOST + 1).read_to_end(&mut unpacked).map_err(failed)?;
    if unpacked.len() as u64 > MOST {
        let expected = format!("at most {MOST} bytes when it is unpacked");
        return Err(DataError::Format { path: path.into(), found: "more".into(), expected });
    }
    Ok(unpacked)
}
