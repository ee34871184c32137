//! What can go wrong with Kubernetes. No error has credentials in it.

/// Why a job could not be described, applied or followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubernetesError {
    /// A part of a job is not as Kubernetes wants it.
    #[error("{field} is `{found}`; expected {expected}")]
    Malformed {
        /// Which part.
        field: &'static str,
        /// What it is.
        found: String,
        /// What it should be.
        expected: String,
    },
    /// Manifests cannot be written as YAML.
    #[error("the manifests cannot be written: {reason}")]
    Yaml {
        /// Why.
        reason: String,
    },
    /// The certificates of a job cannot be made.
    #[error("the certificates of the job cannot be made: {reason}")]
    Certificates {
        /// Why.
        reason: String,
    },
    /// The credentials cannot be used.
    #[error("{place}: {reason}")]
    Credentials {
        /// Where they are.
        place: String,
        /// What is wrong with them.
        reason: String,
    },
    /// The API server does not answer.
    #[error("the API server does not answer: {reason}")]
    Unreachable {
        /// What the connection met.
        reason: String,
    },
    /// The API server does not know who asks: HTTP 401.
    #[error("{object}: the API server does not accept the credentials; they are wrong or have expired")]
    Unauthenticated {
        /// What was accessed.
        object: String,
    },
    /// Who asks may not do this: HTTP 403.
    #[error("{object}: not allowed: {reason}")]
    Forbidden {
        /// What was accessed.
        object: String,
        /// What the API server said.
        reason: String,
    },
    /// The object is not there: HTTP 404.
    #[error("{object} is not there")]
    Missing {
        /// What was accessed.
        object: String,
    },
    /// Another program has set the same fields: HTTP 409.
    #[error("{object} is managed by another program, too: {reason}")]
    Conflict {
        /// What was accessed.
        object: String,
        /// What the API server said.
        reason: String,
    },
    /// The API server has too much to do, or is ill: HTTP 429 and 5xx. Try again later.
    #[error("{object}: the API server cannot answer now, HTTP {status}: {reason}")]
    Busy {
        /// What was accessed.
        object: String,
        /// The status of HTTP.
        status: u16,
        /// What it said.
        reason: String,
    },
    /// The API server refuses: it finds the object invalid, or has another reason.
    #[error("{object}: the API server refuses, HTTP {status}: {reason}")]
    Refused {
        /// What was accessed.
        object: String,
        /// The status of HTTP.
        status: u16,
        /// What it said.
        reason: String,
    },
    /// A job of this name is there, and is another. A job cannot be changed.
    #[error("the job `{job}` is there already, and differs in {}; stop it first, or choose another name", fields.join(", "))]
    Differs {
        /// Its name.
        job: String,
        /// The fields in which it differs.
        fields: Vec<String>,
    },
    /// The job has ended, so it does not go on.
    #[error("the job `{job}` has ended")]
    Ended {
        /// Its name.
        job: String,
    },
    /// A job was deleted, to go on with other processes, and cannot be made again. What it has computed is in its store.
    #[error(
        "the job `{job}` was deleted and cannot be made again: {reason}; its checkpoints are in its store, in the folder `{job}/{run}`"
    )]
    NotMadeAgain {
        /// Its name.
        job: String,
        /// What tells its run from others.
        run: String,
        /// Why not.
        reason: String,
    },
    /// A job of this name is being deleted.
    #[error("the job `{job}` is being deleted; try again when its pods are gone")]
    Ending {
        /// Its name.
        job: String,
    },
}

impl KubernetesError {
    /// What happened at an object.
    pub(super) fn of(object: impl Into<String>, error: &kube::Error) -> KubernetesError {
        let object = object.into();
        let kube::Error::Api(status) = error else {
            return KubernetesError::Unreachable { reason: root(error) };
        };
        let (status, reason) = (status.code, status.message.clone());
        match status {
            401 => KubernetesError::Unauthenticated { object },
            403 => KubernetesError::Forbidden { object, reason },
            404 => KubernetesError::Missing { object },
            409 => KubernetesError::Conflict { object, reason },
            429 | 500.. => KubernetesError::Busy { object, status, reason },
            _ => KubernetesError::Refused { object, status, reason },
        }
    }

    /// Whether the same may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(self, KubernetesError::Busy { .. } | KubernetesError::Unreachable { .. })
    }
}

/// The innermost cause, which says more than the layers around it.
pub(super) fn root(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
