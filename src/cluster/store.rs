//! Where the checkpoints of a job are: the object of each server, and the manifests. The engine writes them; here they get the
//! names that the machines of a job have for them, and the threads that wait for them.

use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::{Arc, mpsc};

use bytes::Bytes;
use paddle_cluster::message::{Epoch, Manifest, ManifestId};
use paddle_engines::store::{Checkpoints, Newest, Piece, StoreError};
use tokio::runtime::{Builder, Runtime};

/// A store of objects, which any process of the job reads and writes.
#[derive(Clone)]
pub(super) struct Store {
    checkpoints: Checkpoints,
    runtime: Arc<Background>,
}

/// A thread on which stores and services are accessed. Callers may be within a runtime of their own.
pub(super) struct Background(Option<Runtime>);

impl Background {
    pub(super) fn start(name: &str) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name(name).enable_all().build();
        Ok(Background(Some(runtime?)))
    }

    /// Waits for an answer; `None` if the thread has ended.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        answer: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (tell, told) = mpsc::channel();
        self.0.as_ref()?.spawn(async move {
            // Whoever asked waits for it.
            let _ = tell.send(answer.await);
        });
        told.recv().ok()
    }

    /// Has something done beside.
    #[cfg(feature = "etcd")]
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.0 {
            runtime.spawn(work);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Waiting for it is not allowed within another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// The object with the parameters behind the last step.
pub(super) const RESULT: &str = "parameters.safetensors";

/// The epoch of a round as one number, in the order of epochs.
fn number(Epoch { election, round }: Epoch) -> u64 {
    u64::from(election) << 32 | u64::from(round)
}

impl Store {
    /// A store in the memory of this process.
    pub(super) fn in_memory() -> io::Result<Self> {
        Self::of(Checkpoints::in_memory())
    }

    /// A store in a folder that all processes see.
    pub(super) fn in_folder(folder: &Path) -> io::Result<Self> {
        Self::of(Checkpoints::in_folder(folder).map_err(failed)?)
    }

    /// A store at a place: a folder, or an address such as `s3://bucket/prefix`.
    pub(super) fn at(place: &str, options: impl IntoIterator<Item = (String, String)>) -> io::Result<Self> {
        match place.contains("://") {
            true => Self::of(Checkpoints::at(place, options).map_err(failed)?),
            false => Self::in_folder(Path::new(place)),
        }
    }

    fn of(checkpoints: Checkpoints) -> io::Result<Self> {
        Ok(Store { checkpoints, runtime: Arc::new(Background::start("store")?) })
    }

    /// What is below a name of the store.
    pub(super) fn below(&self, name: &str) -> Self {
        Store { checkpoints: self.checkpoints.below(name), runtime: Arc::clone(&self.runtime) }
    }

    fn wait<T, F>(&self, access: impl FnOnce(Checkpoints) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let ended =
            || StoreError::Failed { object: "the store".into(), reason: "its thread has ended".into() };
        self.runtime.wait(access(self.checkpoints.clone())).unwrap_or_else(|| Err(ended()))
    }

    /// Writes the object of a server. Returns what identifies its content; `None` if it could not be written.
    pub(super) fn put(&self, manifest: ManifestId, rank: u32, content: Bytes) -> Option<Bytes> {
        let ManifestId { version, epoch } = manifest;
        let put = |store: Checkpoints| async move {
            store.put(version, rank as usize, number(epoch), content).await
        };
        let piece = self.wait(put).inspect_err(|error| eprintln!("cluster: {error}")).ok()?;
        serde_json::to_vec(&piece).ok().map(Bytes::from)
    }

    /// The object of a server; `None` if it is not there, or not what was written.
    pub(super) fn get(
        &self,
        _manifest: ManifestId,
        _rank: u32,
        expected: Option<&Bytes>,
    ) -> io::Result<Option<Bytes>> {
        let Some(piece) = expected.and_then(|piece| piece_of(piece).ok()) else { return Ok(None) };
        match self.wait(|store| async move { store.get(&piece).await }) {
            Ok(content) => Ok(Some(content)),
            Err(StoreError::Missing { .. } | StoreError::Damaged { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Enters a manifest. All objects that it names are there.
    pub(super) fn commit(&self, manifest: &Manifest<Bytes>) -> io::Result<()> {
        let Manifest { id: ManifestId { version, epoch }, digests, note } = manifest;
        let pieces = digests.iter().map(piece_of).collect::<io::Result<Vec<_>>>()?;
        let (version, epoch) = (*version, number(*epoch));
        let note = note.iter().map(|byte| format!("{byte:02x}")).collect();
        let commit =
            |store: Checkpoints| async move { store.claim(epoch).await?.commit(version, pieces, note).await };
        self.wait(commit).map_err(failed)
    }

    /// The newest manifest whose objects are all there, if there is one, and none behind a `last` one. What is wrong with newer ones
    /// is said.
    pub(super) fn newest(&self, last: Option<ManifestId>) -> io::Result<Option<Manifest<Bytes>>> {
        let last = last.map(|ManifestId { version, epoch }| (number(epoch), version));
        let newest = self.wait(|store| async move { store.newest_until(last).await }).map_err(failed)?;
        let Some(Newest { manifest, damaged }) = newest else { return Ok(None) };
        damaged.iter().for_each(|error| eprintln!("cluster: {error}; the checkpoint before is taken"));
        let epoch = Epoch { election: (manifest.epoch >> 32) as u32, round: manifest.epoch as u32 };
        let digest = |piece| Ok(serde_json::to_vec(piece)?.into());
        let digests = manifest.pieces.iter().map(digest).collect::<io::Result<_>>()?;
        let note = bytes_of(&manifest.note).ok_or(io::Error::other("the note of a manifest is none"))?;
        Ok(Some(Manifest { id: ManifestId { version: manifest.version, epoch }, digests, note }))
    }

    /// Writes down that a job has ended, whose last master had this number.
    pub(super) fn end(&self, election: u32) -> io::Result<()> {
        let name = ended(election);
        self.wait(|store| async move { store.put_result(&name, Bytes::new()).await }).map_err(failed)
    }

    /// Whether the job of the master with this number has ended.
    pub(super) fn has_ended(&self, election: u32) -> io::Result<bool> {
        let name = ended(election);
        match self.wait(|store| async move { store.result(&name).await }) {
            Ok(_) => Ok(true),
            Err(StoreError::Missing { .. }) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// The last election of which there is a trace, perhaps of an earlier job.
    pub(super) fn last_election(&self) -> io::Result<u32> {
        let claim = self.wait(|store| async move { store.last_claim().await }).map_err(failed)?;
        Ok(claim.map_or(0, |claim| (claim >> 32) as u32))
    }

    /// Deletes what is older than these manifests, which are the newest.
    pub(super) fn prune(&self, keep: &[ManifestId]) -> io::Result<()> {
        let Some(epoch) = keep.iter().map(|manifest| number(manifest.epoch)).max() else { return Ok(()) };
        self.wait(|store| async move { store.claim(epoch).await?.prune().await }).map_err(failed)
    }

    /// Writes the parameters behind the last step, as a file.
    pub(super) fn put_result(&self, content: Bytes) -> io::Result<()> {
        self.wait(|store| async move { store.put_result(RESULT, content).await }).map_err(failed)
    }
}

/// The object that says that a job has ended.
fn ended(election: u32) -> String {
    format!("ended-{election}")
}

/// The bytes of hexadecimal digits.
fn bytes_of(digits: &str) -> Option<Bytes> {
    let pair = |at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect::<Option<Vec<_>>>().map(Bytes::from)
}

fn failed(error: StoreError) -> io::Error {
    io::Error::other(error.to_string())
}

fn piece_of(digest: &Bytes) -> io::Result<Piece> {
    Ok(serde_json::from_slice(digest)?)
}
