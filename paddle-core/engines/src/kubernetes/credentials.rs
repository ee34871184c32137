//! Who applies a job.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};

use super::KubernetesError;
use super::error::root;

/// How an API server is reached, and by whom. It shows no secrets.
#[derive(Clone)]
pub enum Credentials {
    /// What `kubectl` uses: `KUBECONFIG`, `~/.kube/config`, or in a pod its service account.
    Default,
    /// A file like `~/.kube/config`, with its current context.
    Kubeconfig(PathBuf),
    /// A file with the certificate of a user and its private key, in PEM; certificates behind the first are those of the authority
    /// that the server is known by.
    Pem {
        /// `https://host:port`.
        server: String,
        /// The file.
        path: PathBuf,
    },
    /// A bearer token.
    Token {
        /// `https://host:port`.
        server: String,
        /// The token.
        token: String,
        /// The certificate of the authority that the server is known by, in PEM, unless the system knows it.
        authority: Option<String>,
    },
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Credentials::Default => write!(f, "Default"),
            Credentials::Kubeconfig(path) => write!(f, "Kubeconfig({})", path.display()),
            Credentials::Pem { server, path } => write!(f, "Pem({server}, {})", path.display()),
            Credentials::Token { server, .. } => write!(f, "Token({server}, …)"),
        }
    }
}

impl Credentials {
    pub(super) async fn config(&self) -> Result<Config, KubernetesError> {
        let (place, kubeconfig) = match self {
            Credentials::Default => {
                return Config::infer().await.map_err(|error| failed("no credentials were found", &error));
            }
            Credentials::Kubeconfig(path) => {
                let place = path.display().to_string();
                // Its error may quote the file, with its secrets.
                let file = Kubeconfig::read_from(path).map_err(|_| KubernetesError::Credentials {
                    place: place.clone(),
                    reason: "it cannot be read as a kubeconfig".into(),
                })?;
                (place, file)
            }
            Credentials::Pem { server, path } => (path.display().to_string(), of_pem(server, path)?),
            Credentials::Token { server, token, authority } => {
                let user = AuthInfo { token: Some(token.clone().into()), ..Default::default() };
                (server.clone(), one(server, authority.as_deref(), user))
            }
        };
        let options = KubeConfigOptions::default();
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| failed(&place, &error))
    }
}

fn failed(place: &str, error: &dyn std::error::Error) -> KubernetesError {
    KubernetesError::Credentials { place: place.into(), reason: root(error) }
}

fn of_pem(server: &str, path: &Path) -> Result<Kubeconfig, KubernetesError> {
    let wrong = |reason: &str| KubernetesError::Credentials {
        place: path.display().to_string(),
        reason: reason.into(),
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let (mut certificates, mut key) = (Vec::new(), None);
    let mut rest = text.as_str();
    while let Some(at) = rest.find("-----BEGIN ") {
        let block = &rest[at..];
        let kind = block["-----BEGIN ".len()..].split("-----").next().unwrap_or_default();
        let end = format!("-----END {kind}-----");
        let length = block.find(&end).ok_or_else(|| wrong(&format!("`{kind}` has no end")))? + end.len();
        match kind {
            "CERTIFICATE" => certificates.push(&block[..length]),
            kind if kind.ends_with("PRIVATE KEY") => key = Some(&block[..length]),
            _ => {}
        }
        rest = &block[length..];
    }
    let [certificate, authority @ ..] = &certificates[..] else { return Err(wrong("it has no certificate")) };
    let key = key.ok_or_else(|| wrong("it has no private key"))?;
    let user = AuthInfo {
        client_certificate_data: Some(STANDARD.encode(certificate)),
        client_key_data: Some(STANDARD.encode(key).into()),
        ..Default::default()
    };
    let authority = (!authority.is_empty()).then(|| authority.join("\n"));
    Ok(one(server, authority.as_deref(), user))
}

/// A kubeconfig of one server and one user.
fn one(server: &str, authority: Option<&str>, user: AuthInfo) -> Kubeconfig {
    let name = || "paddle".to_string();
    let cluster = Cluster {
        server: Some(server.into()),
        certificate_authority_data: authority.map(|pem| STANDARD.encode(pem)),
        ..Default::default()
    };
    let context = Context { cluster: name(), user: Some(name()), ..Default::default() };
    Kubeconfig {
        clusters: vec![NamedCluster { name: name(), cluster: Some(cluster), ..Default::default() }],
        auth_infos: vec![NamedAuthInfo { name: name(), auth_info: Some(user), ..Default::default() }],
        contexts: vec![NamedContext { name: name(), context: Some(context), ..Default::default() }],
        current_context: Some(name()),
        ..Default::default()
    }
}
