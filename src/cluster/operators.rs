//! The user's own operators that this process knows: those of the networks that it has made.
//!
//! A trainer is this same program, so it has their kernels. What it is sent has only their names.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use paddle_core::ops::{Custom, Program};
use paddle_core::passes::link::link;

use super::ClusterError;
use crate::Error;
use crate::network::{Network, Spec};

/// By name; nothing where a name is that of two operators.
static KNOWN: Mutex<BTreeMap<String, Option<(TypeId, Custom)>>> = Mutex::new(BTreeMap::new());

/// Makes the operators of a network known to trainers that are processes. It belongs in front of
/// [`Cluster::local`](super::Cluster::local) and [`Cluster::ranks`](super::Cluster::ranks), which do not return in trainers. Trainers
/// that are threads know them anyway.
///
/// # Errors
/// Those of [`Network::program`].
pub fn with_operators_of<S: Spec>(net: &Network<S>) -> Result<(), Error> {
    net.program().map(drop)
}

/// Remembers an operator with its kernel.
pub(crate) fn remember(name: &str, id: TypeId, operator: &Custom) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = known.entry(name.to_string()).or_insert_with(|| Some((id, operator.clone())));
    if entry.as_ref().is_some_and(|(other, _)| *other != id) {
        *entry = None;
    }
}

/// Links the operators of a program that has come from another process.
pub(super) fn link_known(program: &mut Program) -> Result<(), ClusterError> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    link(program, &mut |custom: &Custom| match known.get(&custom.name) {
        Some(Some((_, operator))) if operator.signature() == custom.signature() => {
            Ok(operator.kernel.clone())
        }
        found => Err(ClusterError::Operator { name: custom.name.clone(), is_known: found.is_some() }),
    })
}
