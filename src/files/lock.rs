//! Locks of files that are written.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::disk::{self, File, Locked};
use super::error::FileFault;

/// The longest description of a holder.
const MAX_HOLDER: u64 = 4096;

/// A lock on writing a file. As long as it lives, no other process, and no other part of this one, gets the lock.
///
/// It is a lock of the system on a file `.NAME.lock` next to the file `NAME`, so it ends with the process, however that
/// ends. On file systems without locks, nobody is kept out.
pub(super) struct Lock {
    file: File,
}

/// The holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The id of the process.
    pub process: u32,
    /// The name of the machine, if it is known.
    pub host: Option<String>,
    /// The time when the lock was taken.
    pub since: SystemTime,
}

impl Lock {
    /// Takes the lock of a file. The file need not exist.
    pub(super) fn of(path: &Path) -> Result<Self, FileFault> {
        let path = lock_path(path);
        let failed = |error: io::Error| {
            let why = format!("its lock, {}: {error}", path.display());
            FileFault::Write(io::Error::new(error.kind(), why))
        };
        loop {
            let file = match disk::open_or_create(&path) {
                // Another process has created the file in the meantime.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened.map_err(failed)?,
            };
            match file.try_lock() {
                Locked::ByAnother => return Err(FileFault::Held { by: Holder::read(file) }),
                // The former holder has removed the file in the meantime.
                Locked::Yes if !file.has_its_name() => continue,
                Locked::Yes | Locked::Unsupported => {}
            }
            let mut lock = Lock { file };
            lock.file
                .truncate()
                .and_then(|()| lock.file.write_all(own_description().as_bytes()))
                .map_err(failed)?;
            return Ok(lock);
        }
    }
}

impl Drop for Lock {
    /// The file is removed while it is locked. A process that opened it before notices that it lost its name, and
    /// creates another one.
    fn drop(&mut self) {
        if cfg!(unix) {
            // A leftover file is not locked by anybody.
            let _ = disk::remove(self.file.path());
        }
    }
}

impl Holder {
    /// The holder that a lock file names; `None` if it is still being written.
    fn read(file: File) -> Option<Self> {
        let mut text = String::new();
        file.take(MAX_HOLDER).read_to_string(&mut text).ok()?;
        let value: Value = serde_json::from_str(&text).ok()?;
        Some(Holder {
            process: u32::try_from(value["process"].as_u64()?).ok()?,
            host: value["host"].as_str().map(str::to_string),
            since: SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(value["since"].as_u64()?))?,
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process == std::process::id() {
            true => write!(f, "this process, {}", self.process)?,
            false => write!(f, "process {}", self.process)?,
        }
        if let Some(host) = &self.host {
            write!(f, " on `{host}`")?;
        }
        // The clock may have been set back.
        write!(f, ", for {}", roughly(self.since.elapsed().unwrap_or_default()))
    }
}

/// A duration in its largest unit: "2 hours".
fn roughly(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let (count, unit) = match units.into_iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => (seconds / unit, name),
        None => (seconds, "second"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// The path of the lock of a file.
fn lock_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".lock");
    path.with_file_name(name)
}

/// The content of a lock file of this process.
fn own_description() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    json!({ "process": std::process::id(), "host": host.as_deref().map(str::trim), "since": since.as_secs() })
        .to_string()
}
