//! Compares every function, on every instruction set, with the arithmetic of `f64`.

mod doubles;
mod powers;
mod slopes;
mod throughput;

use std::{fmt, thread};

use paddle_core::ops::Real;

use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::real::{Fast, Wide};

/// A function of one number.
trait Function {
    fn apply<T: Real>(x: T) -> T;
}

dispatch! {
    fn fast<const FUSED: bool, F: Function>(isa, x: &[f32], y: &mut [f32]) {
        for (x, y) in x.iter().zip(y) {
            *y = F::apply(Fast::<FUSED>(*x)).0;
        }
    }
}

dispatch! {
    fn wide<const FUSED: bool, F: Function>(isa, x: &[f32], y: &mut [f32]) {
        for (x, y) in x.iter().zip(y) {
            *y = F::apply(Wide::<FUSED>((*x).into())).0 as f32;
        }
    }
}

type Loop = fn(Isa, &[f32], &mut [f32]);

struct Tested {
    name: &'static str,
    exact: fn(f64) -> f64,
    /// The function by the standard library, or by compositions of its functions. Speed is compared with it.
    standard: fn(&[f32], &mut [f32]),
    /// The function in the arithmetic of `f64`, with its tolerance in units in the last place.
    wide: (Loop, f64),
    /// The function in the arithmetic of `f32`, if there is such a version.
    fast: Option<(Loop, f64)>,
}

/// The nearest number is off by half a unit. The rest is for ties that only more digits would decide.
const NEAREST: f64 = 0.501;
/// Next to multiples of π/2, the digits of 2/π that are used leave an error of another thousandth or two.
const ANGLE: f64 = 0.51;

impl Tested {
    /// The ways to evaluate the function, with their names and tolerances.
    fn ways(&self) -> impl Iterator<Item = (&'static str, Loop, f64)> {
        let named = |way| move |(run, tolerance)| (way, run, tolerance);
        [self.wide].into_iter().map(named("wide")).chain(self.fast.map(named("fast")))
    }
}

macro_rules! functions {
    ($($name:ident $wide:ident $(fast $fast:literal)?),* $(,)?) => {
        const FUNCTIONS: &[Tested] = &[$({
            struct Of;
            impl Function for Of {
                #[inline(always)]
                fn apply<T: Real>(x: T) -> T {
                    x.$name()
                }
            }
            Tested {
                name: stringify!($name),
                exact: Of::apply::<f64>,
                standard: |x, y| x.iter().zip(y).for_each(|(x, y)| *y = Of::apply(*x)),
                wide: (wide::<Of>, $wide),
                fast: [$(Some((fast::<Of> as Loop, $fast)),)? None][0],
            }
        }),*];
    };
}
functions! {
    exp NEAREST fast 0.95,
    ln NEAREST fast 0.9,
    tanh NEAREST fast 1.4,
    sigmoid NEAREST fast 3.0,
    gelu NEAREST fast 5.5,
    gelu_tanh NEAREST fast 4.0,
    silu NEAREST fast 3.5,
    mish NEAREST fast 4.0,
    softplus NEAREST fast 3.0,
    log_sigmoid NEAREST fast 3.0,
    erf NEAREST,
    erfc NEAREST,
    exp_m1 NEAREST fast 1.5,
    ln_1p NEAREST,
    log2 NEAREST,
    log10 NEAREST,
    sin ANGLE,
    cos ANGLE,
    tan ANGLE,
    asin NEAREST,
    acos NEAREST,
    atan NEAREST,
    sinh NEAREST,
    cosh NEAREST,
    asinh NEAREST,
    acosh NEAREST,
    atanh NEAREST,
    sqrt NEAREST fast 0.501,
    rsqrt NEAREST fast 1.6,
    floor NEAREST fast 0.0,
    ceil NEAREST fast 0.0,
    round NEAREST fast 0.0,
    trunc NEAREST fast 0.0,
    sign NEAREST fast 0.0,
}

/// The distance in units in the last place. Infinity counts as the power of two after the largest number; zeros of
/// different signs are far apart.
fn error(found: f32, exact: f64) -> f64 {
    if exact.is_nan() || found.is_nan() {
        return if exact.is_nan() && found.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if found == 0.0 && found.is_sign_negative() != exact.is_sign_negative() {
        return f64::INFINITY;
    }
    let bound = 2f64.powi(128);
    let (found, exact) = (f64::from(found).clamp(-bound, bound), exact.clamp(-bound, bound));
    let exponent = (exact.abs().to_bits() >> 52) as i32 - 1023;
    (found - exact).abs() / 2f64.powi(exponent.clamp(-126, 127) - 23)
}

/// The results for one way to evaluate a function, on one instruction set.
#[derive(Clone, Copy)]
struct Worst {
    way: &'static str,
    isa: Isa,
    tolerance: f64,
    /// The largest error in units in the last place; 0 if all results are the nearest numbers.
    error: f64,
    x: f32,
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {:.4} ulp at {:e}", self.way, self.isa.name(), self.error, self.x)
    }
}

/// The largest errors over the numbers with these bits.
fn worst(function: &Tested, bits: impl Iterator<Item = u32>) -> Vec<Worst> {
    let start = |(way, run, tolerance)| {
        Isa::available().map(move |isa| (run, Worst { way, isa, tolerance, error: 0.0, x: 0.0 }))
    };
    let mut worst: Vec<(Loop, Worst)> = function.ways().flat_map(start).collect();
    let mut bits = bits.peekable();
    let (mut x, mut y) = (Vec::new(), vec![0.0; 1 << 12]);
    while bits.peek().is_some() {
        x.clear();
        x.extend(bits.by_ref().take(y.len()).map(f32::from_bits));
        let exact: Vec<f64> = x.iter().map(|&x| (function.exact)(x.into())).collect();
        for (run, worst) in &mut worst {
            let y = &mut y[..x.len()];
            run(worst.isa, &x, y);
            for ((&x, &y), &exact) in x.iter().zip(&*y).zip(&exact) {
                if y.to_bits() == (exact as f32).to_bits() {
                    continue;
                }
                let error = error(y, exact);
                if error > worst.error {
                    (worst.error, worst.x) = (error, x);
                }
            }
        }
    }
    worst.into_iter().map(|(_, worst)| worst).collect()
}

/// Checks every `stride`-th number, on all cores, and prints the errors.
fn check(stride: usize) {
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get()) as u32;
    let mut failures = Vec::new();
    for function in FUNCTIONS {
        let parts: Vec<Vec<Worst>> = thread::scope(|scope| {
            let part = |k: u32| {
                // Threads take interleaved numbers, as some numbers take longer than others.
                let bits = (k..=u32::MAX).step_by(threads as usize).step_by(stride);
                scope.spawn(move || worst(function, bits))
            };
            let parts: Vec<_> = (0..threads).map(part).collect();
            parts.into_iter().map(|part| part.join().expect("the thread has not panicked")).collect()
        });
        let mut all = parts[0].clone();
        for part in &parts[1..] {
            for (all, part) in all.iter_mut().zip(part) {
                if part.error > all.error {
                    *all = *part;
                }
            }
        }
        for worst in all {
            println!("{} {worst}", function.name);
            if worst.error > worst.tolerance {
                failures.push(format!("{} {worst}", function.name));
            }
        }
    }
    assert!(failures.is_empty(), "beyond their tolerances:\n{}", failures.join("\n"));
}

#[test]
fn one_in_many_numbers() {
    check(4999);
}

#[test]
fn powers_of_negative_numbers() {
    struct Of;
    impl Function for Of {
        #[inline(always)]
        fn apply<T: Real>(x: T) -> T {
            x.exp_negative()
        }
    }
    let function = Tested {
        name: "exp_negative",
        exact: f64::exp,
        standard: |_, _| unreachable!("speed is not measured"),
        wide: (wide::<Of>, NEAREST),
        fast: Some((fast::<Of>, 0.95)),
    };
    let negative = (1u32 << 31..=u32::MAX).step_by(4999);
    for found in worst(&function, negative.chain([0])) {
        println!("{found}");
        assert!(found.error <= found.tolerance, "{found}");
    }
}

#[test]
#[ignore = "all numbers: an hour of processor time, in a release build"]
fn every_number() {
    check(1);
}

/// Numbers around the points where functions change their method.
#[test]
fn around_special_numbers() {
    let places = [
        0.0,
        f32::MIN_POSITIVE,
        0.292_893_2,
        0.414_213_56,
        0.5,
        0.5_f32.sqrt(),
        0.625,
        1.0,
        2_f32.sqrt(),
        1.5,
        2.414_213_6,
        2.5,
        std::f32::consts::FRAC_PI_2,
        std::f32::consts::PI,
        10.05,
        12.0,
        27.0,
        30.0,
        87.336_54,
        88.722_84,
        89.0,
        103.972_08,
        104.0,
        709.0,
        8_388_608.0,
        67_108_864.0,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let near = |x: f32| (x.to_bits().saturating_sub(300)..=x.to_bits() + 300).flat_map(|b| [b, b | 1 << 31]);
    for function in FUNCTIONS {
        for found in worst(function, places.into_iter().flat_map(near)) {
            assert!(found.error <= found.tolerance, "{} {found}", function.name);
        }
    }
}
