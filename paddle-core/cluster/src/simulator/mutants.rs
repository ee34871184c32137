//! Bugs around the machines.

use crate::planted::Bug;

/// A bug that is planted.
#[cfg_attr(not(test), expect(dead_code, reason = "only this crate's own tests plant bugs"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// One inside of a machine.
    Inside(Bug),
    /// The digest of an object is not one of its content.
    DigestOfNothing,
    /// A server says that it has saved before it has.
    SavedBeforeWritten,
    /// A server looks for its state under the key of another.
    WrongKey,
    /// A worker says only once that it is there.
    OneHeartbeat,
    /// Sums that come twice are added twice.
    AddedTwice,
    /// Values change while they are sent.
    TornValues,
    /// Sums are added up in the order in which they came.
    OrderOfArrival,
    /// Servers that did not fail keep their state when the others go back.
    PartialRollback,
    /// Only the newest manifest is kept.
    OneManifest,
    /// The store enters manifests of any master.
    UnconditionalPut,
}
