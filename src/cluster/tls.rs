//! The certificates that the processes of a job show each other: `ca.pem`, `cert.pem` and `key.pem` in the folder that
//! `PADDLE_TLS` names, or that has the secret of a job on Kubernetes.
//!
//! Both sides show one, and take the other's if the job's CA has signed it for the name `paddle`. Addresses are not compared:
//! those of processes that are started again somewhere are not known before.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Server, ServerTlsConfig};

use super::ClusterError;
use super::grpc::CONNECTED_WITHIN;
use super::refusal::chain;

/// The name that certificates are for.
const NAME: &str = "paddle";

/// What a process shows, and what it takes.
#[derive(Clone)]
pub(super) struct Tls {
    folder: PathBuf,
    ca: Arc<Certificate>,
    own: Arc<Identity>,
}

impl Tls {
    /// Those in a folder, if there is one.
    pub(super) fn of(folder: Option<PathBuf>) -> Result<Option<Self>, ClusterError> {
        folder.map(|folder| Self::in_folder(&folder)).transpose()
    }

    /// Those in a folder. What is none is an error.
    pub(super) fn in_folder(folder: &Path) -> Result<Self, ClusterError> {
        let read = |name: &str| {
            fs::read(folder.join(name)).map_err(|error| failed(folder, format!("`{name}`: {error}")))
        };
        let own = Arc::new(Identity::from_pem(read("cert.pem")?, read("key.pem")?));
        let ca = Arc::new(Certificate::from_pem(read("ca.pem")?));
        let tls = Tls { folder: folder.to_path_buf(), ca, own };
        tls.on_server(Server::builder())?;
        tls.on_client(Endpoint::from_static("https://paddle"))?;
        Ok(tls)
    }

    /// Has a server show its certificate, and want one.
    pub(super) fn on_server(&self, server: Server) -> Result<Server, ClusterError> {
        let config = ServerTlsConfig::new().identity((*self.own).clone()).client_ca_root((*self.ca).clone());
        // Whoever says nothing is not waited for.
        let server = server.tls_config(config.timeout(CONNECTED_WITHIN));
        server.map_err(|error| failed(&self.folder, chain(&error)))
    }

    /// Has a client show its certificate, and want one.
    pub(super) fn on_client(&self, endpoint: Endpoint) -> Result<Endpoint, ClusterError> {
        let config = ClientTlsConfig::new().ca_certificate((*self.ca).clone()).identity((*self.own).clone());
        let endpoint = endpoint.tls_config(config.domain_name(NAME));
        endpoint.map_err(|error| failed(&self.folder, chain(&error)))
    }
}

fn failed(folder: &Path, message: String) -> ClusterError {
    ClusterError::Certificates { folder: folder.display().to_string(), message }
}

#[cfg(test)]
mod tests;
