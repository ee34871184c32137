//! Runs of many seeds. One does not depend on another, so each core takes the next one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

/// A number from the environment, for longer runs.
pub(super) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// So many seeds, from that on which the environment names.
pub(super) fn seeds(count: u64) -> Range<u64> {
    let first = number("PADDLE_CLUSTER_FIRST_SEED", 0);
    first..first + count
}

/// Calls `run` with each seed, and `take` with what it returns, in the order of the seeds, as soon as those before are there.
pub(super) fn each<T: Send>(seeds: Range<u64>, run: impl Fn(u64) -> T + Sync, mut take: impl FnMut(u64, T)) {
    let next = AtomicU64::new(seeds.start);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..cores.min(usize::try_from(seeds.end - seeds.start).unwrap_or(cores)) {
            let (sender, next, run) = (sender.clone(), &next, &run);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    // What a seed leaves behind when it panics is looked at by nobody.
                    if seed >= seeds.end
                        || sender.send((seed, catch_unwind(AssertUnwindSafe(|| run(seed))))).is_err()
                    {
                        return;
                    }
                }
            });
        }
        drop(sender);
        // When `take` panics, nobody receives any more, and no thread begins another seed.
        let (mut due, mut early) = (seeds.start, BTreeMap::new());
        for (seed, outcome) in receiver {
            early.insert(seed, outcome);
            while let Some(outcome) = early.remove(&due) {
                take(due, outcome.unwrap_or_else(|_| panic!("seed {due}: it has panicked")));
                due += 1;
            }
        }
    });
}
