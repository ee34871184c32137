//! Compiled code on disk, which the next process does not compile again.
//!
//! A file has the text that its code was compiled from, so one whose name is that of another text is not mistaken for it. It is written
//! under a name of its own and then renamed, so no process reads the file of another one before it is whole; what is cut off or damaged
//! does not have its checksum, and is compiled again.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names the folder; an empty name means that nothing is kept.
const VARIABLE: &str = "PADDLE_KERNEL_CACHE";

/// What a file begins with.
const MAGIC: &[u8; 8] = b"paddle\x00\x01";

/// A folder of compiled code; none if there is no place for one.
pub(super) struct Cache(Option<PathBuf>);

impl Cache {
    /// The folder that [`VARIABLE`] names, or one among the user's caches.
    pub(super) fn of_user() -> Cache {
        let folder = match env::var_os(VARIABLE) {
            Some(folder) => Some(folder).filter(|folder| !folder.is_empty()).map(PathBuf::from),
            None => env::var_os("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))
                .or_else(|| env::var_os("LOCALAPPDATA").map(PathBuf::from))
                .map(|caches| caches.join("paddle").join("kernels")),
        };
        Cache(folder)
    }

    /// The code of a text, if it is there and whole.
    pub(super) fn get(&self, text: &str) -> Option<Vec<u8>> {
        let file = fs::read(self.file(text)?).ok()?;
        let rest = file.strip_prefix(MAGIC)?;
        let (checksum, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let (of, code) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        (of == text.as_bytes() && u64::from_le_bytes(*checksum) == hash(rest)).then(|| code.to_vec())
    }

    /// Keeps the code of a text. Where that is not possible, it is compiled again another time.
    pub(super) fn put(&self, text: &str, code: &[u8]) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Some(file) = self.file(text) else { return };
        let Some(folder) = file.parent() else { return };
        let content = [text.as_bytes(), code].concat();
        let length = (text.len() as u64).to_le_bytes();
        let all = [MAGIC.as_slice(), &hash(&content).to_le_bytes(), &length, &content].concat();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{}-{number}.unfinished", process::id()));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&unfinished, all));
        if written.and_then(|()| fs::rename(&unfinished, &file)).is_err() {
            // There may be no such file, and then nothing is left behind.
            let _ = fs::remove_file(&unfinished);
        }
    }

    fn file(&self, text: &str) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(format!("{:016x}", hash(text.as_bytes()))))
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str) -> Cache {
        let folder = env::temp_dir().join(format!("paddle-kernels-{name}-{}", process::id()));
        // What an earlier process of this number left behind.
        let _ = fs::remove_dir_all(&folder);
        Cache(Some(folder))
    }

    #[test]
    fn code_is_found_by_its_text() {
        let cache = cache("found");
        assert_eq!(cache.get("a text"), None);
        cache.put("a text", b"code");
        cache.put("another text", b"other");
        assert_eq!(cache.get("a text").as_deref(), Some(b"code".as_slice()));
        assert_eq!(cache.get("another text").as_deref(), Some(b"other".as_slice()));
        assert_eq!(cache.get("no text"), None);
    }

    #[test]
    fn files_that_are_cut_off_or_damaged_are_not_there() {
        let cache = cache("damaged");
        cache.put("a text", b"code");
        let file = cache.file("a text").unwrap();
        let whole = fs::read(&file).unwrap();
        for length in 0..whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            assert_eq!(cache.get("a text"), None, "{length} bytes");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&file, damaged).unwrap();
            assert_eq!(cache.get("a text"), None, "byte {at}");
        }
        // The file of another text under this name.
        cache.put("another text", b"other");
        fs::copy(cache.file("another text").unwrap(), &file).unwrap();
        assert_eq!(cache.get("a text"), None);
    }

    #[test]
    fn writers_and_readers_do_not_meet() {
        let cache = cache("threads");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        cache.put("a text", &[7; 10_000]);
                        assert!(cache.get("a text").is_none_or(|code| code == [7; 10_000]));
                    }
                });
            }
        });
        let left = fs::read_dir(cache.0.as_ref().unwrap()).unwrap().count();
        assert_eq!(left, 1, "unfinished files are left");
    }

    #[test]
    fn a_folder_that_cannot_be_had_is_no_error() {
        let file = env::temp_dir().join(format!("paddle-kernels-file-{}", process::id()));
        fs::write(&file, "").unwrap();
        let cache = Cache(Some(file));
        cache.put("a text", b"code");
        assert_eq!(cache.get("a text"), None);
        assert_eq!(Cache(None).get("a text"), None);
    }
}
