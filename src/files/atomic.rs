//! Files that are written as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The temporary files that this process has made.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Writes a file by `write`.
///
/// Whoever reads `path`, also after the process was killed or the machine lost its power, finds the file that was there
/// before or the new one, whole. The new one is written beside it, under a name that begins with a dot and ends in
/// `.tmp`, and renamed once it is on the disk; after an error it is removed, and after a kill it may be left. A file
/// that is replaced keeps its permissions, and a link its target.
pub(crate) fn write(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let previous = match fs::metadata(path) {
        Ok(previous) if previous.is_file() => Some(previous),
        Ok(_) => return Err(io::Error::new(ErrorKind::InvalidInput, "this is no file that can be replaced")),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let path = if previous.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
    let (temporary, file) = Temporary::beside(&path)?;
    let mut writer = BufWriter::with_capacity(1 << 16, &file);
    write(&mut writer)?;
    writer.flush()?;
    if let Some(previous) = previous {
        file.set_permissions(previous.permissions())?;
    }
    file.sync_all()?;
    temporary.rename(&path)
}

/// A file that is removed unless it is renamed.
struct Temporary {
    path: Option<PathBuf>,
}

impl Temporary {
    /// A new file in the folder of another one.
    fn beside(path: &Path) -> io::Result<(Self, File)> {
        let no_name =
            || io::Error::new(ErrorKind::InvalidInput, "this is the name of a folder, not of a file");
        let name = path.file_name().ok_or_else(no_name)?;
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{count}.tmp", std::process::id()));
            let path = path.with_file_name(hidden);
            match File::create_new(&path) {
                // A process of the same number that was killed left it.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return Ok((Temporary { path: Some(path) }, created?)),
            }
        }
    }

    /// Gives the file its name, for good.
    fn rename(mut self, to: &Path) -> io::Result<()> {
        if let Some(path) = &self.path {
            fs::rename(path, to)?;
            self.path = None;
        }
        sync_folder(to)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // The error that led here is the one to tell of.
            let _ = fs::remove_file(path);
        }
    }
}

/// Has the folder of a file on the disk, and with it the file's name.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Other systems have names on the disk by themselves.
#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new folder, and the path of a file in it.
    fn folder(test: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("paddle-atomic-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let file = folder.join("file");
        (folder, file)
    }

    /// The names in a folder.
    fn names(folder: &Path) -> Vec<String> {
        let entry = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        fs::read_dir(folder).unwrap().map(entry).collect()
    }

    #[test]
    fn a_file_is_made_and_replaced() {
        let (folder, file) = folder("replaced");
        for text in ["first, and longer", "second"] {
            write(&file, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert_eq!(names(&folder), ["file"]);
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_writer_that_fails_after_any_number_of_bytes_leaves_what_was_there() {
        let (folder, file) = folder("fails");
        for previous in [None, Some("previous")] {
            if let Some(previous) = previous {
                fs::write(&file, previous).unwrap();
            }
            for bytes in (0..300).chain([(1 << 16) - 1, 1 << 16, 200_000]) {
                let result = write(&file, |out| {
                    out.write_all(&vec![7; bytes])?;
                    Err(ErrorKind::StorageFull.into())
                });
                assert_eq!(result.unwrap_err().kind(), ErrorKind::StorageFull);
                assert_eq!(fs::read_to_string(&file).ok().as_deref(), previous);
                assert_eq!(names(&folder).len(), usize::from(previous.is_some()));
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn folders_devices_and_folders_that_are_not_there() {
        let (folder, file) = folder("places");
        let nothing = |_: &mut BufWriter<&File>| -> io::Result<()> { panic!("nothing is to be written") };
        assert_eq!(write(&folder, nothing).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(write(&file.join("deeper"), nothing).unwrap_err().kind(), ErrorKind::NotFound);
        for path in ["", "..", "/"] {
            assert!(write(Path::new(path), nothing).is_err(), "{path}");
        }
        assert!(names(&folder).is_empty());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_no_hindrance() {
        let (folder, file) = folder("left");
        let next = COUNT.load(Ordering::Relaxed);
        for count in next..next + 5 {
            fs::write(folder.join(format!(".file.{}-{count}.tmp", std::process::id())), "left").unwrap();
        }
        for _ in 0..6 {
            write(&file, |out| out.write_all(b"new")).unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (folder, file) = folder("links");
        fs::write(&file, "previous").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let link = folder.join("link");
        symlink("file", &link).unwrap();
        write(&link, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("file"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_dir_all(folder).unwrap();
    }
}
