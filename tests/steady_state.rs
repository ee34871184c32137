//! Nothing is allocated in the steady state, on any thread.

mod networks;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use networks::awkward::{control, mlp};
use paddle::{Batch, Cpu, Network, Parameters, Sgd, Spec, Trainer};

/// Counts what all threads ask of the system.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator as it is.
#[allow(unsafe_code, reason = "an allocator is unsafe by its trait")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Trains on the batches and returns how many allocations there were in the first 32 of them, and afterwards.
fn allocations<S: Spec>(net: &Network<S>, batches: &[Batch<S>]) -> (usize, usize) {
    let cpu = Cpu::with_threads(3).unwrap();
    let mut parameters = Parameters::create_on(cpu, net, 0).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.01));
    let mut count = |batches: &[Batch<S>]| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for batch in batches {
            trainer.step(net, &mut parameters, batch).unwrap();
        }
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    (count(&batches[..32]), count(&batches[32..]))
}

/// 200 batches of 1 to 97 rows; the largest is among the first 32.
fn sizes() -> impl Iterator<Item = usize> {
    (0..200).map(|i| if i == 17 { 97 } else { 1 + (i * 41) % 96 })
}

/// One test, so that no other thread of the harness allocates meanwhile.
#[test]
fn nothing_is_allocated_in_the_steady_state() {
    filled_again();
    steps();
}

fn steps() {
    let net = mlp();
    let row = |i: usize| mlp::Row { x: [i as f32 / 97.0; 37], y: (i % 7) as i64 };
    let batch = |count: usize| net.batch((0..count).map(row)).unwrap();
    assert!(matches!(allocations(&net, &sizes().map(batch).collect::<Vec<_>>()), (1.., 0)));

    // The largest batch also has the most rounds; how many rows take which branch differs from batch to batch.
    let net = control();
    let row = |count: usize, i: usize| control::Row {
        x: [i as f32 / 97.0; 13],
        switch: f32::from(u8::from((count * i) % 5 < 2)),
        rounds: if count == 97 { 6 } else { count as i64 % 7 },
    };
    let batch = |count: usize| net.batch((0..count).map(|i| row(count, i))).unwrap();
    assert!(matches!(allocations(&net, &sizes().map(batch).collect::<Vec<_>>()), (1.., 0)));
}

/// A batch that is filled again keeps its memory.
fn filled_again() {
    let net = mlp();
    let rows: Vec<_> = (0..97).map(|i| mlp::Row { x: [i as f32; 37], y: 0 }).collect();
    let mut batch = net.batch(&rows).unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    batch.fill(&rows[..50]).unwrap();
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
    assert_eq!(batch.rows(), Ok(50));
}
