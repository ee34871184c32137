//! Numbers that are none, and infinite ones: a call that looks for them says where they come from.

use paddle::reader::Reader;
use paddle::{Adam, Cpu, Error, Network, Options, Parameters, Rows, Sgd, Trainable, Trainer, network};

/// The first error of steps on these batches.
fn first_error<S: Trainable, R: Rows<S>>(
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
    let options = Options::default().allow_nan();
    let outcome = trainer.step_with(&net, &mut parameters, [net.row([1.0, 1.0])], &options).unwrap();
    assert_eq!(outcome.cost(), f32::NEG_INFINITY);
}

/// Every parameter, bit for bit.
fn bits(parameters: &Parameters) -> Vec<u32> {
    let of =
        |name: &str| parameters.get::<f32>(name).unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    parameters.names().flat_map(of).collect()
}

/// Unless told otherwise, whole or in shards: the place is named, nothing has changed, and the training can go on.
#[test]
fn a_cost_that_is_not_finite_is_an_error_that_changes_nothing() {
    let line = line!() + 1;
    let net = network!(|x: Tensor<f32, _, 2>| mean(square(fc(1.0 + log(x), 1))));
    let good = vec![net.row([3.0, 1.0]), net.row([1.0, 2.0])];
    let bad = vec![net.row([3.0, 1.0]), net.row([1.0, 0.0])];
    for shards in [1, 2] {
        let options = Options::default().shards(shards);
        let mut parameters = Parameters::create(&net).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.1));
        trainer.step_with(&net, &mut parameters, &good, &options).unwrap();
        let before = bits(&parameters);
        let error = trainer.step_with(&net, &mut parameters, &bad, &options).unwrap_err();
        let text = error.to_string();
        assert!(matches!(&error, Error::CostNotFinite(error) if error.step == 1), "{text}");
        assert!(text.starts_with("the cost of step 1 is inf, and nothing was updated"), "{text}");
        assert!(text.contains(&format!("tests/numbers.rs:{line}:")), "{text}");
        assert!(text.contains("`log` gives -inf for element "), "{text}");
        assert_eq!((bits(&parameters), trainer.steps(&net).unwrap()), (before, 1));
        // As if the bad batch had not been.
        trainer.step_with(&net, &mut parameters, &good, &options).unwrap();
        let mut without = Parameters::create(&net).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.1));
        for _ in 0..2 {
            trainer.step_with(&net, &mut without, &good, &options).unwrap();
        }
        assert_eq!(bits(&parameters), bits(&without));
    }
}

/// Statistics that the batch has moved are moved back, before and after the search for the cause.
#[test]
fn statistics_are_as_they_were() {
    let net = network!(|x: Tensor<f32, _, 2>| mean(square(batch_norm(fc(log(x), 3), param = "norm"))));
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let good = [net.row([3.0, 1.0]), net.row([1.0, 2.0])];
    trainer.step(&net, &mut parameters, good).unwrap();
    let before = bits(&parameters);
    let error = trainer.step(&net, &mut parameters, [net.row([3.0, 1.0]), net.row([1.0, -1.0])]).unwrap_err();
    assert!(error.to_string().contains("`log` gives NaN for element 3 of `log` in step 1"), "{error}");
    assert_eq!(bits(&parameters), before);
    trainer.step(&net, &mut parameters, good).unwrap();
    assert_ne!(bits(&parameters), before);
}

#[test]
fn training_says_in_which_batch() {
    let net = network!(|x: Tensor<f32, _, 1>| mean(log(x) * fc(x, 1)));
    let rows = [1.0, 2.0, 3.0, -1.0, 5.0].map(|x| net.row(x));
    let mut parameters = Parameters::create(&net).unwrap();
    let mut events = 0;
    let path = std::env::temp_dir().join(format!("paddle-numbers-{}.safetensors", std::process::id()));
    let options = Options::default().checkpoint(&path).checkpoint_every(1);
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let mut train = |parameters: &mut Parameters, options| {
        trainer.train(&net, parameters, rows.iter().batch(2), options, |_| {
            events += 1;
            Ok(())
        })
    };
    let error = train(&mut parameters, options).unwrap_err();
    assert!(error.to_string().starts_with("pass 0, batch 1: the cost of step 1 is NaN"), "{error}");
    assert!(error.to_string().contains("`log` gives NaN for element 1"), "{error}");
    // The checkpoint is that of the step before.
    let mut resumed = Parameters::create(&net).unwrap();
    Trainer::new(Sgd::new(0.1)).resume(&net, &mut resumed, &path).unwrap();
    assert_eq!(bits(&resumed), bits(&parameters));
    train(&mut parameters, Options::default().allow_nan()).unwrap();
    assert!(events > 0 && bits(&parameters).iter().any(|&bits| f32::from_bits(bits).is_nan()));
    std::fs::remove_file(path).unwrap();
}

/// What was fed is to blame if no operator is: infinities are there for good reason, as in masks.
#[test]
fn rows_that_are_not_finite() {
    let net = network!(|x: Tensor<f32, _, 2>, mask: Tensor<f32, _, 2>| {
        let weights = softmax(x + mask);
        mean(weights * fc(x, 2))
    });
    let none = f32::NEG_INFINITY;
    let error_of = |rows: [([f32; 2], [f32; 2]); 2]| {
        let mut parameters = Parameters::create(&net).unwrap();
        let rows = rows.map(|(x, mask)| net.row(x, mask));
        Trainer::new(Sgd::new(0.1))
            .step(&net, &mut parameters, rows)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    error_of([([1.0, 2.0], [0.0, none]), ([1.0, 2.0], [none, 0.0])]).unwrap();
    let error = error_of([([1.0, 2.0], [0.0, none]), ([1.0, 2.0], [none, none])]).unwrap_err();
    assert!(error.contains("`softmax` gives NaN for element 2"), "{error}");
    for (x, name) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf")] {
        let error = error_of([([1.0, 2.0], [0.0, 0.0]), ([1.0, x], [0.0, none])]).unwrap_err();
        let fed = format!("row 1: element 3 of what is fed to `x` in step 0 is {name}");
        assert!(error.contains(&fed) || (error.contains("` gives NaN") && x.is_infinite()), "{error}");
    }

    // Of sequences, the row is that of the token.
    let net = network!(|words: Seq<Tensor<f32, 2>>| mean(square(sequence_pool(fc(words, 2), sum))));
    let rows = [vec![[1.0; 2]; 2], vec![], vec![[1.0; 2], [f32::NAN, 1.0]]].map(|words| net.row(words));
    let mut parameters = Parameters::create(&net).unwrap();
    let error = Trainer::new(Sgd::new(0.1)).step(&net, &mut parameters, rows).unwrap_err().to_string();
    assert!(error.contains("row 2: element 6 of what is fed to `words` in step 0 is NaN"), "{error}");
}

/// A finite cost may have a gradient that is not: the end of the pass finds it, and no checkpoint has such parameters.
#[test]
fn parameters_that_are_not_finite() {
    // √ has no slope at 0, and `relu` makes 0 of NaN.
    let net = network!(|x: Tensor<f32, _, 2>| {
        let line = fc(x, 1, init = constant(-1.0));
        mean(sqrt(relu(line)))
    });
    let rows = [net.row([1.0, 1.0])];
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let path = std::env::temp_dir().join(format!("paddle-not-finite-{}.safetensors", std::process::id()));
    let options = || Options::default().checkpoint(&path);
    let error = trainer.train(&net, &mut parameters, [&rows[..]], options(), |_| Ok(())).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("pass 0, batch 0: element 0 of parameter `line.w` is NaN after an update"),
        "{text}"
    );
    assert!(!path.exists());
    assert_eq!(trainer.step(&net, &mut parameters, rows).unwrap().cost(), 0.0);
    trainer.train(&net, &mut parameters, [&rows[..]], options().allow_nan(), |_| Ok(())).unwrap();
    std::fs::remove_file(path).unwrap();

    // Elsewhere the cost shows it, and it is the parameter that is told.
    let net = network!(|x: Tensor<f32, _, 2>| {
        let line = fc(x, 1, init = constant(0.0));
        mean(sqrt(abs(line)))
    });
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let rows = [net.row([1.0, 1.0])];
    assert_eq!(trainer.step(&net, &mut parameters, rows).unwrap().cost(), 0.0);
    let error = trainer.step(&net, &mut parameters, rows).unwrap_err().to_string();
    let wanted = "is NaN, and nothing was updated: element 0 of parameter `line.w` is NaN after an update";
    assert!(error.contains(wanted), "{error}");
}

/// Values are looked at piece by piece, and the first number is told, not the worst of a later piece.
#[test]
fn the_first_number_that_is_not_finite_is_told_of_long_values() {
    let net = network!(|x: Tensor<f32, _, 3000>| mean(fc(log(x), 1)));
    let mut x = [1.0; 3000];
    (x[5], x[2000]) = (0.0, -1.0);
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let options = Options::default().check_numbers();
    let error = trainer.step_with(&net, &mut parameters, [net.row(x)], &options).unwrap_err();
    assert!(error.to_string().contains("gives -inf for element 5 of"), "{error}");
}
