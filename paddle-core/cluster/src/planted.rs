//! Bugs that tests plant to see whether the simulator finds them.

/// A bug inside of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A commit of an earlier step is applied again.
    EarlierSteps,
    /// A server answers a pull with another version than the one asked for.
    AnyVersion,
    /// Messages of earlier epochs are accepted.
    NoEpochs,
    /// Messages of earlier incarnations are accepted.
    NoIncarnations,
    /// A step is committed when a part of it is there.
    PartOfCover,
    /// A worker serves after its lease.
    NoLease,
    /// The log from which steps are replayed begins behind its first step.
    LostRequest,
    /// Sums of an attempt that was given up count for the next.
    NoAttempts,
    /// A server applies sums again that it has seen.
    SeenTwice,
    /// More steps are under way than the staleness allows.
    TooStale,
    /// A step is committed before what is saved is fixed, and what is saved is what is there.
    SaveOfLaterStep,
    /// A step is committed when one server has measured its sums.
    PartOfMeasures,
    /// What was measured of an earlier step counts for this one.
    MeasuresOfBefore,
    /// A part of a server's values that comes twice counts for one that is missing.
    PartTwice,
    /// A trainer reports before the servers have its sums.
    ReportBeforePush,
}

#[cfg(any(test, feature = "simulator"))]
std::thread_local! {
    pub(crate) static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Whether the simulator has planted this bug on this thread.
#[cfg(any(test, feature = "simulator"))]
pub(crate) fn planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Outside of tests there are no planted bugs.
#[cfg(not(any(test, feature = "simulator")))]
pub(crate) const fn planted(_: Bug) -> bool {
    false
}
