//! What can go wrong with checkpoints. No error has credentials in it.

use std::error::Error;
use std::io::{self, ErrorKind};

/// Why checkpoints could not be written or read. In each case the last manifest is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no space, or a quota is used up.
    #[error("{object}: the store is full; free space there, the last checkpoint is untouched")]
    Full {
        /// What was to be written.
        object: String,
    },
    /// The store cannot be written to.
    #[error("{object}: the store is read-only")]
    ReadOnly {
        /// What was to be written.
        object: String,
    },
    /// The credentials are missing, wrong, or do not suffice.
    #[error("{object}: the store denies access; check the credentials and what they allow")]
    Denied {
        /// What was accessed.
        object: String,
    },
    /// Another master has taken over the job.
    #[error("epoch {epoch} of the job has ended: epoch {by} has begun; this process has to stop")]
    Fenced {
        /// Whose commit this was.
        epoch: u64,
        /// Who is in charge now.
        by: u64,
    },
    /// An object is not there.
    #[error("{object} is not there")]
    Missing {
        /// Which one.
        object: String,
    },
    /// An object is not what it was when it was written.
    #[error("{object} is damaged: {found}; expected {expected}")]
    Damaged {
        /// Which one.
        object: String,
        /// What is there.
        found: String,
        /// What its manifest says, or what a manifest looks like.
        expected: String,
    },
    /// There are manifests, but none of them is whole. To begin anew is for a person to decide.
    #[error("no checkpoint is whole; the newest: {newest}; {others} others are broken, too")]
    NoneWhole {
        /// What is wrong with the newest.
        newest: Box<StoreError>,
        /// How many others there are.
        others: usize,
    },
    /// Something else has this name.
    #[error("{object} is there already, with other content")]
    Conflict {
        /// Which name.
        object: String,
    },
    /// The address of a store is wrong, or needs a feature that is off.
    #[error("`{url}` is no address of a store: {reason}")]
    Address {
        /// The address, without user, password and query.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The store failed in another way; it may be tried again.
    #[error("{object}: {reason}")]
    Failed {
        /// What was accessed.
        object: String,
        /// What the store said.
        reason: String,
    },
}

impl StoreError {
    /// What happened at an object.
    pub(super) fn of(object: &str, error: &object_store::Error) -> StoreError {
        use object_store::Error as E;
        let object = object.to_string();
        match error {
            E::NotFound { .. } => StoreError::Missing { object },
            E::AlreadyExists { .. } | E::Precondition { .. } => StoreError::Conflict { object },
            E::Unauthenticated { .. } => StoreError::Denied { object },
            _ => match io_kind(error) {
                Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => StoreError::Full { object },
                Some(ErrorKind::ReadOnlyFilesystem) => StoreError::ReadOnly { object },
                Some(ErrorKind::PermissionDenied) => StoreError::Denied { object },
                _ if matches!(error, E::PermissionDenied { .. }) => StoreError::Denied { object },
                _ => StoreError::Failed { object, reason: without_queries(&error.to_string()) },
            },
        }
    }
}

/// A folder's error is hidden in layers of others.
fn io_kind(error: &object_store::Error) -> Option<ErrorKind> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        next = error.source();
    }
    None
}

/// A text without what stands behind `?`: Azure and presigned addresses have their secrets there.
pub(super) fn without_queries(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')' | '>');
    let mut parts = text.split('?');
    let mut clean = parts.next().unwrap_or_default().to_string();
    for part in parts {
        clean.push('?');
        clean.push_str(part.find(is_end).map_or("", |at| &part[at..]));
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_left_out() {
        let text = "PUT \"https://a.blob/c?sig=SECRET&se=1\" failed (https://b?sig=SECRET): why?";
        assert_eq!(without_queries(text), "PUT \"https://a.blob/c?\" failed (https://b?): why?");
    }

    #[test]
    fn errors_of_folders_are_told_apart() {
        let object = || "manifest/1".to_string();
        let cases = [
            (ErrorKind::StorageFull, StoreError::Full { object: object() }),
            (ErrorKind::ReadOnlyFilesystem, StoreError::ReadOnly { object: object() }),
            (ErrorKind::PermissionDenied, StoreError::Denied { object: object() }),
        ];
        for (kind, expected) in cases {
            let source = Box::new(io::Error::from(kind));
            let inner = object_store::Error::Generic { store: "inner", source };
            let outer = object_store::Error::Generic { store: "outer", source: Box::new(inner) };
            assert_eq!(StoreError::of("manifest/1", &outer), expected);
        }
    }
}
