//! Event files of TensorBoard.
//!
//! A file is a sequence of records: the length of the data, its checksum, the data, and its checksum. The data of each is a
//! message of the protocol buffer `tensorflow.Event`, of which a few fields are written here:
//!
//! - `Event`: 1 `wall_time` (double), 2 `step` (int64), 3 `file_version` (string), 5 `summary`
//! - `Summary`: 1 `value`, repeated
//! - `Summary.Value`: 1 `tag` (string), 2 `simple_value` (float)

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::files::disk::{self, File};
use crate::files::{FileError, FileFault};

/// The longest time that values wait before they are written.
const PERIOD: Duration = Duration::from_secs(1);

/// The number of waiting bytes at which they are written.
const MOST_WAITING: usize = 1 << 16;

/// Writes values over steps for TensorBoard: an event file in a folder.
///
/// [`Options::tensorboard`](crate::Options::tensorboard) writes those of a training; this type is for loops and values of your
/// own. `tensorboard --logdir FOLDER` shows them.
///
/// ```
/// use paddle::plot::TensorBoard;
///
/// # let folder = std::env::temp_dir().join(format!("paddle-tensorboard-{}", std::process::id()));
/// let mut board = TensorBoard::create(&folder)?;
/// for step in 0..100 {
///     board.add(step, [("discriminator/cost", 0.7 + 1.0 / (1.0 + step as f32)), ("generator/cost", 0.7)])?;
/// }
/// board.flush()?;
/// # assert!(std::fs::metadata(board.path()).unwrap().len() > 5_000);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), paddle::FileError>(())
/// ```
pub struct TensorBoard {
    path: PathBuf,
    file: File,
    /// Whole records that are not in the file yet.
    waiting: Vec<u8>,
    flushed: Instant,
}

impl TensorBoard {
    /// Creates a new file in this folder, which is created if need be.
    ///
    /// # Errors
    /// The folder or the file cannot be created.
    pub fn create(folder: impl AsRef<Path>) -> Result<Self, FileError> {
        static FILES: AtomicU64 = AtomicU64::new(0);
        let folder = folder.as_ref();
        disk::create_folder(folder).map_err(|error| FileFault::Write(error).of(folder))?;
        // TensorBoard knows its files by `tfevents` in the name, and reads those of a folder in the order of their names.
        let (now, number) = (seconds(), FILES.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(format!("events.out.tfevents.{now:.0}.paddle.{}.{number}", process::id()));
        let file = disk::create_new(&path).map_err(|error| FileFault::Write(error).of(&path))?;
        let mut board = TensorBoard { path, file, waiting: Vec::new(), flushed: Instant::now() };
        let mut event = Message::default();
        event.double(1, now);
        event.bytes(3, b"brain.Event:2");
        board.record(&event);
        board.flush()?;
        Ok(board)
    }

    /// Adds values at a step, each with its tag; tags with the same text before a slash are shown together. NaN and infinities
    /// are shown as such. Values are written once a second, by [`flush`](Self::flush), and when this is dropped.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add<T: AsRef<str>>(
        &mut self,
        step: u64,
        values: impl IntoIterator<Item = (T, f32)>,
    ) -> Result<(), FileError> {
        let (mut event, mut summary) = (Message::default(), Message::default());
        for (tag, value) in values {
            let mut of_tag = Message::default();
            of_tag.bytes(1, tag.as_ref().as_bytes());
            of_tag.float(2, value);
            summary.bytes(1, &of_tag.0);
        }
        event.double(1, seconds());
        event.number(2, step);
        event.bytes(5, &summary.0);
        self.record(&event);
        if self.waiting.len() >= MOST_WAITING || self.flushed.elapsed() >= PERIOD {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes the values that wait.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self) -> Result<(), FileError> {
        let written = self.file.write_all(&self.waiting);
        self.waiting.clear();
        self.flushed = Instant::now();
        written.map_err(|error| FileFault::Write(error).of(&self.path))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn record(&mut self, Message(data): &Message) {
        let length = (data.len() as u64).to_le_bytes();
        self.waiting.extend_from_slice(&length);
        self.waiting.extend_from_slice(&masked_checksum(&length).to_le_bytes());
        self.waiting.extend_from_slice(data);
        self.waiting.extend_from_slice(&masked_checksum(data).to_le_bytes());
    }
}

impl Drop for TensorBoard {
    fn drop(&mut self) {
        // Nobody is left to report an error to.
        let _ = self.flush();
    }
}

/// The seconds since 1970. A clock before 1970 is wrong; it counts as 1970.
fn seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// CRC-32C, rotated and moved, since the format takes checksums of data that has checksums in it.
fn masked_checksum(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// A message of a protocol buffer under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.key(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.key(field, 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.key(field, 5);
        self.0.extend_from_slice(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum is that of RFC 3720, B.4, of 32 zeros; the mask is that of TensorFlow's `crc32c.h`.
    #[test]
    fn the_known_checksum() {
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(masked_checksum(&[0; 32]), 0x8A91_36AA_u32.rotate_right(15).wrapping_add(0xA282_EAD8));
    }

    #[test]
    fn messages_are_those_of_protocol_buffers() {
        let mut message = Message::default();
        message.number(2, 300);
        message.bytes(5, b"ab");
        message.float(2, 1.0);
        message.double(1, 1.0);
        let expected = [
            &[0x10, 0xAC, 0x02][..],
            &[0x2A, 2, b'a', b'b'],
            &[0x15, 0, 0, 0x80, 0x3F],
            &[0x09, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F],
        ];
        assert_eq!(message.0, expected.concat());
    }
}
