//! Calls of `infer` on several threads of the user's: how many per second, beside one thread, and beside as many behind a lock.
//!
//!     cargo bench --bench inference -- --threads 2 --seconds 2

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use paddle::{Cpu, Parameters, infer, network};

#[derive(Parser)]
struct Settings {
    /// Threads that call.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Threads of the backend, which those that call share.
    #[arg(long, default_value_t = 1)]
    team: usize,
    /// How long each round lasts.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// How many rounds; the best of each kind counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// What `cargo bench` says.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<(), paddle::Error> {
    let settings = Settings::parse();
    let net = network!(|x: Tensor<f32, _, 64>| softmax(fc(fc(x, 256, act = relu), 10)));
    let parameters = Parameters::create_on(Cpu::with_threads(settings.team)?, &net, 0)?;
    let rows = vec![[0.5_f32; 64]; 16];
    let call = || {
        infer(&net, &parameters, &rows).expect("the rows fit");
    };
    let lock = Mutex::new(());
    let locked = || {
        let _alone = lock.lock().expect("no call panics");
        call();
    };
    let (mut one, mut several, mut behind_a_lock) = (0.0_f64, 0.0_f64, 0.0_f64);
    for _ in 0..settings.rounds {
        one = one.max(rate(1, settings.seconds, &call));
        several = several.max(rate(settings.threads, settings.seconds, &call));
        behind_a_lock = behind_a_lock.max(rate(settings.threads, settings.seconds, &locked));
    }
    let Settings { threads, team, .. } = settings;
    println!("team of {team}: 1 thread {one:.0}/s, {threads} threads {several:.0}/s ({:.2})", several / one);
    println!("{threads} threads behind a lock {behind_a_lock:.0}/s ({:.2})", behind_a_lock / one);
    Ok(())
}

/// Calls per second of all threads.
fn rate(threads: usize, seconds: f64, call: &(impl Fn() + Sync)) -> f64 {
    let (over, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    call();
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(Duration::from_secs_f64(seconds));
        over.store(true, Ordering::Relaxed);
    });
    calls.into_inner() as f64 / begun.elapsed().as_secs_f64()
}
