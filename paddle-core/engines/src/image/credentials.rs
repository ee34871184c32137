//! Who pushes.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_client::secrets::RegistryAuth;

use super::ImageError;

/// What a registry is told about who pushes. It is not shown by `Debug`.
#[derive(Clone)]
pub enum Credentials {
    /// Nobody in particular.
    Anonymous,
    /// A user.
    User {
        /// Its name.
        name: String,
        /// Its password, or a token that a registry wants as one.
        password: String,
    },
    /// A token of the registry itself.
    Token(String),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Credentials::Anonymous => "Anonymous",
            Credentials::User { .. } => "User(…)",
            Credentials::Token(_) => "Token(…)",
        })
    }
}

impl Credentials {
    /// What `docker login` has written for a registry, in `~/.docker/config.json` as a rule; `Anonymous` if there is nothing about it.
    ///
    /// # Errors
    /// If the file cannot be read, or keeps its passwords elsewhere, in a helper.
    pub fn of_docker(config: &Path, registry: &str) -> Result<Credentials, ImageError> {
        let broken = |reason: &str| ImageError::Read { path: config.into(), reason: reason.into() };
        let text = match std::fs::read(config) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Credentials::Anonymous),
            text => text.map_err(|error| broken(&error.to_string()))?,
        };
        let config: serde_json::Value = serde_json::from_slice(&text).map_err(|_| broken("it is no JSON"))?;
        let entry = &config["auths"][registry];
        if let Some(auth) = entry["auth"].as_str().filter(|auth| !auth.is_empty()) {
            let plain = STANDARD.decode(auth).ok().and_then(|plain| String::from_utf8(plain).ok());
            let pair = plain.as_deref().and_then(|plain| plain.split_once(':'));
            let (name, password) = pair.ok_or_else(|| broken("its `auth` is no user and password"))?;
            return Ok(Credentials::User { name: name.into(), password: password.into() });
        }
        if !entry.is_null()
            && (config["credsStore"].is_string() || config["credHelpers"][registry].is_string())
        {
            return Err(broken("a helper of Docker keeps the password; push by Docker, or give it here"));
        }
        Ok(Credentials::Anonymous)
    }

    pub(super) fn auth(&self) -> RegistryAuth {
        match self.clone() {
            Credentials::Anonymous => RegistryAuth::Anonymous,
            Credentials::User { name, password } => RegistryAuth::Basic(name, password),
            Credentials::Token(token) => RegistryAuth::Bearer(token),
        }
    }
}
