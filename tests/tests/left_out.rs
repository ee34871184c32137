//! Parameters that the user leaves out of a training: by `stop_gradient`, by `_`, by freezing. They stay as they are, to the
//! last bit, and everything else trains.

use paddle::attribute::network;
use paddle::testing::{assert_learns, check_gradients};
use paddle::{Adam, Error, Network, Options, Parameters, Rows, TrainableInPart, Trainer, infer, summary};

/// A generator and its judge in one network: the generator stands still while the judge learns.
#[network]
mod gan {
    fn generate(noise: _) -> Tensor<f32, _, 2> {
        fc(fc(noise, 8, act = tanh), 2)
    }

    fn judge(sample: _) -> Tensor<f32, _, 1> {
        fc(fc(sample, 8, act = tanh), 1)
    }

    pub fn judge_cost(noise: Tensor<f32, _, 3>, real: Tensor<f32, _, 2>) -> (Tensor<f32>, Tensor<f32>) {
        let fake = stop_gradient(generate(noise, param = "G"));
        let (on_real, on_fake) = (judge(real, param = "D"), judge(fake, param = "D"));
        let cost = mean(softplus(-on_real) + softplus(on_fake));
        (cost, mean(on_fake))
    }

    pub fn generator_cost(noise: Tensor<f32, _, 3>) -> Tensor<f32> {
        mean(softplus(-judge(generate(noise, param = "G"), param = "D")))
    }
}

/// Q-learning, whose target is a copy of the network.
#[network]
mod deep_q {
    fn q(state: _) -> Tensor<f32, _, 2> {
        fc(fc(state, 8, act = tanh), 2)
    }

    pub fn cost(
        state: Tensor<f32, _, 3>,
        action: Tensor<f32, _, 2>,
        reward: Tensor<f32, _>,
        next: Tensor<f32, _, 3>,
    ) -> Tensor<f32> {
        let taken = sum(q(state, param = "online") * action, axis = 1);
        let best = reward + 0.9 * max(q(next, param = "target"), axis = 1);
        mean(square(taken - stop_gradient(best)))
    }
}

/// A trunk that is known, and a head on it.
#[network]
mod trunk {
    fn features(x: _) -> (_, _) {
        let hidden = fc(x, 6, act = tanh);
        (fc(hidden, 4), fc(hidden, 3))
    }

    /// Of two results one is used.
    pub fn one(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 4>) -> Tensor<f32> {
        let (used, _) = features(x);
        mean(square(used - y))
    }

    pub fn named(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 3>) -> Tensor<f32> {
        let (_unused, used) = features(x);
        mean(square(used - y))
    }

    /// In a branch, and in a loop.
    pub fn nested(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 4>, n: Tensor<i64>) -> Tensor<f32> {
        let mut total = if mean(y, axis = 1) > 0.0 {
            let (used, _) = features(x);
            used
        } else {
            y
        };
        let mut i = 0;
        while i < n {
            let (_, _probe) = features(total - 0.0 * y, param = "again");
            total = total * 0.5;
            i += 1;
        }
        mean(square(total - y))
    }

    pub fn frozen(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let (a, b) = stop_gradient_of(features(x));
        mean(square(fc(concat([a, b], axis = 1), 1, param = "head") - y))
    }

    fn stop_gradient_of(both: (_, _)) -> (_, _) {
        let (a, b) = both;
        (stop_gradient(a), stop_gradient(b))
    }

    /// What is stopped may be decided on, too.
    pub fn routed(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let route = stop_gradient(fc(x, 1, param = "route"));
        let answer = if route > 0.0 { fc(x, 1, param = "left") } else { fc(x, 1, param = "right") };
        mean(square(answer - y))
    }
}

/// A student learns what a teacher says.
#[network]
mod distillation {
    fn classify(x: _) -> Tensor<f32, _, 3> {
        fc(fc(x, 8, act = tanh), 3)
    }

    pub fn soft(x: Tensor<f32, _, 2>) -> Tensor<f32> {
        let wanted = stop_gradient(softmax(classify(x, param = "teacher")));
        mean(softmax_with_cross_entropy(classify(x, param = "student"), wanted, soft_label = true))
    }

    pub fn hard(x: Tensor<f32, _, 2>) -> Tensor<f32> {
        let wanted = argmax(stop_gradient(classify(x, param = "teacher")), axis = 1, keep_dim = true);
        mean(softmax_with_cross_entropy(classify(x, param = "student"), wanted))
    }

    /// No gradient passes labels: who freezes the teacher has said so.
    pub fn unsaid(x: Tensor<f32, _, 2>) -> Tensor<f32> {
        let wanted = softmax(classify(x, param = "teacher"));
        mean(softmax_with_cross_entropy(classify(x, param = "student"), wanted, soft_label = true))
    }
}

/// A parameter that only another result depends on is not part of the cost.
#[network]
mod several {
    pub fn both(x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>) -> (Tensor<f32>, _) {
        let cost = mean(square(fc(x, 1, param = "used") - y));
        let other = fc(x, 1, param = "other");
        (cost, other)
    }

    pub fn stopped(x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>) -> (Tensor<f32>, _) {
        let cost = mean(square(fc(x, 1, param = "used") - y));
        (cost, stop_gradient(fc(x, 1, param = "other")))
    }
}

fn noise(row: usize) -> [f32; 3] {
    [0, 1, 2].map(|k| ((row * 7 + k * 5) % 11) as f32 / 5.0 - 1.0)
}

/// The parameters that have other bits after some steps, by what their names begin with, and the first and the last cost.
fn trained<S: TrainableInPart>(
    net: &Network<S>,
    rows: impl Rows<S>,
    options: &Options,
) -> Result<(Vec<String>, f32, f32), Error> {
    let (before, mut parameters) = (Parameters::create(net)?, Parameters::create(net)?);
    let mut trainer = Trainer::new(Adam::new(0.02));
    let first = trainer.step_with(net, &mut parameters, &rows, options)?.cost();
    let mut last = first;
    for _ in 0..150 {
        last = trainer.step_with(net, &mut parameters, &rows, options)?.cost();
    }
    let bits = |parameters: &Parameters, name: &str| -> Vec<u32> {
        parameters.get::<f32>(name).unwrap().iter().map(|x| x.to_bits()).collect()
    };
    let (mut moved, mut states): (Vec<String>, Vec<String>) = Default::default();
    let group = |name: &str| name.split('.').next().unwrap().to_string();
    moved.extend(parameters.names().filter(|name| bits(&before, name) != bits(&parameters, name)).map(group));
    states.extend(trainer.states(&parameters).map(|(name, _)| group(name)));
    moved.dedup();
    states.dedup();
    assert_eq!(moved, states, "the updater keeps something of what moves");
    Ok((moved, first, last))
}

#[test]
fn a_judge_learns_while_its_generator_stands_still() -> Result<(), Error> {
    let net = gan::judge_cost();
    let rows: Vec<_> = (0..8).map(|k| net.row(noise(k), [1.5, noise(k)[0] + 1.0])).collect();
    for options in [Options::default(), Options::default().freeze(gan::params::G)] {
        let (moved, first, last) = trained(&net, &rows, &options)?;
        assert_eq!(moved, ["D"]);
        assert!(last < 0.3 * first, "{first} {last}");
    }
    let (moved, ..) = trained(&net, &rows, &Options::default().shards(3))?;
    assert_eq!(moved, ["D"]);
    // Both take their turns on one set.
    let (judge, generator) = (gan::judge_cost(), gan::generator_cost());
    let mut parameters = Parameters::create((&judge, &generator))?;
    let mut trainer = Trainer::new(Adam::new(0.01));
    let noises: Vec<_> = (0..8).map(noise).collect();
    let fooled = |parameters: &Parameters| {
        infer(&generator, parameters, &noises).map(|outputs| outputs.at::<f32>(0).unwrap()[[]])
    };
    for _ in 0..100 {
        trainer.step(&judge, &mut parameters, &rows)?;
    }
    let before = fooled(&parameters)?;
    for _ in 0..100 {
        trainer.step_with(
            &generator,
            &mut parameters,
            &noises,
            &Options::default().freeze(gan::params::D),
        )?;
    }
    assert!(fooled(&parameters)? < 0.5 * before);
    Ok(())
}

#[test]
fn a_target_changes_when_it_is_copied() -> Result<(), Error> {
    let net = deep_q::cost();
    let rows: Vec<_> = (0..8)
        .map(|k| {
            let action = if k % 2 == 0 { [1.0, 0.0] } else { [0.0, 1.0] };
            net.row(noise(k), action, (k % 3) as f32, noise(k + 1))
        })
        .collect();
    for options in [Options::default(), Options::default().freeze(deep_q::params::target)] {
        let (moved, first, last) = trained(&net, &rows, &options)?;
        assert_eq!(moved, ["online"]);
        assert!(last < 0.2 * first, "{first} {last}");
    }
    // The copy is the user's.
    let mut parameters = Parameters::create(&net)?;
    let mut trainer = Trainer::new(Adam::new(0.02));
    for _ in 0..3 {
        for _ in 0..50 {
            trainer.step(&net, &mut parameters, &rows)?;
        }
        let names: Vec<String> = parameters.names_in(deep_q::params::online).map(str::to_string).collect();
        for name in names {
            let value = parameters.get::<f32>(&name)?;
            parameters.set(name.replace("online", "target"), &value)?;
        }
    }
    let last = trainer.step(&net, &mut parameters, &rows)?.cost();
    assert!(last.is_finite());
    Ok(())
}

#[test]
fn a_result_that_is_not_used_is_left_out() -> Result<(), Error> {
    let rows: Vec<_> = (0..6).map(|k| (noise(k), [0.5, -0.5, noise(k)[1], 0.0])).collect();
    let (one, named) = (trunk::one(), trunk::named());
    let parameters = Parameters::create((&one, &named))?;
    assert_eq!(parameters.len(), 6);
    assert_learns(&one, rows.iter().map(|&(x, y)| one.row(x, y)).collect::<Vec<_>>());
    assert_learns(&named, rows.iter().map(|&(x, [a, b, c, _])| named.row(x, [a, b, c])).collect::<Vec<_>>());
    check_gradients(&one, rows.iter().map(|&(x, y)| one.row(x, y)).collect::<Vec<_>>()).unwrap();
    let table = summary((&one, &named))?.to_string();
    let line = |name: &str| table.lines().find(|line| line.trim().starts_with(name)).unwrap().to_string();
    let ends_with = |name: &str, end: [&str; 2]| {
        let line = line(name);
        let words: Vec<&str> = line.split_whitespace().rev().take(2).collect();
        assert_eq!([words[1], words[0]], end, "{table}");
    };
    ends_with("features.hidden.w", ["trained", "trained"]);
    ends_with("features.fc.w", ["trained", "used"]);
    ends_with("features.fc_1.w", ["used", "trained"]);
    Ok(())
}

#[test]
fn in_blocks_too() -> Result<(), Error> {
    let net = trunk::nested();
    // `n` is one number for all rows.
    let mut batch = net.batch((0..5).map(|k| net.row(noise(k), [1.0, noise(k)[0], 0.5, -0.25], 2)))?;
    batch.set("n", &ndarray::arr0(2_i64))?;
    let mut parameters = Parameters::create(&net)?;
    let before = parameters.get::<f32>("features.fc_1.w")?;
    let mut trainer = Trainer::new(Adam::new(0.02));
    let first = trainer.step(&net, &mut parameters, &batch)?.cost();
    for _ in 0..100 {
        trainer.step(&net, &mut parameters, &batch)?;
    }
    assert!(trainer.step(&net, &mut parameters, &batch)?.cost() < first);
    assert_eq!(parameters.get::<f32>("features.fc_1.w")?, before);
    Ok(())
}

#[test]
fn a_head_learns_on_a_trunk_that_stays() -> Result<(), Error> {
    let net = trunk::frozen();
    let rows: Vec<_> = (0..4).map(|k| net.row(noise(k), (k % 2) as f32)).collect();
    for options in [Options::default(), Options::default().freeze(trunk::params::features)] {
        let (moved, first, last) = trained(&net, &rows, &options)?;
        assert_eq!(moved, ["head"]);
        assert!(last < 0.3 * first, "{first} {last}");
    }
    assert_learns(&net, &rows);
    let net = trunk::routed();
    let rows: Vec<_> = (0..6).map(|k| net.row(noise(k), noise(k)[0] + 1.0)).collect();
    assert_eq!(trained(&net, &rows, &Options::default())?.0, ["left", "right"]);
    Ok(())
}

#[test]
fn a_student_learns_what_its_teacher_says() -> Result<(), Error> {
    let rows: Vec<[f32; 2]> = (0..8).map(|k| [noise(k)[0], noise(k)[1]]).collect();
    let freeze = || Options::default().freeze(distillation::params::teacher);
    for options in [Options::default(), freeze()] {
        let (moved, first, last) = trained(&distillation::soft(), &rows, &options)?;
        assert_eq!(moved, ["student"]);
        assert!(last < first);
        let (moved, first, last) = trained(&distillation::hard(), &rows, &options)?;
        assert_eq!(moved, ["student"]);
        assert!(last < 0.5 * first, "{first} {last}");
    }
    // Labels pass no gradient: without the user's word it is a mistake, with it none.
    let net = distillation::unsaid();
    assert_eq!(trained(&net, &rows, &freeze())?.0, ["student"]);
    let error = trained(&net, &rows, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("parameter `teacher.fc.w` has no differentiable path to the cost"), "{error}");
    assert!(error.contains("passes no gradient to its labels") && error.contains("`freeze`"), "{error}");
    Ok(())
}

#[test]
fn what_only_another_result_depends_on_needs_the_users_word() -> Result<(), Error> {
    let rows: Vec<_> = (0..4).map(|k| ([noise(k)[0], noise(k)[1]], 0.5)).collect();
    let net = several::both();
    let of_both: Vec<_> = rows.iter().map(|&(x, y)| net.row(x, y)).collect();
    let error = trained(&net, &of_both, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("parameter `other.w` has no path to the cost"), "{error}");
    assert_eq!(trained(&net, &of_both, &Options::default().freeze(several::params::other))?.0, ["used"]);
    let net = several::stopped();
    let of_stopped: Vec<_> = rows.iter().map(|&(x, y)| net.row(x, y)).collect();
    assert_eq!(trained(&net, &of_stopped, &Options::default())?.0, ["used"]);
    Ok(())
}

/// A checkpoint has nothing of what is left out, and goes on with the rest.
#[test]
fn a_training_goes_on() -> Result<(), Error> {
    let net = gan::judge_cost();
    let rows: Vec<_> = (0..8).map(|k| net.row(noise(k), [1.5, 0.5])).collect();
    let path = std::env::temp_dir().join(format!("left_out_{}", std::process::id()));
    let mut parameters = Parameters::create(&net)?;
    let mut trainer = Trainer::new(Adam::new(0.01));
    trainer.step(&net, &mut parameters, &rows)?;
    trainer.save_checkpoint(&net, &parameters, &path)?;
    trainer.step(&net, &mut parameters, &rows)?;
    let (mut resumed, mut second) = (Parameters::create(&net)?, Trainer::new(Adam::new(0.01)));
    second.resume(&net, &mut resumed, &path)?;
    second.step(&net, &mut resumed, &rows)?;
    for name in parameters.names() {
        assert_eq!(parameters.get::<f32>(name)?, resumed.get::<f32>(name)?, "{name}");
    }
    std::fs::remove_file(path).unwrap();
    Ok(())
}
