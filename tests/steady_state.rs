//! Nothing is allocated in the steady state, on any thread.

mod networks;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use networks::{CONTROL, MLP, network};
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
fn nothing_is_allocated_after_the_largest_batch() {
    let mlp = network::<([f32; 37], i64)>(MLP);
    let rows = |count: usize| (0..count).map(|i| ([i as f32 / 97.0; 37], (i % 7) as i64)).collect::<Vec<_>>();
    let batches: Vec<_> = sizes().map(|count| mlp.batch(rows(count)).unwrap()).collect();
    let refilled = (mlp.batch(rows(97)).unwrap(), rows(50));
    assert!(matches!(allocations(&mlp, &batches), (1.., 0)));

    let control = network::<([f32; 13], f32, i64)>(CONTROL);
    let row = |count: usize, i: usize| {
        let high = (count * i) % 5 < 2;
        ([i as f32 / 97.0; 13], f32::from(u8::from(high)), (if count == 97 { 6 } else { count % 7 }) as i64)
    };
    let rows = |count: usize| (0..count).map(|i| row(count, i)).collect::<Vec<_>>();
    let batches: Vec<_> = sizes().map(|count| control.batch(rows(count)).unwrap()).collect();
    assert!(matches!(allocations(&control, &batches), (1.., 0)));

    // A batch that is filled again keeps its memory.
    let (mut batch, rows) = refilled;
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    batch.fill(&rows).unwrap();
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
}
