//! Checksums of the parts of a file. They are texts in its header, which other readers of safetensors ignore.

use std::ops::Range;

use super::error::FileFault;

/// The key that says that there are checksums, and of which kind. Their presence shows in two places, so damage to one
/// place does not hide it.
pub(super) const KIND: &str = "paddle.checksums";

/// The only kind of checksums: CRC-32, as in gzip and PNG.
pub(super) const CRC32: &str = "crc32";

/// The key of the checksum of the length and the header. For it, its own digits count as [`NONE`].
pub(super) const OF_HEADER: &str = "paddle.crc32";

/// Digits that are not known yet.
pub(super) const NONE: &str = "00000000";

/// The key of the checksum of a tensor.
pub(super) fn of_tensor(name: &str) -> String {
    format!("{OF_HEADER}.{name}")
}

/// The checksum of all bytes written to it, as eight digits.
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

/// The checksum of these bytes.
pub(super) fn of(bytes: &[u8]) -> String {
    let mut checksum = Checksum::default();
    checksum.add(bytes);
    checksum.digits()
}

/// The checksum of a header. `bytes` includes the length in front of it.
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

/// The position of the header's own checksum. The search text has unescaped quotes, so it cannot occur within a JSON
/// text.
pub(super) fn own_digits(bytes: &[u8]) -> Option<Range<usize>> {
    let key = format!("\"{OF_HEADER}\":\"");
    let start = bytes.windows(key.len()).position(|window| window == key.as_bytes())? + key.len();
    let digits = start..start + NONE.len();
    bytes.get(digits.end).is_some_and(|&byte| byte == b'"').then_some(digits)
}

/// Whether a key of the header belongs to the checksums.
pub(super) fn is_one(key: &str) -> bool {
    key == KIND || key.starts_with(OF_HEADER)
}

/// Compares a stored checksum with the computed one.
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
