//! An allocator that fails when it is told to.
#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

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

/// What fails on this thread, and the large allocations that it has made meanwhile. Other tests run beside it.
#[derive(Clone, Copy)]
struct Plan {
    fails: Option<Fails>,
    seen: usize,
    /// Allocations of more bytes fail.
    limit: usize,
}

const NOTHING: Plan = Plan { fails: None, seen: 0, limit: MOST };

thread_local! {
    static PLAN: Cell<Plan> = const { Cell::new(NOTHING) };
}

/// Runs an action in which nothing of more than so many bytes can be allocated.
pub(crate) fn limited<R>(bytes: usize, action: impl FnOnce() -> R) -> R {
    PLAN.set(Plan { limit: bytes, ..NOTHING });
    let result = action();
    PLAN.set(NOTHING);
    result
}

/// Runs an action while allocations fail, and tells how many did.
pub(crate) fn failing<R>(fails: Fails, action: impl FnOnce() -> R) -> (R, usize) {
    PLAN.set(Plan { fails: Some(fails), ..NOTHING });
    let result = action();
    let seen = PLAN.replace(NOTHING).seen;
    let failed = match fails {
        Fails::Only(first) => seen.saturating_sub(first).min(1),
        Fails::From(first) => seen.saturating_sub(first),
    };
    (result, failed)
}

fn fails(bytes: usize) -> bool {
    let plan = PLAN.get();
    if bytes > plan.limit {
        return true;
    }
    let Some(fails) = plan.fails.filter(|_| bytes >= LARGE) else { return false };
    PLAN.set(Plan { seen: plan.seen + 1, ..plan });
    match fails {
        Fails::Only(first) => plan.seen == first,
        Fails::From(first) => plan.seen >= first,
    }
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
