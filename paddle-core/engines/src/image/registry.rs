//! Pushing to a registry, without a daemon.

use std::error::Error;
use std::time::Duration;

use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::{Client, Reference, RegistryOperation};

use super::{Credentials, Image, ImageError};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Registries, and who pushes to them. They are spoken to by HTTPS, on this machine by HTTP too.
#[derive(Clone, Debug)]
pub struct Registry {
    credentials: Credentials,
}

/// What a push has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The image by its digest: `registry/name@sha256:…`. A job that names it so runs these bytes, whatever its tag becomes.
    pub reference: String,
    /// How many of the two blobs were there already.
    pub there: usize,
}

impl Registry {
    /// Registries for someone.
    pub fn new(credentials: Credentials) -> Registry {
        Registry { credentials }
    }

    /// Pushes an image under a name: first what is in it, then its manifest. What the registry has is not sent again.
    ///
    /// # Errors
    /// If the name is none, or the registry does not answer, denies or refuses.
    pub async fn push(&self, image: &Image, name: &str) -> Result<Pushed, ImageError> {
        // Another provider may have been chosen before; then it stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let reference: Reference = name.parse().map_err(|error: oci_client::ParseError| {
            ImageError::Reference { reference: name.into(), reason: error.to_string() }
        })?;
        let failed = |error: OciDistributionError| failure(&reference, error);
        let client = Client::new(ClientConfig {
            protocol: protocol(reference.registry()),
            connect_timeout: Some(Duration::from_secs(10)),
            read_timeout: Some(Duration::from_secs(60)),
            ..ClientConfig::default()
        });
        let auth = self.credentials.auth();
        client.store_auth_if_needed(reference.resolve_registry(), &auth).await;
        client.auth(&reference, &auth, RegistryOperation::Push).await.map_err(failed)?;
        let mut there = 0;
        for blob in [&image.layer, &image.config] {
            if client.blob_exists(&reference, &blob.digest).await.map_err(failed)? {
                there += 1;
            } else {
                let bytes = blob.bytes.clone();
                client.push_blob(&reference, bytes, &blob.digest).await.map_err(failed)?;
            }
        }
        let kind = http::HeaderValue::from_static(MANIFEST);
        let bytes = image.manifest.bytes.clone();
        client.push_manifest_raw(&reference, bytes, kind).await.map_err(failed)?;
        let repository = format!("{}/{}", reference.registry(), reference.repository());
        Ok(Pushed { reference: format!("{repository}@{}", image.digest()), there })
    }
}

/// As Docker does: nobody listens in on what stays on this machine.
fn protocol(registry: &str) -> ClientProtocol {
    let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
    match host {
        "localhost" | "127.0.0.1" | "[::1]" => ClientProtocol::Http,
        _ => ClientProtocol::Https,
    }
}

fn failure(reference: &Reference, error: OciDistributionError) -> ImageError {
    use OciDistributionError as E;
    let (registry, repository) = (reference.registry().to_string(), reference.repository().to_string());
    match error {
        E::AuthenticationFailure(_)
        | E::UnauthorizedError { .. }
        | E::ServerError { code: 401 | 403, .. } => ImageError::Denied { registry, repository },
        E::RegistryError { envelope, .. } if envelope.errors.iter().any(is_denial) => {
            ImageError::Denied { registry, repository }
        }
        E::RequestError(error) => {
            // Its address may have a signature in the query.
            let error = error.without_url();
            let reason = root(&error);
            match error.status().map(|status| status.as_u16()) {
                Some(401 | 403) => ImageError::Denied { registry, repository },
                None if error.is_connect() || error.is_timeout() => {
                    ImageError::Unreachable { registry, reason }
                }
                _ => ImageError::Refused { registry, repository, reason },
            }
        }
        E::ServerError { code, message, .. } => {
            ImageError::Refused { registry, repository, reason: format!("HTTP {code}: {message}") }
        }
        error => ImageError::Refused { registry, repository, reason: root(&error) },
    }
}

fn is_denial(error: &oci_client::errors::OciError) -> bool {
    use oci_client::errors::OciErrorCode::{Denied, Unauthorized};
    matches!(error.code, Denied | Unauthorized)
}

/// The innermost cause, which says more than "error sending request".
fn root(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
