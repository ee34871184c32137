//! Atomic writes: a file is written as a whole or not at all.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::disk::{self, File};
use super::error::FileFault;
use super::temporary::{self, Temporary};

/// The most links that are followed. Systems have about the same limit.
const MAX_LINKS: usize = 40;

/// The stream that a file is written to.
pub(crate) type Writer<'a> = BufWriter<&'a mut File>;

/// Writes a file by `write`.
///
/// A reader of `path` finds the old file or the new one, whole, even if the process was killed or the power failed. The
/// new file is a [`Temporary`] next to `path` until it is on the disk, and nobody else may read it before. After an
/// error it is removed. After a kill it may be left over until the file is written again. The new file keeps the
/// permissions of the old one. If `path` is a link, the target is replaced; it need not exist yet.
pub(crate) fn write(
    path: &Path,
    write: impl FnOnce(&mut Writer<'_>) -> io::Result<()>,
) -> Result<(), FileFault> {
    let path = destination(path).map_err(FileFault::Write)?;
    prepare(&path, write).and_then(|(new, _file)| new.rename(&path)).map_err(FileFault::write)?;
    disk::sync_folder(&path).map_err(FileFault::Unsynced)
}

/// The path that remains when all links of `path` are followed. The file need not exist; if something exists there, it
/// has to be a file.
pub(super) fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Some(target) = disk::link_target(&path)? else {
            exists(&path)?;
            return Ok(path);
        };
        path = path.with_file_name("").join(target);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "its links lead nowhere"))
}

/// Whether the file exists. Errors if it cannot be replaced.
pub(super) fn exists(path: &Path) -> io::Result<bool> {
    match disk::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidInput, "this is no file that can be replaced")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A temporary file with the new content: on the disk, with its final permissions. It is locked as long as it is open.
pub(super) fn prepare(
    path: &Path,
    write: impl FnOnce(&mut Writer<'_>) -> io::Result<()>,
) -> io::Result<(Temporary, File)> {
    temporary::sweep(path);
    let permissions = match exists(path)? {
        true => disk::metadata(path)?.permissions(),
        // A new file gets the permissions that the system gives by default, which depend on the process and the folder.
        false => Temporary::public(path)?.1.permissions()?,
    };
    let (new, mut file) = Temporary::private(path)?;
    let mut writer = BufWriter::with_capacity(1 << 16, &mut file);
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    file.set_permissions(permissions)?;
    file.sync()?;
    Ok((new, file))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::files::temporary::COUNT;

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

    /// The kind of the error that kept the file from being written.
    fn kind(result: Result<(), FileFault>) -> ErrorKind {
        match result {
            Err(FileFault::Write(error)) => error.kind(),
            other => panic!("{other:?}"),
        }
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
                assert_eq!(kind(result), ErrorKind::StorageFull);
                assert_eq!(fs::read_to_string(&file).ok().as_deref(), previous);
                assert_eq!(names(&folder).len(), usize::from(previous.is_some()));
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn folders_devices_and_folders_that_are_not_there() {
        let (folder, file) = folder("places");
        let nothing = |_: &mut Writer<'_>| -> io::Result<()> { panic!("nothing is to be written") };
        assert_eq!(kind(write(&folder, nothing)), ErrorKind::InvalidInput);
        assert_eq!(kind(write(&file.join("deeper"), nothing)), ErrorKind::NotFound);
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

    /// Links are followed to files and folders that do not exist, and to themselves.
    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_what_is_not_there() {
        use std::os::unix::fs::symlink;
        let (folder, file) = folder("dangling");
        let (deeper, link, first) = (folder.join("deeper"), folder.join("link"), folder.join("first"));
        symlink("deeper/new", &link).unwrap();
        symlink(&link, &first).unwrap();
        assert_eq!(kind(write(&first, |out| out.write_all(b"new"))), ErrorKind::NotFound);
        fs::create_dir(&deeper).unwrap();
        write(&first, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(deeper.join("new")).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && !file.exists());
        assert_eq!((names(&folder).len(), names(&deeper).len()), (3, 1));
        symlink("loop", folder.join("loop")).unwrap();
        assert_eq!(kind(write(&folder.join("loop"), |_| Ok(()))), ErrorKind::InvalidInput);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_what_is_not_written_yet() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, file) = folder("private");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(folder.join("new"), "").unwrap();
        let usual = mode(&folder.join("new"));
        fs::remove_file(folder.join("new")).unwrap();
        let write_and_look = || {
            let look = |_: &mut Writer<'_>| {
                let names = names(&folder);
                let temporary = names.iter().find(|name| name.ends_with(".tmp")).unwrap();
                assert_eq!(mode(&folder.join(temporary)), 0o600);
                Ok(())
            };
            write(&file, look).unwrap();
            mode(&file)
        };
        assert_eq!(write_and_look(), usual);
        for kept in [0o640, 0o444] {
            fs::set_permissions(&file, fs::Permissions::from_mode(kept)).unwrap();
            assert_eq!(write_and_look(), kept);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
