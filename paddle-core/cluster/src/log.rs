//! The commit log, with what is needed to do its newest steps again.

use crate::machine::Entry;
use crate::message::Request;
use std::collections::VecDeque;
use std::sync::Arc;

/// A committed step.
#[derive(Clone, Debug)]
pub(crate) struct Step<P> {
    pub(crate) request: Arc<Request<P>>,
    /// Where the user's loop was after it.
    pub(crate) note: P,
}

/// Committed steps since the older of the two manifests that are kept. Each version is there once.
#[derive(Clone, Debug)]
pub(crate) struct CommitLog<P> {
    start: u64,
    steps: VecDeque<Step<P>>,
}

impl<P> CommitLog<P> {
    /// The log behind a version.
    pub(crate) fn new(start: u64) -> Self {
        Self { start, steps: VecDeque::new() }
    }

    /// The first version that can be done again.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// How many steps are committed in all.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.steps.len() as u64
    }

    pub(crate) fn append(&mut self, request: Arc<Request<P>>, note: P) -> Entry {
        let Request { plan, pass, batch, rows, .. } = *request;
        let version = self.end();
        self.steps.push_back(Step { request, note });
        Entry { version, plan, pass, batch, rows }
    }

    pub(crate) fn get(&self, version: u64) -> Option<&Step<P>> {
        self.steps.get(usize::try_from(version.checked_sub(self.start)?).ok()?)
    }

    /// Drops what is before a version.
    pub(crate) fn drop_before(&mut self, version: u64) {
        while self.start < version && self.steps.pop_front().is_some() {
            self.start += 1;
        }
    }

    /// How much memory the requests since a version take, as they say themselves.
    pub(crate) fn bytes_since(&self, version: u64) -> u64 {
        let skipped = usize::try_from(version.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.steps.iter().skip(skipped).fold(0, |sum, step| sum.saturating_add(step.request.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(batch: u64) -> Arc<Request<u64>> {
        Arc::new(Request { plan: 0, header: 0, leaves: vec![0], pass: 0, batch, rows: 1, bytes: 10 })
    }

    #[test]
    fn versions_are_counted_on_when_the_beginning_is_dropped() {
        let mut log = CommitLog::new(3);
        for batch in 0..4 {
            assert_eq!(log.append(request(batch), 0).version, 3 + batch);
        }
        log.drop_before(5);
        assert_eq!((log.start(), log.end()), (5, 7));
        assert!(log.get(4).is_none() && log.get(7).is_none());
        assert_eq!(log.get(5).map(|step| step.request.batch), Some(2));
        assert_eq!((log.bytes_since(0), log.bytes_since(6)), (20, 10));
        log.drop_before(99);
        assert_eq!((log.start(), log.end()), (7, 7));
        assert_eq!(log.append(request(9), 0).version, 7);
    }
}
