//! What stands for certificates in a program without them.

use std::path::PathBuf;

use tonic::transport::{Endpoint, Server};

use super::ClusterError;

/// There is none.
#[derive(Clone)]
pub(super) enum Tls {}

impl Tls {
    /// Errors if there are some: whoever wants certificates does not want to do without.
    pub(super) fn of(folder: Option<PathBuf>) -> Result<Option<Self>, ClusterError> {
        let Some(folder) = folder else { return Ok(None) };
        let message = "this program was built without the feature `tls`".to_string();
        Err(ClusterError::Certificates { folder: folder.display().to_string(), message })
    }

    pub(super) fn on_server(&self, _: Server) -> Result<Server, ClusterError> {
        match *self {}
    }

    pub(super) fn on_client(&self, _: Endpoint) -> Result<Endpoint, ClusterError> {
        match *self {}
    }
}
