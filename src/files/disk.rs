//! All operations on the file system, so that tests can make any of them fail and can lose what was not synced.

// With the features of the tests that use it.
#[cfg(all(test, feature = "data", feature = "plot"))]
pub(crate) mod script;

use std::ffi::OsString;
use std::fs::{self, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use paddle_core::memory::TryGrow;
#[cfg(feature = "models")]
use paddle_core::model_files::FileSystem;
pub(crate) use paddle_core::model_files::folder;

/// One operation. Tests see each one, and decide whether it fails.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "tests read it, some of it as text")]
pub(crate) enum Operation<'a> {
    Open(&'a Path),
    Create(&'a Path),
    CreateFolder(&'a Path),
    Read(&'a Path),
    Write(&'a Path, &'a [u8]),
    Seek(&'a Path, u64),
    Truncate(&'a Path),
    SetPermissions(&'a Path),
    Lock(&'a Path),
    Sync(&'a Path),
    Metadata(&'a Path),
    List(&'a Path),
    Link(&'a Path, &'a Path),
    Rename(&'a Path, &'a Path),
    Remove(&'a Path),
    SyncFolder(&'a Path),
}

#[cfg(all(test, feature = "data", feature = "plot"))]
use script::perform;

/// Performs an operation.
#[cfg(not(all(test, feature = "data", feature = "plot")))]
#[inline]
fn perform<R>(_: Operation<'_>, action: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    action()
}

/// An open file, and the name under which it was opened.
pub(crate) struct File {
    file: fs::File,
    path: PathBuf,
}

/// The result of trying to lock a file.
#[derive(Debug, PartialEq)]
pub(crate) enum Locked {
    Yes,
    ByAnother,
    /// The file system has no locks.
    Unsupported,
}

/// Opens a file to read it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = perform(Operation::Open(path), || fs::File::open(path))?;
    Ok(File { file, path: path.to_path_buf() })
}

/// Opens a file for reading and writing, and creates it if it does not exist. Its content stays.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        // Opening a pipe would wait, and a link may lead anywhere.
        return Err(io::Error::new(ErrorKind::InvalidInput, "this is no file that can be written"));
    }
    let open = || OpenOptions::new().read(true).write(true).open(path);
    match perform(Operation::Open(path), open) {
        Ok(file) => Ok(File { file, path: path.to_path_buf() }),
        Err(error) if error.kind() == ErrorKind::NotFound => create(path, OpenOptions::new().read(true)),
        Err(error) => Err(error),
    }
}

/// Creates a new file with the default permissions.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    create(path, &mut OpenOptions::new())
}

/// Creates a new file that nobody else may read.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    create(path, &mut options)
}

fn create(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let create = || options.write(true).create_new(true).open(path);
    Ok(File { file: perform(Operation::Create(path), create)?, path: path.to_path_buf() })
}

/// Opens a file for appending, and creates it if it does not exist.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().read(true).append(true).create(true).open(path);
    Ok(File { file: perform(Operation::Open(path), open)?, path: path.to_path_buf() })
}

/// Creates a folder, and those around it, unless they exist.
#[cfg(feature = "plot")]
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    perform(Operation::CreateFolder(path), || fs::create_dir_all(path))
}

/// The content of a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut bytes) = (open(path)?, Vec::new());
    let length = usize::try_from(metadata(path)?.len()).unwrap_or(usize::MAX);
    bytes.try_grow(length).map_err(|error| error.wanted_for("what the file has"))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The metadata of a path, links followed.
pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    perform(Operation::Metadata(path), || fs::metadata(path))
}

/// The target of a link, or `None` if the path is not a link.
pub(crate) fn link_target(path: &Path) -> io::Result<Option<PathBuf>> {
    perform(Operation::Metadata(path), || match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => fs::read_link(path).map(Some),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    })
}

/// The names of the files in a folder. Links and folders are left out.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = perform(Operation::List(folder), || fs::read_dir(folder))?;
    let files = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|ty| ty.is_file()));
    Ok(files.map(|entry| entry.file_name()).collect())
}

/// The file system as [`model_files`](paddle_core::model_files) asks for it.
#[cfg(feature = "models")]
pub(crate) struct Disk;

#[cfg(feature = "models")]
impl FileSystem for Disk {
    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let entries = perform(Operation::List(folder), || fs::read_dir(folder))?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        metadata(path)
    }

    fn resolved(&self, path: &Path) -> io::Result<PathBuf> {
        perform(Operation::Metadata(path), || fs::canonicalize(path))
    }

    fn read_part(&self, path: &Path, offset: u64, room: &mut [u8]) -> io::Result<()> {
        let mut file = open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(room)
    }
}

/// The names of the folders in a folder. Links to folders are among them.
#[cfg(feature = "images")]
pub(crate) fn folders(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = perform(Operation::List(folder), || fs::read_dir(folder))?;
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    Ok(folders.map(|entry| entry.file_name()).collect())
}

/// Gives a file a second name.
pub(crate) fn link(path: &Path, second: &Path) -> io::Result<()> {
    perform(Operation::Link(path, second), || fs::hard_link(path, second))
}

/// Renames a file, and replaces the file that has the new name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    perform(Operation::Rename(from, to), || fs::rename(from, to))
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    perform(Operation::Remove(path), || fs::remove_file(path))
}

/// Syncs the folder of a file, so that the file's name is on the disk. On file systems that cannot do this, names reach
/// the disk by themselves or not at all.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = folder(path);
    match perform(Operation::SyncFolder(folder), || fs::File::open(folder)?.sync_all()) {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

/// On other systems, names reach the disk by themselves.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

impl File {
    /// The name under which the file was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the content of the file.
    pub(crate) fn sync(&self) -> io::Result<()> {
        perform(Operation::Sync(&self.path), || self.file.sync_all())
    }

    pub(crate) fn truncate(&self) -> io::Result<()> {
        perform(Operation::Truncate(&self.path), || self.file.set_len(0))
    }

    pub(crate) fn permissions(&self) -> io::Result<Permissions> {
        Ok(perform(Operation::Metadata(&self.path), || self.file.metadata())?.permissions())
    }

    pub(crate) fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        perform(Operation::SetPermissions(&self.path), || self.file.set_permissions(permissions))
    }

    /// Locks the file until it is closed or the process ends. Only programs that ask for the lock are kept out.
    pub(crate) fn try_lock(&self) -> Locked {
        let lock = || match self.file.try_lock() {
            Ok(()) => Ok(Locked::Yes),
            Err(TryLockError::WouldBlock) => Ok(Locked::ByAnother),
            Err(TryLockError::Error(error)) => Err(error),
        };
        perform(Operation::Lock(&self.path), lock).unwrap_or(Locked::Unsupported)
    }

    /// Whether the name still belongs to this file: it has not been removed or given to another file.
    #[cfg(unix)]
    pub(crate) fn has_its_name(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let of = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let named = fs::symlink_metadata(&self.path).map(of);
        self.file.metadata().map(of).is_ok_and(|file| named.is_ok_and(|named| named == file))
    }

    /// Other systems do not allow an open file to be removed.
    #[cfg(not(unix))]
    pub(crate) fn has_its_name(&self) -> bool {
        true
    }
}

impl Read for File {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        perform(Operation::Read(&self.path), || self.file.read(bytes))
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        perform(Operation::Write(&self.path, bytes), || self.file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = self.file.seek(to)?;
        perform(Operation::Seek(&self.path, to), || Ok(to))
    }
}
