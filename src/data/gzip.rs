//! Files that are packed by gzip, or are not.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::DataError;

/// More bytes than these are not unpacked: a small file may pack any number of them.
const MOST: u64 = 1 << 30;

/// The bytes as they are, or what they unpack to, if they are packed.
pub(super) fn unpack(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, DataError> {
    if !bytes.starts_with(&[0x1F, 0x8B]) {
        return Ok(bytes.to_vec());
    }
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(MOST + 1).read_to_end(&mut unpacked);
    read.map_err(|source| DataError::Io { path: path.into(), source })?;
    if unpacked.len() as u64 > MOST {
        let expected = format!("at most {MOST} bytes when it is unpacked");
        return Err(DataError::Format { path: path.into(), found: "more".into(), expected });
    }
    Ok(unpacked)
}
