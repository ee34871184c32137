//! Updaters: each against a formula of its own, what a trainer keeps of parameters, clipping, decay, threads.

use std::fmt::Write;
use std::path::Path;

use ndarray::{Array2, array};
use paddle::core::passes::optimize::Update;
use paddle::core::plan::Backend;
use paddle::core::program::BuildError;
use paddle::updater::schedule;
use paddle::{
    AdaDelta, Adagrad, Adam, AdamW, Adamax, Clip, Cpu, Decay, DecayedAdagrad, Error, Ftrl, Lamb, Momentum,
    Parameters, RmsProp, Sgd, Trainer, Updater, network,
};
use paddle_kernels::reference::Reference;

/// The number of elements of the parameter `w.w`.
const N: usize = 5;
/// What it is at first.
const START: [f64; N] = [0.5, -0.25, 1.5, -2.0, 0.0];

/// The gradient of the parameter is what is fed, if it is one row.
macro_rules! product {
    () => {
        network!(|x: Tensor<f32, _, 5>| mean(fc(x, 1, bias = false, param = "w")))
    };
}

/// The same as the parameter holds it.
fn start() -> Array2<f32> {
    Array2::from_shape_fn((N, 1), |(i, _)| START[i] as f32)
}

/// What is fed in a step.
fn gradient(step: usize) -> [f64; N] {
    std::array::from_fn(|i| ((step * 7 + i * 3 + 1) % 11) as f64 / 5.0 - 1.1)
}

/// A rule for one step: the number of the step from 1, the parameter, its gradient, and numbers that are 0 at first.
type Formula<'a> = dyn Fn(i32, &mut [f64; N], &[f64; N], &mut [[f64; N]; 3]) + 'a;

/// Trains for twenty steps on a backend.
fn check_on<B: Backend + Clone>(backend: B, updater: impl Updater, formula: &Formula<'_>) {
    let net = product!();
    let mut parameters = Parameters::create_on(backend, &net, 0).unwrap();
    parameters.set("w.w", &start()).unwrap();
    let mut trainer = Trainer::new(updater);
    let (mut expected, mut states) = (START, [[0.0; N]; 3]);
    for step in 0..20 {
        let gradient = gradient(step);
        trainer.step(&net, &mut parameters, [net.row(gradient.map(|x| x as f32))]).unwrap();
        formula(step as i32 + 1, &mut expected, &gradient, &mut states);
        let found = parameters.get::<f32>("w.w").unwrap();
        for (i, (&found, expected)) in found.iter().zip(expected).enumerate() {
            let near = (f64::from(found) - expected).abs() <= 2e-5 * (1.0 + expected.abs());
            assert!(near, "element {i} after step {step} is {found}, not {expected}");
        }
    }
}

fn check(updater: impl Updater + Clone, formula: impl Fn(i32, &mut [f64; N], &[f64; N], &mut [[f64; N]; 3])) {
    check_on(Reference::single(), updater.clone(), &formula);
    check_on(Cpu::new().unwrap(), updater, &formula);
}

/// A formula for each element by itself.
fn each(
    formula: impl Fn(i32, f64, f64, [f64; 3]) -> (f64, [f64; 3]),
) -> impl Fn(i32, &mut [f64; N], &[f64; N], &mut [[f64; N]; 3]) {
    move |t, p, g, states| {
        for i in 0..N {
            let old = [states[0][i], states[1][i], states[2][i]];
            let (next, new) = formula(t, p[i], g[i], old);
            p[i] = next;
            (0..3).for_each(|k| states[k][i] = new[k]);
        }
    }
}

#[test]
fn sgd() {
    check(Sgd::new(0.1), each(|_, p, g, s| (p - 0.1 * g, s)));
}

#[test]
fn momentum() {
    let plain = each(|_, p, g, [v, a, b]| {
        let v = 0.8 * v + g;
        (p - 0.1 * v, [v, a, b])
    });
    check(Momentum::new(0.1).momentum(0.8), plain);
    let nesterov = each(|_, p, g, [v, a, b]| {
        let v = 0.9 * v + g;
        (p - 0.1 * (g + 0.9 * v), [v, a, b])
    });
    check(Momentum::new(0.1).nesterov(), nesterov);
}

#[test]
fn adam() {
    let formula = each(|t, p, g, [m, v, a]| {
        let (m, v) = (0.5 * m + 0.5 * g, 0.99 * v + 0.01 * g * g);
        // As in the paper's section 2: ε is not scaled by the correction, but is that of the corrected root.
        let (first, second) = (1.0 - 0.5f64.powi(t), 1.0 - 0.99f64.powi(t));
        (p - 0.05 * (m / first) / ((v / second).sqrt() + 1e-3), [m, v, a])
    });
    check(Adam::new(0.05).betas(0.5, 0.99).epsilon(1e-3), formula);
}

#[test]
fn adamw() {
    let formula = |decay: f64| {
        each(move |t, p, g, [m, v, a]| {
            let (m, v) = (0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g);
            let (first, second) = (1.0 - 0.9f64.powi(t), 1.0 - 0.999f64.powi(t));
            let p = p - 0.05 * decay * p;
            (p - 0.05 * (m / first) / ((v / second).sqrt() + 1e-8), [m, v, a])
        })
    };
    check(AdamW::new(0.05), formula(0.01));
    check(AdamW::new(0.05).weight_decay(0.5), formula(0.5));
}

#[test]
fn adamax() {
    let formula = each(|t, p, g, [m, n, a]| {
        let (m, n) = (0.9 * m + 0.1 * g, (0.99 * n + 1e-4).max(g.abs()));
        (p - 0.05 / (1.0 - 0.9f64.powi(t)) * m / n, [m, n, a])
    });
    check(Adamax::new(0.05).betas(0.9, 0.99).epsilon(1e-4), formula);
}

#[test]
fn adagrad() {
    let formula = each(|_, p, g, [m, a, b]| {
        let m = m + g * g;
        (p - 0.1 * g / (m.sqrt() + 1e-6), [m, a, b])
    });
    check(Adagrad::new(0.1), formula);
    let formula = each(|_, p, g, [m, a, b]| {
        let m = 0.8 * m + 0.2 * g * g;
        (p - 0.1 * g / (m.sqrt() + 1e-2), [m, a, b])
    });
    check(DecayedAdagrad::new(0.1).rho(0.8).epsilon(1e-2), formula);
}

#[test]
fn adadelta() {
    let formula = each(|_, p, g, [s, u, a]| {
        let s = 0.9 * s + 0.1 * g * g;
        let change = -((u + 1e-3) / (s + 1e-3)).sqrt() * g;
        (p + change, [s, 0.9 * u + 0.1 * change * change, a])
    });
    check(AdaDelta::new(1.0).rho(0.9).epsilon(1e-3), formula);
}

#[test]
fn rmsprop() {
    let formula = each(|_, p, g, [s, m, a]| {
        let s = 0.9 * s + 0.1 * g * g;
        let m = 0.5 * m + 0.05 * g / (s + 1e-3).sqrt();
        (p - m, [s, m, a])
    });
    check(RmsProp::new(0.05).momentum(0.5).epsilon(1e-3), formula);
    let formula = each(|_, p, g, [s, _, a]| {
        let (s, a) = (0.8 * s + 0.2 * g * g, 0.8 * a + 0.2 * g);
        let m = 0.05 * g / (s - a * a + 1e-2).sqrt();
        (p - m, [s, m, a])
    });
    check(RmsProp::new(0.05).rho(0.8).epsilon(1e-2).centered(), formula);
}

#[test]
fn ftrl() {
    for power in [-0.5, -0.7] {
        let formula = each(move |_, p, g, [n, z, a]| {
            let grown = n + g * g;
            let z = z + g - (grown.powf(-power) - n.powf(-power)) / 0.1 * p;
            let p = match z.abs() > 0.5 {
                true => (z.signum() * 0.5 - z) / (grown.powf(-power) / 0.1 + 2.0 * 0.25),
                false => 0.0,
            };
            (p, [grown, z, a])
        });
        check(Ftrl::new(0.1).l1(0.5).l2(0.25).lr_power(power), formula);
    }
}

#[test]
fn lamb() {
    let formula = |decay: f64, scaled: bool| {
        move |t: i32, p: &mut [f64; N], g: &[f64; N], states: &mut [[f64; N]; 3]| {
            let mut direction = [0.0; N];
            for i in 0..N {
                states[0][i] = 0.9 * states[0][i] + 0.1 * g[i];
                states[1][i] = 0.999 * states[1][i] + 0.001 * g[i] * g[i];
                let (first, second) = (1.0 - 0.9f64.powi(t), 1.0 - 0.999f64.powi(t));
                direction[i] =
                    (states[0][i] / first) / ((states[1][i] / second).sqrt() + 1e-6) + decay * p[i];
            }
            let norm = |v: &[f64; N]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let trust = if scaled { norm(p) / norm(&direction) } else { 1.0 };
            (0..N).for_each(|i| p[i] -= 0.05 * trust * direction[i]);
        }
    };
    check(Lamb::new(0.05), formula(0.01, true));
    check(Lamb::new(0.05).weight_decay(0.0), formula(0.0, false));
    check(Lamb::new(0.05).weight_decay(0.0).always_adapt(), formula(0.0, true));
}

#[test]
fn the_learning_rate_follows_its_schedule() {
    let formula = each(|t, p, g, s| (p - 0.5 * 0.5f64.powi(t - 1) * g, s));
    check(Sgd::new(schedule::exponential(0.5, 1, 0.5)), formula);
    let formula = each(|t, p, g, s| (p - if t <= 3 { 0.1 } else { 0.2 } * g, s));
    check(Sgd::new(|step| if step < 3 { 0.1 } else { 0.2 }), formula);
}

/// The parameter after steps of a trainer.
fn after<U: Updater>(mut trainer: Trainer<U>, steps: usize) -> Vec<f64> {
    let net = product!();
    let mut parameters = Parameters::create(&net).unwrap();
    parameters.set("w.w", &start()).unwrap();
    for step in 0..steps {
        trainer.step(&net, &mut parameters, [net.row(gradient(step).map(|x| x as f32))]).unwrap();
    }
    parameters.get::<f32>("w.w").unwrap().iter().map(|&x| f64::from(x)).collect()
}

fn assert_near(found: &[f64], expected: impl IntoIterator<Item = f64>) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    }
}

#[test]
fn gradients_are_clipped_before_they_decay() {
    let g = gradient(0);
    let sgd = || Trainer::new(Sgd::new(1.0));
    let step = |change: &dyn Fn(usize) -> f64| {
        START.iter().enumerate().map(|(i, p)| p - change(i)).collect::<Vec<_>>()
    };
    let norm = g.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(norm > 1.5);
    assert_near(&after(sgd().clip(Clip::Value(0.3)), 1), step(&|i| g[i].clamp(-0.3, 0.3)));
    assert_near(&after(sgd().clip(Clip::Norm(1.5)), 1), step(&|i| g[i] * 1.5 / norm));
    assert_near(&after(sgd().clip(Clip::Norm(1e3)), 1), step(&|i| g[i]));
    assert_near(&after(sgd().clip(Clip::GlobalNorm(1.5)), 1), step(&|i| g[i] * 1.5 / norm));
    assert_near(&after(sgd().decay(Decay::L2(0.1)), 1), step(&|i| g[i] + 0.1 * START[i]));
    let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
    assert_near(&after(sgd().decay(Decay::L1(0.1)), 1), step(&|i| g[i] + 0.1 * sign(START[i])));
    let both = sgd().clip(Clip::Value(0.3)).decay(Decay::L2(0.1));
    assert_near(&after(both, 1), step(&|i| g[i].clamp(-0.3, 0.3) + 0.1 * START[i]));
}

#[test]
fn a_global_norm_is_that_of_all_gradients() {
    let net = network!(|x: Tensor<f32, _, 2>| {
        mean(fc(x, 1, bias = false, param = "a")) + mean(fc(x, 1, bias = false, param = "b", clip = 0.5))
    });
    let mut parameters = Parameters::create(&net).unwrap();
    for name in ["a.w", "b.w"] {
        parameters.set(name, &array![[0.0f32], [0.0]]).unwrap();
    }
    let mut trainer = Trainer::new(Sgd::new(1.0)).clip(Clip::GlobalNorm(1.0));
    trainer.step(&net, &mut parameters, [net.row([3.0, 4.0])]).unwrap();
    // The bound of `b` comes first.
    let norm = (9.0 + 16.0 + 0.25 + 0.25f64).sqrt();
    let read =
        |name: &str| parameters.get::<f32>(name).unwrap().iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    assert_near(&read("a.w"), [-3.0 / norm, -4.0 / norm]);
    assert_near(&read("b.w"), [-0.5 / norm, -0.5 / norm]);
}

#[test]
fn decay_of_its_own_comes_before_that_of_the_trainer() {
    let net = network!(|x: Tensor<f32, _, 1>| {
        mean(fc(x, 1, bias = false, param = "own", decay = 0.5))
            + mean(fc(x, 1, bias = false, param = "other"))
    });
    let trained = |mut trainer: Trainer<AdamW>, one: Option<Trainer<Sgd>>| {
        let mut parameters = Parameters::create(&net).unwrap();
        for name in ["own.w", "other.w"] {
            parameters.set(name, &array![[2.0f32]]).unwrap();
        }
        let row = [net.row(0.0)];
        match one {
            Some(mut sgd) => sgd.step(&net, &mut parameters, row).map(drop).unwrap(),
            None => trainer.step(&net, &mut parameters, row).map(drop).unwrap(),
        }
        ["own.w", "other.w"].map(|name| f64::from(parameters.get::<f32>(name).unwrap()[[0, 0]]))
    };
    let adamw = || Trainer::new(AdamW::new(0.1).weight_decay(0.25));
    let sgd = Trainer::new(Sgd::new(0.1)).decay(Decay::L2(1.0));
    assert_near(&trained(adamw(), Some(sgd)), [2.0 - 0.1 * 0.5 * 2.0, 2.0 - 0.1 * 2.0]);
    // Decay that AdamW does apart from the gradient.
    assert_near(&trained(adamw(), None), [2.0 * (1.0 - 0.1 * 0.5), 2.0 * (1.0 - 0.1 * 0.25)]);
    let both = adamw().decay(Decay::L2(1.0));
    assert_near(&trained(both, None), [2.0 * (1.0 - 0.1 * 0.5), 2.0 * (1.0 - 0.1)]);
}

#[test]
fn a_trainer_goes_on_where_it_was() -> Result<(), Error> {
    let net = product!();
    let row = |step: usize| [net.row(gradient(step).map(|x| x as f32))];
    let steps = |trainer: &mut Trainer<Adam>, parameters: &mut Parameters, range: std::ops::Range<usize>| {
        for step in range {
            trainer.step(&net, parameters, row(step)).unwrap();
        }
    };
    let set =
        |parameters: &mut Parameters| parameters.set("w.w", &array![[0.5f32], [0.5], [0.5], [0.5], [0.5]]);
    let [mut whole, mut parts, mut anew] = [(); 3].map(|()| Parameters::create(&net).unwrap());
    for parameters in [&mut whole, &mut parts, &mut anew] {
        set(parameters)?;
    }
    steps(&mut Trainer::new(Adam::new(0.1)), &mut whole, 0..10);
    // Two sets of parameters in turn: what is kept of one is not that of the other.
    let mut trainer = Trainer::new(Adam::new(0.1));
    steps(&mut trainer, &mut parts, 0..4);
    steps(&mut trainer, &mut anew, 3..5);
    steps(&mut trainer, &mut parts, 4..10);
    assert_eq!(parts.get::<f32>("w.w")?, whole.get::<f32>("w.w")?);
    // Another trainer knows nothing of it.
    set(&mut anew)?;
    steps(&mut Trainer::new(Adam::new(0.1)), &mut anew, 0..4);
    steps(&mut Trainer::new(Adam::new(0.1)), &mut anew, 4..10);
    assert_ne!(anew.get::<f32>("w.w")?, whole.get::<f32>("w.w")?);
    // Unless it is told.
    set(&mut anew)?;
    let mut first = Trainer::new(Adam::new(0.1));
    steps(&mut first, &mut anew, 0..4);
    let kept = anew.get::<f32>("w.w")?;
    let mut second = Trainer::new(Adam::new(0.1));
    steps(&mut second, &mut anew, 0..1);
    anew.set("w.w", &kept)?;
    let keys: Vec<(String, String)> =
        first.states(&anew).map(|(name, slot)| (name.to_string(), slot.to_string())).collect();
    let slots: Vec<&str> = keys.iter().map(|(_, slot)| slot.as_str()).collect();
    assert_eq!(slots, ["Moment1", "Moment2", "Beta1Pow", "Beta2Pow"]);
    for (name, slot) in &keys {
        let value = first.state::<f32>(&anew, name, slot)?;
        second.set_state(&anew, name, slot, &value)?;
    }
    steps(&mut second, &mut anew, 4..10);
    assert_eq!(anew.get::<f32>("w.w")?, whole.get::<f32>("w.w")?);
    Ok(())
}

#[test]
fn networks_that_share_a_parameter_share_its_state() -> Result<(), Error> {
    let (a, b) = (
        product!(),
        network!(|x: Tensor<f32, _, 5>| {
            mean(fc(x, 1, bias = false, param = "w")) + mean(fc(x, 1, bias = false, param = "v"))
        }),
    );
    let mut parameters = Parameters::create((&a, &b))?;
    let mut trainer = Trainer::new(Momentum::new(0.1).momentum(0.5));
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    trainer.step(&a, &mut parameters, [a.row(x)])?;
    trainer.step(&b, &mut parameters, [b.row(x)])?;
    trainer.step(&a, &mut parameters, [a.row(x)])?;
    let velocity = |name: &str| trainer.state::<f32>(&parameters, name, "Velocity");
    // 1, 1 + 0.5, 1 + 0.5 · 1.5 of what is fed.
    assert_eq!(velocity("w.w")?.iter().copied().collect::<Vec<_>>(), x.map(|x| 1.75 * x));
    assert_eq!(velocity("v.w")?.iter().copied().collect::<Vec<_>>(), x);
    assert_eq!(
        velocity("u.w").unwrap_err().to_string(),
        "the updater has no state `Velocity` of parameter `u.w`; it gets it in the first step"
    );
    Ok(())
}

/// Parameters after five steps on large layers, as bits.
fn bits<U: Updater>(trainer: Trainer<U>, threads: usize) -> Vec<u32> {
    let net = network!(|x: Tensor<f32, _, 40>| mean(square(fc(fc(x, 1000, act = tanh), 3))));
    let mut parameters = Parameters::create_on(Cpu::with_threads(threads).unwrap(), &net, 3).unwrap();
    let mut trainer = trainer;
    let row = |i: usize| net.row(std::array::from_fn(|j| ((i * 31 + j * 17) % 29) as f32 / 14.0 - 1.0));
    for step in 0..5 {
        trainer.step(&net, &mut parameters, [row(step), row(step + 9)]).unwrap();
    }
    let names: Vec<String> = parameters.names().map(str::to_string).collect();
    let values = names.iter().flat_map(|name| parameters.get::<f32>(name).unwrap().into_iter());
    values.map(f32::to_bits).collect()
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    fn same<U: Updater>(trainer: impl Fn() -> Trainer<U>) {
        let one = bits(trainer(), 1);
        for threads in [2, 3, 7] {
            assert!(bits(trainer(), threads) == one, "{threads} threads give other bits than one");
        }
    }
    same(|| Trainer::new(Adam::new(0.01)).clip(Clip::GlobalNorm(0.1)));
    same(|| Trainer::new(Lamb::new(0.01)).decay(Decay::L1(0.01)));
    same(|| Trainer::new(RmsProp::new(0.01).centered().epsilon(1e-3)).clip(Clip::Norm(0.1)));
}

/// The costs of ten steps.
fn costs<B: Backend + Clone>(backend: B, updater: impl Updater) -> Vec<f32> {
    let net = network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>| {
        let hidden = fc(x, 4, act = relu);
        mean(square(fc(hidden, 1) - y))
    });
    let mut parameters = Parameters::create_on(backend, &net, 1).unwrap();
    let mut trainer = Trainer::new(updater).clip(Clip::GlobalNorm(1.0)).decay(Decay::L2(1e-3));
    let row = |i: usize| {
        let x: [f32; 3] = std::array::from_fn(|j| ((i * 5 + j * 3) % 7) as f32 / 3.0 - 1.0);
        net.row(x, x[0] - 0.5 * x[1] + 0.25)
    };
    let step = |step: usize| (0..4).map(|i| row(4 * step + i)).collect::<Vec<_>>();
    (0..10).map(|i| trainer.step(&net, &mut parameters, step(i)).unwrap().cost()).collect()
}

/// Costs on the reference backend are the same on every machine: they need sums, products, quotients and roots only.
#[test]
fn costs_are_those_of_the_table() {
    let mut table = String::new();
    macro_rules! rows {
        ($($updater:expr;)*) => {$(
            let expected = costs(Reference::single(), $updater);
            let found = costs(Cpu::new().unwrap(), $updater);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-4 * (1.0 + expected.abs()), "{found} is not {expected}");
            }
            let shown: Vec<String> = expected.iter().map(|cost| format!("{cost:?}")).collect();
            writeln!(table, "{}: {}", stringify!($updater), shown.join(" ")).unwrap();
        )*};
    }
    rows! {
        AdaDelta::new(1.0);
        Adagrad::new(0.1);
        Adam::new(0.05);
        AdamW::new(0.05);
        Adamax::new(0.05);
        DecayedAdagrad::new(0.05);
        Ftrl::new(0.1);
        Lamb::new(0.05);
        Momentum::new(0.1);
        RmsProp::new(0.01);
        Sgd::new(0.1);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/updaters/costs.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    assert_eq!(table, std::fs::read_to_string(&path).unwrap_or_default());
}

/// Makes a function of the steps on ids of an embedding, of which some come twice and most never.
macro_rules! embedded {
    ($name:ident, $net:expr) => {
        fn $name<B: Backend + Clone, U: Updater>(backend: B, mut trainer: Trainer<U, B>) -> Vec<f32> {
            let net = $net;
            let mut parameters = Parameters::create_on(backend, &net, 5).unwrap();
            for step in 0..4 {
                let row = |i: i64| net.row([3, 7 * i + step, 3 + step]);
                trainer.step(&net, &mut parameters, [row(0), row(1), row(4)]).unwrap();
            }
            parameters.get::<f32>("table.w").unwrap().into_iter().collect()
        }
    };
}

embedded!(looked_up_once, {
    network!(|ids: Tensor<i64, _, 3>| {
        mean(square(embedding(ids, [50, 4], param = "table", init = uniform(-1.0, 1.0)) - 0.25))
    })
});
embedded!(looked_up_again, {
    network!(|ids: Tensor<i64, _, 3>| {
        let of = |ids: _| embedding(ids, [50, 4], param = "table", init = uniform(-1.0, 1.0));
        let (first, last) = split(ids, [1, 2], axis = 1);
        mean(square(of(ids) - of(first))) + mean(tanh(of(last)))
    })
});

/// Does not say that it is an update of the table, so that gradients stay as they are.
#[derive(Clone)]
struct Dense(paddle::core::ops::Update);

impl Updater for Dense {
    fn learning_rate(&self, _step: u64) -> f64 {
        0.5
    }

    fn update(&self, update: &mut Update<'_>) -> Result<(), BuildError> {
        let mut inputs = vec![update.pair.parameter, update.pair.gradient, update.learning_rate];
        for slot in self.0.states() {
            inputs.push(update.state(slot, 0.0)?);
        }
        update.append(self.0, &inputs).map(drop)
    }
}

#[test]
fn rows_are_updated_as_in_the_whole_table() {
    macro_rules! check {
        ($steps:ident, $backend:expr) => {
            let sgd = $steps($backend, Trainer::new(Sgd::new(0.5)));
            assert_eq!(sgd, $steps($backend, Trainer::new(Dense(paddle::core::ops::Sgd {}.into()))));
            let adagrad = $steps($backend, Trainer::new(Adagrad::new(0.5)));
            let dense = Dense(paddle::core::ops::Adagrad::default().into());
            assert_eq!(adagrad, $steps($backend, Trainer::new(dense)));
            // In the first step, what was not looked up has no average yet.
            let (adam, lazy) = (Adam::new(0.5), Adam::new(0.5).lazy());
            assert_ne!($steps($backend, Trainer::new(adam)), $steps($backend, Trainer::new(lazy)));
        };
    }
    check!(looked_up_once, Reference::single());
    check!(looked_up_once, Cpu::with_threads(1).unwrap());
    check!(looked_up_once, Cpu::with_threads(3).unwrap());
    check!(looked_up_again, Reference::single());
    check!(looked_up_again, Cpu::with_threads(1).unwrap());
    check!(looked_up_again, Cpu::with_threads(3).unwrap());
}
