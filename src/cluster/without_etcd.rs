//! What stands for etcd in a program without it.

use std::env;

use paddle_cluster::machine::Writing;
use paddle_cluster::message::ManifestId;

use super::ClusterError;

/// There is none.
#[derive(Clone)]
pub(super) enum Etcd {}

/// There is none.
pub(super) enum Lock {}

impl Etcd {
    /// Errors if the environment names one: whoever relies on it does not want to do without.
    pub(super) fn of_environment() -> Result<Option<Self>, ClusterError> {
        match env::var_os("PADDLE_ETCD") {
            None => Ok(None),
            Some(_) => Err(ClusterError::Coordination {
                message: "`PADDLE_ETCD` is set, but this program was built without the feature `etcd`"
                    .to_string(),
            }),
        }
    }

    pub(super) fn at(&self) -> &str {
        match *self {}
    }

    pub(super) fn hold(self, _: String) -> Result<Lock, ClusterError> {
        match self {}
    }

    pub(super) fn follow(self, _: impl FnMut(String) -> bool) -> Result<(), ClusterError> {
        match self {}
    }
}

impl Lock {
    pub(super) fn election(&self, _: u32) -> Result<u32, ClusterError> {
        match *self {}
    }

    pub(super) fn point(&self, _: ManifestId) -> Writing {
        match *self {}
    }

    pub(super) fn newest(&self) -> Result<Option<ManifestId>, ClusterError> {
        match *self {}
    }

    pub(super) fn when_lost(&self, _: impl FnOnce()) {
        match *self {}
    }

    pub(super) fn check(&self) -> Result<(), ClusterError> {
        match *self {}
    }
}
