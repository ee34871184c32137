//! A store of which an operation fails, alone or with all later ones.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// Whether a failing operation has its effect nevertheless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    Before,
    After,
}

#[derive(Debug)]
pub(crate) struct Failing {
    inner: Arc<InMemory>,
    at: usize,
    fault: Fault,
    later_fail: bool,
    operations: Arc<AtomicUsize>,
}

impl Failing {
    pub(crate) fn new(inner: Arc<InMemory>, at: usize, fault: Fault, later_fail: bool) -> Failing {
        Failing { inner, at, fault, later_fail, operations: Arc::default() }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.operations.load(Ordering::SeqCst) > self.at
    }

    /// Whether the operation that begins now shall fail, and whether it has its effect.
    fn fails(&self) -> Option<Fault> {
        let number = self.operations.fetch_add(1, Ordering::SeqCst);
        match number {
            _ if number == self.at => Some(self.fault),
            // A killed process has no effect any more.
            _ if number > self.at && self.later_fail => Some(Fault::Before),
            _ => None,
        }
    }
}

fn error() -> Error {
    Error::Generic { store: "failing", source: "as planned".into() }
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failing")
    }
}

#[async_trait]
impl ObjectStore for Failing {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        match self.fails() {
            Some(Fault::Before) => Err(error()),
            Some(Fault::After) => {
                self.inner.put_opts(location, payload, options).await?;
                Err(error())
            }
            None => self.inner.put_opts(location, payload, options).await,
        }
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(error())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        match self.fails() {
            Some(_) => Err(error()),
            None => self.inner.get_opts(location, options).await,
        }
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        match self.fails() {
            Some(Fault::Before) => stream::once(async { Err(error()) }).boxed(),
            Some(Fault::After) => {
                let deleted = self.inner.delete_stream(locations);
                deleted.map(|_| Err(error())).boxed()
            }
            None => self.inner.delete_stream(locations),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.fails() {
            Some(_) => stream::once(async { Err(error()) }).boxed(),
            None => self.inner.list(prefix),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
