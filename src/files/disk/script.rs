//! A scripted file system for tests: chosen operations of a thread fail, and changes are recorded.

use std::cell::RefCell;
use std::io;
use std::path::PathBuf;

use super::Operation;

/// An operation that changed something.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Create(PathBuf),
    Write(PathBuf, Vec<u8>),
    Seek(PathBuf, u64),
    Truncate(PathBuf),
    Sync(PathBuf),
    Link(PathBuf, PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    SyncFolder,
}

/// The operations that fail, counted from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failing {
    Only(usize),
    From(usize),
}

#[derive(Default)]
struct Script {
    failing: Option<Failing>,
    count: usize,
    /// The first operation that failed.
    failed: Option<String>,
    changes: Vec<Change>,
}

thread_local! {
    static SCRIPT: RefCell<Option<Script>> = const { RefCell::new(None) };
}

pub(super) fn perform<R>(operation: Operation<'_>, action: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    let fails =
        SCRIPT.with_borrow_mut(|script| script.as_mut().is_some_and(|script| script.fails(operation)));
    if fails {
        // `EIO` says only that something went wrong.
        return Err(io::Error::from_raw_os_error(5));
    }
    let done = action()?;
    SCRIPT.with_borrow_mut(|script| {
        script.iter_mut().for_each(|script| script.changes.extend(change(operation)));
    });
    Ok(done)
}

impl Script {
    fn fails(&mut self, operation: Operation<'_>) -> bool {
        let at = self.count;
        self.count += 1;
        let fails = match self.failing {
            Some(Failing::Only(n)) => at == n,
            Some(Failing::From(n)) => at >= n,
            None => false,
        };
        if fails && self.failed.is_none() {
            self.failed = Some(match operation {
                Operation::Write(path, _) => format!("Write({path:?})"),
                other => format!("{other:?}"),
            });
        }
        fails
    }
}

fn change(operation: Operation<'_>) -> Option<Change> {
    use Operation as Op;
    Some(match operation {
        Op::Create(path) => Change::Create(path.into()),
        Op::Write(path, bytes) => Change::Write(path.into(), bytes.into()),
        Op::Seek(path, to) => Change::Seek(path.into(), to),
        Op::Truncate(path) => Change::Truncate(path.into()),
        Op::Sync(path) => Change::Sync(path.into()),
        Op::Link(path, second) => Change::Link(path.into(), second.into()),
        Op::Rename(from, to) => Change::Rename(from.into(), to.into()),
        Op::Remove(path) => Change::Remove(path.into()),
        Op::SyncFolder(_) => Change::SyncFolder,
        Op::Open(_)
        | Op::CreateFolder(_)
        | Op::Read(_)
        | Op::SetPermissions(_)
        | Op::Lock(_)
        | Op::Metadata(_)
        | Op::List(_) => {
            return None;
        }
    })
}

fn scripted<R>(failing: Option<Failing>, action: impl FnOnce() -> R) -> (R, Script) {
    SCRIPT.set(Some(Script { failing, ..Script::default() }));
    let result = action();
    (result, SCRIPT.take().unwrap())
}

/// Runs an action on a file system of which some operations fail. Returns its result, and the first operation that
/// failed; `None` if none was reached.
pub(crate) fn failing<R>(failing: Failing, action: impl FnOnce() -> R) -> (R, Option<String>) {
    let (result, script) = scripted(Some(failing), action);
    (result, script.failed)
}

/// Runs an action and returns its changes, in order.
pub(crate) fn recorded<R>(action: impl FnOnce() -> R) -> (R, Vec<Change>) {
    let (result, script) = scripted(None, action);
    (result, script.changes)
}
