//! Compares the functions of `f64` with those of C's library, whose errors are about one unit in the last place.

use paddle_core::ops::Real;

use super::Function;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::real::Double;
use crate::random::Random;

/// The allowed distance in units in the last place, which has the errors of both.
const ALLOWED: f64 = 5.0;

dispatch! {
    fn all<const FUSED: bool, F: Function>(isa, x: &[f64], y: &mut [f64]) {
        for (x, y) in x.iter().zip(y) {
            *y = F::apply(Double::<FUSED>(*x)).0;
        }
    }
}

/// Numbers of all kinds: special ones and their neighbours, numbers of every exponent, and numbers of the ranges where
/// functions change their method.
fn numbers() -> Vec<f64> {
    let special = [
        0.0,
        5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        1e-300,
        1e-9,
        0.25,
        0.5,
        0.84375,
        1.0,
        1.25,
        1.0 / 0.35,
        2.0,
        20.0,
        27.3,
        28.0,
        100.0,
        708.3,
        709.78,
        709.79,
        710.47,
        710.48,
        745.13,
        745.14,
        1e150,
        1.4e154,
        1e300,
        f64::MAX,
        f64::INFINITY,
    ];
    let beside = special.into_iter().flat_map(|x: f64| [x.next_down(), x, x.next_up()]);
    let bits = Random { seed: 1, stream: 2 };
    let any = bits
        .words(0)
        .zip(bits.words(1 << 40))
        .map(|(a, b)| f64::from_bits(u64::from(a) << 32 | u64::from(b)));
    let ranges = [(0.0, 1.0), (0.5, 1.5), (0.99, 1.01), (0.0, 8.0), (0.0, 30.0), (0.0, 750.0), (0.0, 1e-4)];
    let within =
        ranges.into_iter().flat_map(|(low, high)| (0..20_000).map(move |i| bits.uniform(i, low, high)));
    let all = beside.chain(any.take(100_000)).chain(within).chain([f64::NAN]);
    all.flat_map(|x| [x, -x]).collect()
}

/// The distance in units in the last place; zeros of different signs are far apart.
fn error(found: f64, exact: f64) -> f64 {
    let is_same = found.to_bits() == exact.to_bits() || (found.is_nan() && exact.is_nan());
    match is_same {
        true => 0.0,
        false if found == 0.0 && exact == 0.0 => f64::INFINITY,
        false => match (found - exact).abs() / (exact.abs().next_up() - exact.abs()) {
            error if error.is_nan() => f64::INFINITY,
            error => error,
        },
    }
}

#[test]
fn functions_are_right_to_a_few_units() {
    macro_rules! functions {
        ($($name:ident),* $(,)?) => {
            [$({
                struct Of;
                impl Function for Of {
                    #[inline(always)]
                    fn apply<T: Real>(x: T) -> T {
                        x.$name()
                    }
                }
                (stringify!($name), all::<Of> as fn(Isa, &[f64], &mut [f64]), Of::apply::<f64> as fn(f64) -> f64)
            }),*]
        };
    }
    let functions = functions![
        exp, exp_m1, ln, ln_1p, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh,
        atanh, erf, erfc, floor, ceil, round, trunc, sqrt, abs,
    ];
    let x = numbers();
    let mut y = vec![0.0; x.len()];
    for (name, function, exact) in functions {
        for isa in Isa::available() {
            function(isa, &x, &mut y);
            for (&x, &y) in x.iter().zip(&y) {
                let exact = exact(x);
                let isa = isa.name();
                let error = error(y, exact);
                assert!(error <= ALLOWED, "{name} of {x:e} on {isa} is {y:e}, not {exact:e}: {error} units");
            }
        }
    }
}
