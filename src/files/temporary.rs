//! Temporary files, next to the files that they will replace.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::disk::{self, File, Locked};

/// The number of temporary files that this process has created.
pub(super) static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A file named `.NAME.PROCESS-COUNT.tmp` in the folder of the file `NAME`. It is removed unless it is renamed.
pub(super) struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    /// A new file that nobody else may read. It is locked as long as it is open.
    pub(super) fn private(beside: &Path) -> io::Result<(Self, File)> {
        Self::locked(beside, disk::create_private)
    }

    /// A new file with the default permissions.
    pub(super) fn public(beside: &Path) -> io::Result<(Self, File)> {
        Self::locked(beside, disk::create_new)
    }

    /// A hard link to an existing file, or a copy on file systems without hard links.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let linked = Self::make(path, |name| disk::link(path, name));
        linked.map(|(temporary, ())| temporary).or_else(|_| {
            let (temporary, mut copy) = Self::private(path)?;
            let mut original = disk::open(path)?;
            io::copy(&mut original, &mut copy)?;
            copy.set_permissions(original.permissions()?)?;
            copy.sync()?;
            Ok(temporary)
        })
    }

    fn locked(beside: &Path, create: impl Fn(&Path) -> io::Result<File>) -> io::Result<(Self, File)> {
        loop {
            let (mut temporary, file) = Self::make(beside, &create)?;
            // Between creating and locking, another process may have taken the file for a leftover, and removes it.
            if file.try_lock() != Locked::ByAnother && file.has_its_name() {
                return Ok((temporary, file));
            }
            temporary.renamed = true;
        }
    }

    fn make<R>(beside: &Path, make: impl Fn(&Path) -> io::Result<R>) -> io::Result<(Self, R)> {
        let no_name =
            || io::Error::new(ErrorKind::InvalidInput, "this is the name of a folder, not of a file");
        let name = beside.file_name().ok_or_else(no_name)?;
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{count}.tmp", std::process::id()));
            let path = beside.with_file_name(hidden);
            match make(&path) {
                // An earlier process with the same id left it.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map(|made| (Temporary { path, renamed: false }, made)),
            }
        }
    }

    /// Renames the file, which then stays.
    pub(super) fn rename(mut self, to: &Path) -> io::Result<()> {
        disk::rename(&self.path, to)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // The error that led here is the one to report.
            let _ = disk::remove(&self.path);
        }
    }
}

/// Removes the temporary files that killed processes have left for a file. Locked ones are in use. One that is not
/// locked, but has the id of a living process, may belong to a program without locks, so it stays.
pub(super) fn sweep(beside: &Path) {
    for name in disk::names(disk::folder(beside)).unwrap_or_default() {
        let Some(process) = process(&name, beside) else { continue };
        if process != std::process::id() && lives(process) {
            continue;
        }
        let path = beside.with_file_name(name);
        // A file that cannot be locked or removed stays; nothing depends on it.
        if disk::open(&path).is_ok_and(|file| file.try_lock() == Locked::Yes) {
            let _ = disk::remove(&path);
        }
    }
}

/// The id of the process that created a temporary file of this file; `None` if the name is not that of one.
fn process(name: &OsStr, beside: &Path) -> Option<u32> {
    let of = beside.file_name()?.as_encoded_bytes();
    let rest = name.as_encoded_bytes().strip_prefix(b".")?.strip_prefix(of)?.strip_prefix(b".")?;
    let (process, count) = str::from_utf8(rest).ok()?.strip_suffix(".tmp")?.split_once('-')?;
    count.parse::<usize>().ok()?;
    process.parse().ok()
}

/// Whether a process with this id is known to run.
fn lives(process: u32) -> bool {
    // Systems other than Linux have no such file, and rely on locks alone.
    let Ok(stat) = fs::read(format!("/proc/{process}/stat")) else { return false };
    // The state follows the name, which is in parentheses: `Z` is a process that has ended, but whose parent has not
    // asked for its status.
    let state = stat.iter().rposition(|&byte| byte == b')').and_then(|at| stat.get(at + 2));
    !matches!(state, Some(b'Z' | b'X'))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// The names that are removed when the folder has these temporary files of `file`.
    fn swept(folder: &Path, names: &[String]) -> Vec<String> {
        let path = |name: &String| folder.join(name);
        names.iter().for_each(|name| fs::write(path(name), "left").unwrap());
        sweep(&folder.join("file"));
        names.iter().filter(|name| !path(name).exists()).cloned().collect()
    }

    #[test]
    fn what_dead_processes_have_left() {
        let folder = std::env::temp_dir().join(format!("paddle-temporary-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("file");
        let (own, mut other) =
            (std::process::id(), Command::new("cat").stdin(Stdio::piped()).spawn().unwrap());
        let of = |process: u32, count: usize| format!(".file.{process}-{count}.tmp");

        // One in use, one of this process, and one of another living process.
        let (used, _locked) = Temporary::private(&file).unwrap();
        let left = [of(own, usize::MAX), of(other.id(), 0)];
        let expected = if cfg!(target_os = "linux") { &left[..1] } else { &left };
        assert_eq!(swept(&folder, &left), expected);
        assert!(used.path.exists());

        // The other process has ended, first without and then with this one having asked for its status.
        other.kill().unwrap();
        while lives(other.id()) {
            std::thread::yield_now();
        }
        assert_eq!(swept(&folder, &left[1..]), &left[1..]);
        other.wait().unwrap();
        assert_eq!(swept(&folder, &left[1..]), &left[1..]);

        let others = [
            ".file.1.tmp",
            ".file.x-1.tmp",
            ".file.5-1.tmp2",
            "file.5-1.tmp",
            ".other.5-1.tmp",
            ".file.-1.tmp",
        ];
        assert!(swept(&folder, &others.map(str::to_string)).is_empty());
        fs::create_dir(folder.join(of(own, 7))).unwrap();
        sweep(&file);
        assert!(folder.join(of(own, 7)).exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
