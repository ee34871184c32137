//! Numbers that are none, and infinite ones: a call that looks for them says where they come from.

use paddle::{Cpu, Error, Network, Options, Parameters, Rows, Sgd, Spec, Trainer, network};

/// The first error of steps on these batches.
fn first_error<S: Spec, R: Rows<S>>(
    net: &Network<S>,
    rate: f64,
    batches: impl IntoIterator<Item = R>,
) -> Option<String> {
    let mut parameters = Parameters::create_on(Cpu::with_threads(1).unwrap(), net, 1).unwrap();
    let mut trainer = Trainer::new(Sgd::new(rate));
    let options = Options::default().check_numbers();
    let mut step = |rows| trainer.step_with(net, &mut parameters, rows, &options).map(drop);
    batches.into_iter().map(&mut step).find_map(Result::err).map(|error: Error| error.to_string())
}

#[test]
fn the_operator_its_place_and_the_step_are_named() {
    let line = line!() + 1;
    let net = network!(|x: Tensor<f32, _, 2>| mean(square(fc(1.0 + log(x), 1))));
    let batches = [1.0, 2.0, 0.0].map(|last| vec![net.row([3.0, 1.0]), net.row([1.0, last])]);
    let error = first_error(&net, 0.1, batches).unwrap();
    assert!(error.contains(&format!("tests/numbers.rs:{line}:")), "{error}");
    assert!(error.ends_with("`log` gives -inf for element 3 of `log` in step 2"), "{error}");
}

#[test]
fn what_is_fed_is_looked_at() {
    let net = network!(|x: Tensor<f32, _, 2>| mean(square(fc(x, 1))));
    let error = first_error(&net, 0.1, [[net.row([1.0, f32::NAN])]]).unwrap();
    assert!(error.ends_with("element 1 of what is fed to `x` in step 0 is NaN"), "{error}");
}

#[test]
fn gradients_and_updates_are_looked_at() {
    // √ has no slope at 0.
    let net = network!(|x: Tensor<f32, _, 2>| mean(sqrt(relu(fc(x, 1, init = constant(-1.0))))));
    let error = first_error(&net, 0.1, [[net.row([1.0, 1.0])]]).unwrap();
    assert!(error.contains("_grad` gives "), "{error}");

    let net = network!(|x: Tensor<f32, _, 2>| mean(fc(x, 1, init = constant(-1.0), param = "far")));
    let error = first_error(&net, 3e38, [[net.row([2.0, 1.0])]]).unwrap();
    assert!(error.ends_with("`sgd` gives -inf for element 0 of `far.w` in step 0"), "{error}");
}

#[test]
fn branches_and_loops_are_looked_into() {
    let net = network!(|x: Tensor<f32, _, 1>| {
        let y = fc(x, 1, init = constant(1.0));
        mean(if x > 0.0 { log(x - 1.0) * y } else { y })
    });
    let rows = [net.row(-1.0), net.row(2.0), net.row(1.0)];
    let error = first_error(&net, 0.1, [rows]).unwrap();
    assert!(error.contains("`log` gives -inf for element 1"), "{error}");

    let net = network!(|x: Tensor<f32, _, 1>, n: Tensor<i64>| {
        let mut y = fc(x, 1, init = constant(1.0));
        let mut i = 0;
        while i < n {
            y = exp(y);
            i += 1;
        }
        mean(y)
    });
    let error = first_error(&net, 0.0, [2, 3, 4].map(|n| [net.row(1.0, n)])).unwrap();
    assert!(error.contains("`exp` gives inf") && error.ends_with("in step 2"), "{error}");
}

#[test]
fn nobody_looks_unless_asked() {
    let net = network!(|x: Tensor<f32, _, 2>| mean(log(fc(x, 1, init = constant(0.0)))));
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let outcome = trainer.step(&net, &mut parameters, [net.row([1.0, 1.0])]).unwrap();
    assert_eq!(outcome.cost(), f32::NEG_INFINITY);
}
