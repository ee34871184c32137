//! The numbers per nanosecond that each function takes. This checks nothing: it prints a table.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::FUNCTIONS;
use crate::cpu::isa::Isa;

/// About as many numbers as an element-wise kernel takes at a time.
const COUNT: usize = 2048;

/// Numbers per nanosecond. It is the best of many runs, as other processes use the machine too.
fn speed(mut run: impl FnMut()) -> f64 {
    let best = (0..200).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    COUNT as f64 / best.min().unwrap_or(Duration::MAX).as_nanos() as f64
}

#[test]
#[ignore = "prints speeds, of a release build"]
fn table() {
    let x: Vec<f32> = (0..COUNT).map(|i| (i as f32 + 0.5) / COUNT as f32 * 16.0 - 8.0).collect();
    let mut y = vec![0.0; COUNT];
    println!("numbers per nanosecond");
    print!("{:>12} {:>5} {:>9}", "", "", "standard");
    Isa::available().for_each(|isa| print!(" {:>9}", isa.name()));
    println!();
    for function in FUNCTIONS {
        let standard = speed(|| (function.standard)(black_box(&x), black_box(&mut y)));
        for (way, run, _) in function.ways() {
            print!("{:>12} {way:>5} {standard:>9.3}", function.name);
            Isa::available()
                .for_each(|isa| print!(" {:>9.3}", speed(|| run(isa, black_box(&x), black_box(&mut y)))));
            println!();
        }
    }
}
