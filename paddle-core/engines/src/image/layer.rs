//! The files of an image, packed so that the same files give the same bytes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::{ImageError, PROGRAM, Program, USER};

/// A file beside the program.
#[derive(Clone, Debug)]
pub struct File {
    /// Where: an absolute path.
    pub path: String,
    /// What.
    pub content: Vec<u8>,
}

impl File {
    /// The certificates that this machine trusts, where the program will look for them; `None` if they are not where most systems have
    /// them. A job that reads from a cloud needs them.
    pub fn certificates() -> Option<File> {
        const PLACES: [&str; 3] =
            ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
        let content = PLACES.iter().find_map(|place| std::fs::read(place).ok())?;
        Some(File { path: PLACES[0].into(), content })
    }
}

enum Entry<'a> {
    Folder { mode: u32 },
    File { mode: u32, content: &'a [u8] },
}

/// Everything in an archive: sorted, owned by root, and of the year 1970.
pub(super) fn archive(program: &Program, files: &[File]) -> Result<Vec<u8>, ImageError> {
    let user = format!("paddle:x:{USER}:{USER}::/tmp:/nonexistent\n");
    let group = format!("paddle:x:{USER}:\n");
    let mut entries = BTreeMap::new();
    let mut add = |path: &str, mode, content| -> Result<(), ImageError> {
        let names = path.strip_prefix('/').map(|path| path.split('/').collect::<Vec<_>>());
        let names = names.filter(|names| names.iter().all(|name| !["", ".", ".."].contains(name)));
        let Some(names) = names else {
            return Err(ImageError::Archive { reason: format!("`{path}` is no absolute path of a file") });
        };
        for depth in 1..names.len() {
            entries.entry(format!("{}/", names[..depth].join("/"))).or_insert(Entry::Folder { mode: 0o755 });
        }
        entries.insert(names.join("/"), Entry::File { mode, content });
        Ok(())
    };
    add(PROGRAM, 0o755, program.bytes.as_slice())?;
    add("/etc/passwd", 0o644, user.as_bytes())?;
    add("/etc/group", 0o644, group.as_bytes())?;
    for file in files {
        add(&file.path, 0o644, &file.content)?;
    }
    // Programs expect to find it.
    entries.insert("tmp/".into(), Entry::Folder { mode: 0o1777 });

    write(entries.iter().map(|(path, entry)| (path.as_str(), entry)))
}

/// Files in an archive, in their order.
pub(super) fn pack(files: &[(&str, &[u8])]) -> Result<Vec<u8>, ImageError> {
    let entries: Vec<_> =
        files.iter().map(|&(path, content)| (path, Entry::File { mode: 0o644, content })).collect();
    write(entries.iter().map(|(path, entry)| (*path, entry)))
}

fn write<'a>(entries: impl Iterator<Item = (&'a str, &'a Entry<'a>)>) -> Result<Vec<u8>, ImageError> {
    let failed = |error: io::Error| ImageError::Archive { reason: error.to_string() };
    let mut archive = Builder::new(Vec::new());
    for (path, entry) in entries {
        let mut header = Header::new_gnu();
        let (kind, mode, content) = match entry {
            Entry::Folder { mode } => (EntryType::Directory, *mode, &[][..]),
            Entry::File { mode, content } => (EntryType::Regular, *mode, *content),
        };
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, path, content).map_err(failed)?;
    }
    archive.into_inner().map_err(failed)
}

pub(super) fn compress(bytes: &[u8]) -> Result<Vec<u8>, ImageError> {
    let failed = |error: io::Error| ImageError::Archive { reason: error.to_string() };
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::fast());
    writer.write_all(bytes).map_err(failed)?;
    writer.finish().map_err(failed)
}
