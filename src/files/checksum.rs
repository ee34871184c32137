//! Checksums of the parts of a file, as texts in its header, which other readers of safetensors leave alone.

use std::ops::Range;

use super::error::FileFault;

/// Says that there are checksums, and which. So that there are is seen in two places, of which damage to one leaves the other.
pub(super) const KIND: &str = "paddle.checksums";

/// The kind of checksums that there is: CRC-32, as gzip and PNG have it.
pub(super) const CRC32: &str = "crc32";

/// The name of the checksum of the first bytes and the header. Its own digits count as [`NONE`].
pub(super) const OF_HEADER: &str = "paddle.crc32";

/// Digits that are not known yet.
pub(super) const NONE: &str = "00000000";

/// The name of the checksum of a tensor.
pub(super) fn of_tensor(name: &str) -> String {
    format!("{OF_HEADER}.{name}")
}

/// The checksum of all that it is given, as eight digits.
#[derive(Default)]
pub(super) struct Checksum(crc32fast::Hasher);

impl Checksum {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn digits(self) -> String {
        format!("{:08x}", self.0.finalize())
    }
}

/// That of these bytes.
pub(super) fn of(bytes: &[u8]) -> String {
    let mut checksum = Checksum::default();
    checksum.add(bytes);
    checksum.digits()
}

/// The checksum of a header, with the bytes in front of it.
pub(super) fn of_header(bytes: &[u8]) -> String {
    let mut checksum = Checksum::default();
    let digits = own_digits(bytes).unwrap_or_default();
    checksum.add(&bytes[..digits.start]);
    if !digits.is_empty() {
        checksum.add(NONE.as_bytes());
    }
    checksum.add(&bytes[digits.end..]);
    checksum.digits()
}

/// Where a header has its own checksum. No text in it has such quotes, which JSON would escape.
pub(super) fn own_digits(bytes: &[u8]) -> Option<Range<usize>> {
    let key = format!("\"{OF_HEADER}\":\"");
    let start = bytes.windows(key.len()).position(|window| window == key.as_bytes())? + key.len();
    let digits = start..start + NONE.len();
    bytes.get(digits.end).is_some_and(|&byte| byte == b'"').then_some(digits)
}

/// Whether a text of a header is there for checksums.
pub(super) fn is_one(key: &str) -> bool {
    key == KIND || key.starts_with(OF_HEADER)
}

/// Compares what was written down with what is there.
pub(super) fn compare(
    tensor: Option<&str>,
    bytes: Range<u64>,
    written: Option<&str>,
    found: String,
) -> Result<(), FileFault> {
    if written == Some(&found) {
        return Ok(());
    }
    let (tensor, written) = (tensor.map(str::to_string), written.map(str::to_string));
    Err(FileFault::Damaged { tensor, bytes, written, found })
}
