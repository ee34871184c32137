//! The certificates that the processes of a job show each other: a CA of the job's own, whose key nobody keeps, and what it has signed.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::{KubernetesError, Secret};

/// The name that certificates are for: addresses of processes that are started again are not known before.
const NAME: &str = "paddle";

impl Secret {
    /// The files of [`certificates`](Self::certificates).
    pub const CERTIFICATES: [&str; 3] = ["ca.pem", "cert.pem", "key.pem"];

    /// Adds a new CA, and the certificate and the key that all processes of the job show. They are good as long as somebody has the secret,
    /// and for this job only.
    ///
    /// # Errors
    /// [`KubernetesError::Certificates`] if no key can be made.
    pub fn certificates(self) -> Result<Secret, KubernetesError> {
        let files = make().map_err(|error| KubernetesError::Certificates { reason: error.to_string() })?;
        let named = Self::CERTIFICATES.into_iter().zip(files);
        Ok(named.fold(self, |secret, (name, content)| secret.file(name, content.as_bytes())))
    }
}

fn make() -> Result<[String; 3], rcgen::Error> {
    let mut ca = CertificateParams::new(Vec::new())?;
    ca.distinguished_name.push(DnType::CommonName, "a job");
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let ca_key = KeyPair::generate()?;
    let ca_pem = ca.self_signed(&ca_key)?.pem();
    let mut own = CertificateParams::new(vec![NAME.to_string()])?;
    own.distinguished_name.push(DnType::CommonName, "a process of the job");
    own.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    own.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = own.signed_by(&key, &Issuer::new(ca, ca_key))?;
    Ok([ca_pem, certificate.pem(), key.serialize_pem()])
}
