//! The persistent team of threads that runs the tiles of a kernel.
#![allow(unsafe_code, reason = "hands a borrowed closure to threads that outlive the borrow")]

use std::any::Any;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{hint, io, thread};

/// How long a thread watches for its next job before it sleeps: longer than the gap between two kernels of one
/// step, short enough that an idle process uses no CPU.
const SPIN: Duration = Duration::from_micros(50);

/// To wake threads that sleep takes the caller some microseconds, and them some more: a job with less work left than
/// this, as its first tile took it, is done without them.
const WORTH_WAKING: Duration = Duration::from_micros(10);

type Work<'a> = dyn Fn(usize) + Sync + 'a;

/// Threads that wait for work, and the thread that calls [`Team::run`].
///
/// A team may be shared by any number of user threads. It serves one of them at a time; the others, and a `run`
/// from within a `run`, do their work on their own thread.
pub struct Team {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Team {
    /// A team of `threads`, the caller of `run` included: it starts `threads - 1`.
    pub fn new(threads: usize) -> io::Result<Team> {
        // Workers are pushed one by one, so that those already started are joined when one cannot be.
        let mut team = Team { shared: Arc::new(Shared::new(threads.max(1))), workers: Vec::new() };
        for number in 1..threads {
            let shared = Arc::clone(&team.shared);
            let name = format!("paddle-{number}");
            team.workers.push(thread::Builder::new().name(name).spawn(move || shared.serve(number))?);
        }
        // Starting a thread allocates, on that thread: let it be over before the first job.
        let started = Barrier::new(team.threads());
        team.run(team.threads(), &|_| {
            started.wait();
        });
        Ok(team)
    }

    /// The number of threads that work in `run`.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Like [`run`](Self::run) if the work is worth it, and otherwise on the calling thread alone.
    pub fn run_if(&self, is_worth_it: bool, tiles: usize, work: &Work<'_>) {
        if is_worth_it { self.run(tiles, work) } else { (0..tiles).for_each(work) }
    }

    /// Calls `work(0)`, …, `work(tiles - 1)`, each once, in any order and on any thread; returns when all are done.
    /// Each thread begins with a share of its own, the same one in each job of as many tiles: so what a thread wrote is
    /// often still in its own cache when it reads it. A thread whose share is done takes from the ends of the others'.
    /// Allocates nothing. If one panics, tiles not yet begun are left out, and once no thread works any more the
    /// panic goes on in the caller.
    pub fn run(&self, tiles: usize, work: &Work<'_>) {
        let shared = &*self.shared;
        if tiles <= 1 || tiles > Share::MOST || self.workers.is_empty() || shared.busy.swap(true, Acquire) {
            return (0..tiles).for_each(work);
        }
        // SAFETY: only the lifetime changes. The pointer is used only by threads inside the gate, and `close`
        // returns when nobody is inside, or can come in.
        let work = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        // SAFETY: `busy` admits one caller, and the gate is closed, so nobody else touches the job.
        unsafe { *shared.job.get() = Some(work) };
        shared.open(tiles);
        shared.wake_if_worth_it(work, tiles);
        shared.take_tiles(work, 0, usize::MAX);
        shared.close();
        let panic = lock(&shared.panic).take();
        shared.busy.store(false, Release);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.gate.fetch_or(STOP, SeqCst);
        drop(lock(&self.shared.sleep));
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            worker.join().expect("a worker catches every panic");
        }
    }
}

/// The gate is one word: the number of the job, three flags, and how many workers are inside the job. A worker
/// comes in only while the gate is open, so that one who wakes up late holds nobody up, and the caller leaves
/// when it has closed the gate and nobody is inside.
const OPEN: u64 = 1 << 31;
const STOP: u64 = 1 << 30;
/// The caller sleeps until nobody is inside.
const AWAITED: u64 = 1 << 29;
const INSIDE: u64 = AWAITED - 1;
const NEXT_JOB: u64 = 1 << 32;

fn job_number(gate: u64) -> u64 {
    gate / NEXT_JOB
}

/// The tiles of a job that are left in a thread's share: a range of two halves of a word. The thread itself takes the
/// first, others take the last. Each has a cache line, so that threads with enough to do do not disturb each other.
#[repr(align(128))]
struct Share(AtomicU64);

impl Share {
    /// More tiles than this have no room in a share.
    const MOST: usize = u32::MAX as usize;

    fn set(&self, tiles: Range<usize>) {
        self.0.store((tiles.start as u64) << 32 | tiles.end as u64, Relaxed);
    }

    fn take_first(&self) -> Option<usize> {
        self.take(|first, end| (first, (first + 1, end)))
    }

    fn take_last(&self) -> Option<usize> {
        self.take(|first, end| (end - 1, (first, end - 1)))
    }

    /// Takes a tile as `choose` says, which gets the range and gives the tile and what is left.
    fn take(&self, choose: impl Fn(u64, u64) -> (u64, (u64, u64))) -> Option<usize> {
        let mut left = self.0.load(Relaxed);
        loop {
            let (first, end) = (left >> 32, left & u64::from(u32::MAX));
            if first >= end {
                return None;
            }
            let (tile, (first, end)) = choose(first, end);
            match self.0.compare_exchange_weak(left, first << 32 | end, Relaxed, Relaxed) {
                Ok(_) => return Some(tile as usize),
                Err(changed) => left = changed,
            }
        }
    }
}

struct Shared {
    busy: AtomicBool,
    gate: AtomicU64,
    /// Written by the caller while nobody is inside, read by workers inside.
    job: UnsafeCell<Option<*const Work<'static>>>,
    /// One for each thread; the caller's is the first.
    shares: Box<[Share]>,
    /// The first panic of the job.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Guards no data: orders going to sleep against waking.
    sleep: Mutex<()>,
    sleepers: AtomicUsize,
    wake: Condvar,
    left: Condvar,
}

// SAFETY: `job` is the only field that is not `Sync` by itself; its comment says who touches it when. `Work` is
// `Sync`, so its pointer may be used on any thread.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn new(threads: usize) -> Self {
        Shared {
            busy: AtomicBool::new(false),
            gate: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            shares: (0..threads).map(|_| Share(AtomicU64::new(0))).collect(),
            panic: Mutex::new(None),
            sleep: Mutex::new(()),
            sleepers: AtomicUsize::new(0),
            wake: Condvar::new(),
            left: Condvar::new(),
        }
    }

    /// The life of a worker, whose share has this number.
    fn serve(&self, number: usize) {
        let mut seen = 0;
        loop {
            let gate = self.await_job(seen);
            if gate & STOP != 0 {
                return;
            }
            seen = job_number(gate);
            if self.enter(seen) {
                // SAFETY: this worker is inside, so the job was written before the gate opened, and stays.
                let job = unsafe { *self.job.get() };
                self.take_tiles(job.expect("a job is set before the gate opens"), number, usize::MAX);
                self.leave();
            }
        }
    }

    /// Waits for a job other than `seen`, or the end.
    fn await_job(&self, seen: u64) -> u64 {
        let news = || {
            let gate = self.gate.load(SeqCst);
            (gate & STOP != 0 || job_number(gate) != seen).then_some(gate)
        };
        if let Some(gate) = spin(news) {
            return gate;
        }
        let mut guard = lock(&self.sleep);
        // Either this worker sees the new job, or the caller, who looks for sleepers after opening, sees it.
        self.sleepers.fetch_add(1, SeqCst);
        let gate = loop {
            match news() {
                Some(gate) => break gate,
                None => guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner),
            }
        };
        self.sleepers.fetch_sub(1, SeqCst);
        gate
    }

    /// Shares the tiles of the next job out, and opens the gate for it.
    fn open(&self, tiles: usize) {
        let threads = self.shares.len();
        for (number, share) in self.shares.iter().enumerate() {
            share.set(part(tiles, number, threads)..part(tiles, number + 1, threads));
        }
        // STOP cannot be set: it is set by `drop`, which nobody's `&Team` outlives.
        let number = job_number(self.gate.load(Relaxed)).wrapping_add(1);
        self.gate.store(number.wrapping_mul(NEXT_JOB) | OPEN, SeqCst);
    }

    /// Wakes those who sleep if there is work for them. Of many tiles, the first says how much; of few, one may be long.
    fn wake_if_worth_it(&self, job: *const Work<'static>, tiles: usize) {
        let sleepers = self.sleepers.load(SeqCst);
        if sleepers == 0 {
            return;
        }
        if tiles > 2 * self.shares.len() {
            let start = Instant::now();
            self.take_tiles(job, 0, 1);
            if start.elapsed().as_nanos() * (tiles as u128 - 1) < WORTH_WAKING.as_nanos() {
                return;
            }
        }
        drop(lock(&self.sleep));
        for _ in 0..sleepers.min(tiles - 1) {
            self.wake.notify_one();
        }
    }

    /// Comes into job `number`, unless it is over.
    fn enter(&self, number: u64) -> bool {
        let mut gate = self.gate.load(Relaxed);
        // `fetch_update` has two names: which one is deprecated depends on the release of Rust.
        while gate & OPEN != 0 && job_number(gate) == number {
            match self.gate.compare_exchange_weak(gate, gate + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(changed) => gate = changed,
            }
        }
        false
    }

    fn leave(&self) {
        let gate = self.gate.fetch_sub(1, Release);
        if gate & INSIDE == 1 && gate & AWAITED != 0 {
            drop(lock(&self.sleep));
            self.left.notify_all();
        }
    }

    /// Closes the gate and waits until nobody is inside.
    fn close(&self) {
        self.gate.fetch_and(!OPEN, Relaxed);
        let empty = || (self.gate.load(Acquire) & INSIDE == 0).then_some(());
        if spin(empty).is_some() {
            return;
        }
        let mut guard = lock(&self.sleep);
        self.gate.fetch_or(AWAITED, Relaxed);
        while empty().is_none() {
            guard = self.left.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does at most so many tiles: those of the thread's own share, then those that others have not come to.
    fn take_tiles(&self, job: *const Work<'static>, number: usize, most: usize) {
        // SAFETY: whoever takes tiles is the caller, or a worker inside, whom the caller waits for.
        let work = unsafe { &*job };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let (before, own_and_after) = self.shares.split_at(number);
            let own = std::iter::from_fn(|| own_and_after[0].take_first());
            let others = own_and_after[1..].iter().chain(before);
            let of_others = others.flat_map(|share| std::iter::from_fn(|| share.take_last()));
            own.chain(of_others).take(most).for_each(work);
        }));
        if let Err(panic) = outcome {
            self.shares.iter().for_each(|share| share.set(0..0));
            lock(&self.panic).get_or_insert(panic);
        }
    }
}

/// Where part `number` of `parts` about equal ones begins, of at most [`Share::MOST`].
fn part(count: usize, number: usize, parts: usize) -> usize {
    (count as u64 * number as u64 / parts as u64) as usize
}

/// Asks `poll` for about [`SPIN`].
fn spin<T>(poll: impl Fn() -> Option<T>) -> Option<T> {
    /// About a microsecond.
    const POLLS: u32 = 64;
    let start = Instant::now();
    loop {
        for _ in 0..POLLS {
            if let Some(found) = poll() {
                return Some(found);
            }
            hint::spin_loop();
        }
        if start.elapsed() > SPIN {
            return None;
        }
        // Where there are more threads than cores, the one waited for may need this core.
        thread::yield_now();
    }
}

/// Nothing that these mutexes guard can be left half done, so poisoning means nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `tiles` tiles and checks that each ran exactly once.
    fn check(team: &Team, tiles: usize) {
        let counts: Vec<AtomicUsize> = (0..tiles).map(|_| AtomicUsize::new(0)).collect();
        team.run(tiles, &|tile| {
            counts[tile].fetch_add(1, Relaxed);
        });
        assert!(counts.iter().all(|count| count.load(Relaxed) == 1), "{counts:?}");
    }

    #[test]
    fn every_tile_runs_once() {
        for threads in [0, 1, 2, 3, 7] {
            let team = Team::new(threads).unwrap();
            assert_eq!(team.threads(), threads.max(1));
            // Miri takes its time.
            let (runs, tiles) = if cfg!(miri) { (23, 100) } else { (5000, 10_000) };
            for run in 0..runs {
                check(&team, run % 23);
            }
            check(&team, tiles);
        }
    }

    #[test]
    fn all_threads_take_part() {
        for threads in [2, 7] {
            let team = Team::new(threads).unwrap();
            for _ in 0..20 {
                // Nobody gets past the barrier unless each tile is on a thread of its own; every other time the
                // workers sleep when the job comes.
                let barrier = Barrier::new(threads);
                team.run(threads, &|_| {
                    barrier.wait();
                });
                thread::sleep(Duration::from_micros(200));
            }
        }
    }

    #[test]
    fn each_thread_begins_with_its_own_share() {
        for threads in [2, 3, 7] {
            let team = Team::new(threads).unwrap();
            for _ in 0..20 {
                let barrier = Barrier::new(threads);
                team.run(threads, &|tile| {
                    let name = thread::current().name().map(str::to_string);
                    // Nobody is done before all have begun.
                    barrier.wait();
                    if tile > 0 {
                        assert_eq!(name, Some(format!("paddle-{tile}")));
                    }
                });
            }
        }
    }

    #[test]
    fn slow_tiles_are_waited_for() {
        let team = Team::new(3).unwrap();
        let done = AtomicUsize::new(0);
        for run in 1..=10 {
            team.run(3, &|tile| {
                thread::sleep(Duration::from_millis(tile as u64));
                done.fetch_add(1, Relaxed);
            });
            assert_eq!(done.load(Relaxed), 3 * run);
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_lives_on() {
        for threads in [1, 2, 7] {
            let team = Team::new(threads).unwrap();
            for bad in [0, 5, 19] {
                let working = AtomicUsize::new(0);
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    team.run(20, &|tile| {
                        working.fetch_add(1, Relaxed);
                        if tile == bad {
                            working.fetch_sub(1, Relaxed);
                            resume_unwind(Box::new(tile));
                        }
                        thread::sleep(Duration::from_micros(100));
                        working.fetch_sub(1, Relaxed);
                    });
                }));
                assert_eq!(working.load(Relaxed), 0, "returned while a thread still worked");
                assert_eq!(*outcome.unwrap_err().downcast::<usize>().unwrap(), bad);
                check(&team, 50);
            }
        }
    }

    #[test]
    fn nested_runs_complete() {
        let team = Team::new(3).unwrap();
        let count = AtomicUsize::new(0);
        team.run(10, &|_| {
            team.run(10, &|_| {
                team.run(2, &|_| {
                    count.fetch_add(1, Relaxed);
                });
            });
        });
        assert_eq!(count.load(Relaxed), 200);
    }

    #[test]
    fn user_threads_share_a_team() {
        let team = Team::new(3).unwrap();
        thread::scope(|scope| {
            for _ in 0..5 {
                scope.spawn(|| (0..if cfg!(miri) { 9 } else { 2000 }).for_each(|run| check(&team, run % 9)));
            }
        });
    }

    #[test]
    fn teams_come_and_go() {
        for run in 0..if cfg!(miri) { 9 } else { 200 } {
            let team = Team::new(4).unwrap();
            check(&team, run % 5);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[cfg_attr(miri, ignore = "the time of the processor is not known there")]
    fn an_idle_team_uses_no_cpu() {
        let team = Team::new(3).unwrap();
        let barrier = Barrier::new(3);
        let tasks = Mutex::new(Vec::new());
        team.run(3, &|_| {
            barrier.wait();
            tasks.lock().unwrap().push(std::fs::read_link("/proc/thread-self").unwrap());
        });
        let this = std::fs::read_link("/proc/thread-self").unwrap();
        let tasks = tasks.into_inner().unwrap();
        let workers: Vec<_> = tasks.iter().filter(|task| **task != this).collect();
        assert_eq!(workers.len(), 2);
        // The first field of `schedstat` is the nanoseconds that the thread has run.
        let run_time = || -> u64 {
            let of = |task: &&std::path::PathBuf| {
                let text = std::fs::read_to_string(format!("/proc/{}/schedstat", task.display())).unwrap();
                text.split(' ').next().unwrap().parse::<u64>().unwrap()
            };
            workers.iter().map(of).sum()
        };
        thread::sleep(Duration::from_millis(50));
        let before = run_time();
        thread::sleep(Duration::from_millis(200));
        let used = run_time() - before;
        assert!(used < 1_000_000, "two idle threads ran for {used} of 400,000,000 ns");
    }
}
