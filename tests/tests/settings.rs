//! Settings that nothing can be done with: each is named, with what it is and what it has to be, before anything is computed.

use paddle::reader::Reader;
use paddle::updater::schedule;
use paddle::{
    AdaDelta, Adagrad, Adam, AdamW, Adamax, Clip, Decay, DecayedAdagrad, Error, Ftrl, Lamb, Momentum,
    Options, Parameters, RmsProp, Sgd, Trainer, Updater, network,
};

/// What a step, and a training, say of a trainer. No event comes, and nothing changes.
fn error_of<U: Updater>(trainer: impl Fn() -> Trainer<U>) -> String {
    let net = network!(|x: Tensor<f32, _, 2>| mean(square(fc(x, 1))));
    let rows = [net.row([1.0, 2.0])];
    let mut parameters = Parameters::create(&net).unwrap();
    let before = parameters.get::<f32>("fc.w").unwrap();
    let error = trainer().step(&net, &mut parameters, rows).unwrap_err();
    assert!(matches!(error, Error::Setting(_)), "{error}");
    let mut events = 0;
    let trained = trainer().train(&net, &mut parameters, [&rows[..]], Options::default(), |_| {
        events += 1;
        Ok(())
    });
    let of_training = trained.unwrap_err().to_string();
    assert_eq!(of_training, error.to_string());
    assert!(events == 0 || of_training.contains("learning rate"), "{of_training}");
    assert_eq!(parameters.get::<f32>("fc.w").unwrap(), before);
    error.to_string()
}

fn of<U: Updater + Clone>(updater: U) -> String {
    error_of(|| Trainer::new(updater.clone()))
}

const NAN: f64 = f64::NAN;

#[test]
fn learning_rates() {
    let expected =
        |found| format!("the learning rate of step 0 is {found}, but has to be finite and at least 0");
    for (rate, found) in
        [(NAN, "NaN"), (f64::INFINITY, "inf"), (-0.1, "-0.1"), (f64::NEG_INFINITY, "-inf"), (1e39, "1e39")]
    {
        assert_eq!(of(Sgd::new(rate)), expected(found));
        assert_eq!(of(Adam::new(rate)), expected(found));
        assert_eq!(of(Ftrl::new(rate)), expected(found));
        assert_eq!(of(AdamW::new(move |_| rate)), expected(found));
    }
    assert_eq!(of(Sgd::new(schedule::noam(NAN, 512, 10))), expected("NaN"));
    assert_eq!(of(Sgd::new(schedule::exponential(f64::INFINITY, 1, 0.5))), expected("inf"));
}

/// A schedule that goes wrong later: the steps before are taken, and the batch is named.
#[test]
fn schedules_that_leave_the_range() {
    let net = network!(|x: Tensor<f32, _, 2>| mean(square(fc(x, 1))));
    let rows = [[1.0, 2.0]; 6].map(|x| net.row(x));
    let schedules: [(u64, Sgd); 3] = [
        (2, Sgd::new(|step| if step < 2 { 0.1 } else { NAN })),
        (3, Sgd::new(schedule::polynomial(0.1, 4, -0.1, 1.0))),
        (1, Sgd::new(schedule::piecewise(0.1, [(1, f64::INFINITY)]))),
    ];
    for (step, updater) in schedules {
        let mut parameters = Parameters::create(&net).unwrap();
        let mut trainer = Trainer::new(updater);
        let trained =
            trainer.train(&net, &mut parameters, rows.iter().batch(1), Options::default(), |_| Ok(()));
        let text = trained.unwrap_err().to_string();
        assert!(text.contains(&format!("the learning rate of step {step} is ")), "{text}");
        assert_eq!(trainer.steps(&net).unwrap(), step);
    }
}

#[test]
fn numbers_of_updaters() {
    let rate = "at least 0 and less than 1";
    let wrong = [
        (of(Adam::new(0.1).betas(NAN, 0.9)), "`beta1` of `Adam::betas` is NaN", rate),
        (of(Adam::new(0.1).betas(0.9, 1.0)), "`beta2` of `Adam::betas` is 1", rate),
        (of(Adam::new(0.1).epsilon(0.0)), "`epsilon` of `Adam::epsilon` is 0", "finite and larger than 0"),
        (of(AdamW::new(0.1).betas(-0.1, 0.9)), "`beta1` of `AdamW::betas` is -0.1", rate),
        (
            of(AdamW::new(0.1).weight_decay(-1.0)),
            "`coeff` of `AdamW::weight_decay` is -1",
            "finite and at least 0",
        ),
        (
            of(Adamax::new(0.1).epsilon(NAN)),
            "`epsilon` of `Adamax::epsilon` is NaN",
            "finite and larger than 0",
        ),
        (of(AdaDelta::new(0.1).rho(1.5)), "`rho` of `AdaDelta::rho` is 1.5", rate),
        (
            of(Adagrad::new(0.1).epsilon(-1e-3)),
            "`epsilon` of `Adagrad::epsilon` is -0.001",
            "finite and larger than 0",
        ),
        (of(DecayedAdagrad::new(0.1).rho(NAN)), "`decay` of `DecayedAdagrad::rho` is NaN", rate),
        (of(Ftrl::new(0.1).l1(-1.0)), "`l1` of `Ftrl::l1` is -1", "finite and at least 0"),
        (of(Ftrl::new(0.1).l2(f64::INFINITY)), "`l2` of `Ftrl::l2` is inf", "finite and at least 0"),
        (of(Ftrl::new(0.1).lr_power(0.5)), "`lr_power` of `Ftrl::lr_power` is 0.5", "finite and at most 0"),
        (
            of(Lamb::new(0.1).weight_decay(NAN)),
            "`weight_decay` of `Lamb::weight_decay` is NaN",
            "finite and at least 0",
        ),
        (
            of(Momentum::new(0.1).momentum(NAN)),
            "`mu` of `Momentum::momentum` is NaN",
            "at least 0 and at most 1",
        ),
        (of(RmsProp::new(0.1).rho(1.0)), "`decay` of `RmsProp::rho` is 1", rate),
        (
            of(RmsProp::new(0.1).momentum(-0.5)),
            "`momentum` of `RmsProp::momentum` is -0.5",
            "at least 0 and at most 1",
        ),
    ];
    for (text, found, expected) in wrong {
        assert_eq!(text, format!("{found}, but has to be {expected}"));
    }
}

#[test]
fn clipping_and_decay() {
    let sgd = || Trainer::new(Sgd::new(0.1));
    for bound in [NAN, f64::INFINITY, 0.0, -1.0] {
        for clip in [Clip::Value(bound), Clip::Norm(bound), Clip::GlobalNorm(bound)] {
            let text = error_of(|| sgd().clip(clip));
            assert!(
                text.starts_with("the bound of `Clip::") && text.ends_with("finite and larger than 0"),
                "{text}"
            );
        }
    }
    for factor in [NAN, f64::INFINITY, -1e-4] {
        for decay in [Decay::L1(factor), Decay::L2(factor)] {
            let text = error_of(|| sgd().decay(decay));
            assert!(
                text.starts_with("the factor of `Decay::") && text.ends_with("finite and at least 0"),
                "{text}"
            );
        }
    }
}

#[test]
fn options() {
    let net = network!(|x: Tensor<f32, _, 2>| mean(square(fc(x, 1))));
    let mut parameters = Parameters::create(&net).unwrap();
    let mut error_of = |options: Options| {
        let rows = [net.row([1.0, 2.0])];
        let mut trainer = Trainer::new(Sgd::new(0.1));
        trainer.train(&net, &mut parameters, [&rows[..]], options, |_| Ok(())).unwrap_err().to_string()
    };
    assert_eq!(
        error_of(Options::default().shards(0)),
        "a batch cannot be cut into 0 shards; with 1 it stays whole"
    );
    assert_eq!(
        error_of(Options::default().checkpoint_every(5)),
        "the file of `checkpoint_every(5)` is missing, but has to be given by `checkpoint(path)`"
    );
}
