//! Why a connection is not opened: because the other process is not there, which passes, or because it does not want this one,
//! which does not.

use std::error::Error;

use tonic::{Code, Status};

use super::ClusterError;

/// What errors of connections contain, and what to do then. The first that fits counts.
const REFUSALS: [(&str, &str); 11] = [
    ("peer certificate: UnknownIssuer", OTHER_CA),
    // Of another CA with the same name.
    ("peer certificate: BadSignature", OTHER_CA),
    ("UnknownCA", OWN_CA),
    ("DecryptError", OWN_CA),
    ("peer certificate: Expired", EXPIRED),
    ("peer certificate: certificate expired", EXPIRED),
    (
        "CertificateExpired",
        "the certificate of this process has expired, or that machine's clock is wrong; issue a new one",
    ),
    ("NotValidForName", MISNAMED),
    ("not valid for name", MISNAMED),
    ("InvalidContentType", "it speaks no TLS; set `PADDLE_TLS` for all processes of the job"),
    ("frame with invalid size", WANTS_TLS),
];

const OTHER_CA: &str = "its certificate is of another CA; give all processes of the job the same `ca.pem`, and certificates \
                        of that CA";
const OWN_CA: &str = "it does not take the certificate of this process, which is of another CA; give all processes of the job \
                      the same `ca.pem`, and certificates of that CA";

const WANTS_TLS: &str = "it ends the connection; if it does so again and again, it wants TLS: set `PADDLE_TLS` for all processes of \
                         the job";
const NOT_TAKEN: &str = "it ends the connection; if it does so again and again, the certificate of this process is of another \
                         CA than its `ca.pem`, or has expired";
const EXPIRED: &str = "its certificate has expired, or this machine's clock is wrong; issue a new one";
const MISNAMED: &str =
    "its certificate is not for the name `paddle`; issue one with `subjectAltName=DNS:paddle`";

/// An error, with all that it comes from.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let further = error.to_string();
        if !text.ends_with(&further) {
            text = format!("{text}: {further}");
        }
        source = error.source();
    }
    text
}

/// What errors contain of a connection that has ended as soon as it was open.
const ENDED: [&str; 4] = ["connection error", "connection closed", "broken pipe", "Connection reset"];

/// A connection to an address was not opened. Whoever wants certificates, or others, ends it, and may not get to say so.
pub(super) fn of_connection(
    address: &str,
    error: &(dyn Error + 'static),
    has_certificates: bool,
) -> ClusterError {
    let (address, message) = (address.to_string(), chain(error));
    let known = REFUSALS.iter().find(|(part, _)| message.contains(part)).map(|(_, advice)| *advice);
    let has_ended = ENDED.iter().any(|part| message.contains(part));
    let not_taken = if has_certificates { NOT_TAKEN } else { WANTS_TLS };
    match known.or(has_ended.then_some(not_taken)) {
        Some(advice) => ClusterError::Refused { address, why: message, advice },
        None => ClusterError::Connection { address, message },
    }
}

/// The process at an address has answered that it does not want this one, or has not answered.
pub(super) fn of_answer(address: &str, status: &Status, has_certificates: bool) -> ClusterError {
    let message = status.message().to_string();
    let advice = match (status.code(), status.source()) {
        (Code::Unauthenticated, _) => "give all processes of the job the same file as `PADDLE_SECRET`",
        (Code::FailedPrecondition, _) => "build all processes of the job from one version of this library",
        (_, Some(source)) => return of_connection(address, source, has_certificates),
        (_, None) => return ClusterError::Connection { address: address.to_string(), message },
    };
    ClusterError::Refused { address: address.to_string(), why: message, advice }
}
