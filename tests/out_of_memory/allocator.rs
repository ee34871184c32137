//! An allocator that fails when it is told to.
#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Allocations of at least so many bytes are counted, and fail: those of data. What is proportional to a program, and the room
/// that files are written through, are less.
pub(crate) const LARGE: usize = (1 << 16) + 1;

/// Nothing has so much memory, whatever the system says before it is used.
const MOST: usize = 1 << 36;

/// Which of the large allocations fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fails {
    /// The one of this number, from 0.
    Only(usize),
    /// It, and all that follow.
    From(usize),
}

static ARMED: AtomicBool = AtomicBool::new(false);
static ALL: AtomicBool = AtomicBool::new(false);
static FIRST: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);

/// Allocations of more bytes fail.
static LIMIT: AtomicUsize = AtomicUsize::new(MOST);

/// Allocations of all threads are counted, so one test runs at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs an action in which nothing of more than so many bytes can be allocated.
pub(crate) fn limited<R>(bytes: usize, action: impl FnOnce() -> R) -> R {
    LIMIT.store(bytes, Ordering::SeqCst);
    let result = action();
    LIMIT.store(MOST, Ordering::SeqCst);
    result
}

/// Runs an action while allocations fail, and tells how many did.
pub(crate) fn failing<R>(fails: Fails, action: impl FnOnce() -> R) -> (R, usize) {
    let (first, all) = match fails {
        Fails::Only(first) => (first, false),
        Fails::From(first) => (first, true),
    };
    FIRST.store(first, Ordering::SeqCst);
    ALL.store(all, Ordering::SeqCst);
    SEEN.store(0, Ordering::SeqCst);
    ARMED.store(true, Ordering::SeqCst);
    let result = action();
    ARMED.store(false, Ordering::SeqCst);
    let failed = SEEN.load(Ordering::SeqCst).saturating_sub(first);
    (result, if all { failed } else { failed.min(1) })
}

fn fails(bytes: usize) -> bool {
    if bytes > LIMIT.load(Ordering::SeqCst) {
        return true;
    }
    if bytes < LARGE || !ARMED.load(Ordering::SeqCst) {
        return false;
    }
    let number = SEEN.fetch_add(1, Ordering::SeqCst);
    let first = FIRST.load(Ordering::SeqCst);
    number == first || number > first && ALL.load(Ordering::SeqCst)
}

struct Failing;

#[global_allocator]
static ALLOCATOR: Failing = Failing;

// SAFETY: everything is the system's, or null, which an allocator may return.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        if fails(layout.size()) { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        if fails(layout.size()) { ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's.
        if fails(bytes) { ptr::null_mut() } else { unsafe { System.realloc(at, layout, bytes) } }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}
