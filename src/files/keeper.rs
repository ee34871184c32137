//! The keeper of a checkpoint: it writes the newest file, and keeps the one before it.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::atomic::{self, destination, exists};
use super::disk;
use super::error::{FileError, FileFault};
use super::lock::Lock;
use super::safetensors::Contents;
use super::temporary::{self, Temporary};
use super::verify::verify;
use crate::Error;

/// Writes checkpoints to a path, and keeps the one before the newest. As long as it lives, it holds the lock.
pub(crate) struct Keeper {
    path: PathBuf,
    /// The path with its links followed.
    file: PathBuf,
    /// Whether this keeper wrote the newest checkpoint, which then need not be read to check it.
    wrote: bool,
    _lock: Lock,
}

impl Keeper {
    /// Takes the lock, and checks that the path can be written. Changes no existing file.
    pub(crate) fn of(path: &Path) -> Result<Self, FileError> {
        let failed = |fault: FileFault| fault.of(path);
        let try_to_write = || {
            let file = destination(path)?;
            exists(&beside(&file))?;
            Ok((Temporary::private(&file)?, file).1)
        };
        let file = try_to_write().map_err(|error| failed(FileFault::Write(error)))?;
        let lock = Lock::of(&file).map_err(failed)?;
        temporary::sweep(&file);
        Ok(Keeper { path: path.to_path_buf(), file, wrote: false, _lock: lock })
    }

    /// Writes the newest checkpoint. One of the two files is whole at each moment, even if the process is killed or the
    /// power fails: first the new file takes the place of the newest; when that is on the disk, the former newest takes
    /// the place of the previous one.
    pub(crate) fn write(&mut self, contents: Result<Contents<'_>, FileFault>) -> Result<(), FileError> {
        contents.and_then(|contents| self.replace(&contents)).map_err(|fault| fault.of(&self.path))
    }

    fn replace(&mut self, contents: &Contents<'_>) -> Result<(), FileFault> {
        let previous = beside(&self.file);
        let new = atomic::prepare(&self.file, |out| contents.write(out));
        let (new, _file) = new.map_err(FileFault::write)?;
        let old = match self.is_worth_keeping(&previous) {
            Ok(true) => Temporary::of(&self.file).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        let old = old.map_err(FileFault::Write)?;
        new.rename(&self.file).map_err(FileFault::Write)?;
        self.wrote = true;
        disk::sync_folder(&self.file).map_err(FileFault::Unsynced)?;
        old.map_or(Ok(()), |old| old.rename(&previous)).map_err(FileFault::Unkept)
    }

    /// Whether there is a newest checkpoint to keep. A damaged one must not replace an existing previous one.
    fn is_worth_keeping(&self, previous: &Path) -> io::Result<bool> {
        let is_damaged = || match verify(&self.file) {
            Ok(parts) => parts.damaged().next().is_some(),
            Err(error) => error.fault.is_damage(),
        };
        Ok(exists(&self.file)? && (self.wrote || !exists(previous)? || !is_damaged()))
    }
}

/// The path of the checkpoint before the newest: that of the newest with `.previous` appended. If the path of the
/// newest is a link, it is next to the target.
///
/// ```
/// use paddle::checkpoint::previous;
///
/// assert_eq!(previous("run.checkpoint"), std::path::Path::new("run.checkpoint.previous"));
/// ```
pub fn previous(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    beside(&destination(path).unwrap_or_else(|_| path.to_path_buf()))
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(".previous");
    name.into()
}

/// What became of a checkpoint in a training: one that is written, but may not survive a loss of power, is warned about.
pub(crate) fn warned(written: Result<(), Error>) -> Result<(), Error> {
    match written {
        Err(Error::File(error)) if error.fault.is_written() => {
            warn(error);
            Ok(())
        }
        written => written,
    }
}

/// Prints a warning about a file, for faults that end nothing.
pub(crate) fn warn(what: impl fmt::Display) {
    // If the stream is closed, nobody reads the warning.
    let _ = writeln!(io::stderr(), "warning: {what}");
}
