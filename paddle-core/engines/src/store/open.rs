//! Where checkpoints are: a folder, memory, or an address.

use std::path::Path as Folder;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use url::Url;

use super::error::without_queries;
use super::{Checkpoints, StoreError};

impl Checkpoints {
    /// Checkpoints below a prefix of any store.
    pub fn on(store: Arc<dyn ObjectStore>, prefix: &str) -> Checkpoints {
        Checkpoints { store, root: Path::from(prefix) }
    }

    /// What is below a name: the checkpoints of one job of several.
    #[must_use]
    pub fn below(&self, name: &str) -> Checkpoints {
        Checkpoints { store: Arc::clone(&self.store), root: self.root.clone().join(name) }
    }

    /// Checkpoints that end with this process.
    pub fn in_memory() -> Checkpoints {
        Checkpoints::on(Arc::new(InMemory::new()), "")
    }

    /// Checkpoints in a folder, which is made if it is not there. What is written is on the disk before it is answered.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn in_folder(folder: &Folder) -> Result<Checkpoints, StoreError> {
        let place = folder.display().to_string();
        let generic =
            |error: std::io::Error| object_store::Error::Generic { store: "folder", source: error.into() };
        std::fs::create_dir_all(folder).map_err(|error| StoreError::of(&place, &generic(error)))?;
        let store =
            LocalFileSystem::new_with_prefix(folder).map_err(|error| StoreError::of(&place, &error))?;
        Ok(Checkpoints::on(Arc::new(store.with_fsync(true)), ""))
    }

    /// Checkpoints at an address: `file:///folder`, and with the features `s3://bucket/prefix`, `gs://bucket/prefix`,
    /// `az://container/prefix`. Options have the names of the environment variables of each cloud, such as `aws_access_key_id`; pass
    /// `std::env::vars()` to take them from there. Names that the cloud does not know are ignored.
    ///
    /// # Errors
    /// [`StoreError::Address`] if the address is none, has credentials in it, or needs a feature that is off.
    pub fn at(
        address: &str,
        options: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Checkpoints, StoreError> {
        let wrong = |url: &str, reason: String| StoreError::Address { url: url.into(), reason };
        let url = Url::parse(address)
            // What cannot be parsed may have a password anywhere.
            .map_err(|error| wrong("…", format!("{error}; expected `s3://bucket/prefix` or the like")))?;
        let mut shown = url.clone();
        // Neither can fail for an address with a host, and others have no password.
        let _ = shown.set_password(None).and_then(|()| shown.set_username(""));
        shown.set_query(None);
        if url.password().is_some() || url.query().is_some() {
            let reason = "credentials do not belong in it, because it is shown; pass them as options";
            return Err(wrong(shown.as_str(), reason.into()));
        }
        if url.scheme() == "file" {
            let folder =
                url.to_file_path().map_err(|()| wrong(shown.as_str(), "it names no folder".into()))?;
            return Checkpoints::in_folder(&folder);
        }
        #[cfg(feature = "cloud")]
        // Another provider may have been chosen before; then it stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = options.into_iter().map(|(name, value)| (name.to_lowercase(), value));
        let (store, root) = object_store::parse_url_opts(&url, options)
            .map_err(|error| wrong(shown.as_str(), without_queries(&error.to_string())))?;
        Ok(Checkpoints { store: Arc::from(store), root })
    }
}
