//! What a user would test of the two networks of `gan`.

use paddle::parameters;
use paddle::testing::{assert_learns, assert_program};

use super::judge::Judge;
use super::*;

/// Rows of `d0` and of `d1`.
fn rows(count: usize) -> (Vec<[f32; 32]>, Vec<gan::d1::Row>) {
    let noise = noise(&mut Rng::with_seed(1), count);
    let both =
        digits::images().iter().zip(&noise).map(|(image, noise)| (image.pixels, *noise).into()).collect();
    (noise, both)
}

#[test]
fn either_could_do_it_alone() {
    let (noise, both) = rows(8);
    assert_learns(&gan::d0(), &noise);
    assert_learns(&gan::d1(), &both);
}

#[test]
fn the_programs_are_those_that_were_reviewed() {
    assert_program(&gan::d0(), "examples/golden/gan_d0.txt");
    assert_program(&gan::d1(), "examples/golden/gan_d1.txt");
}

/// The bits of all parameters of a player, and of what a trainer keeps of them.
fn bits(trainer: &Trainer<Adam>, parameters: &Parameters, player: &str) -> Vec<u32> {
    let mut arrays = Vec::new();
    for name in parameters.names().filter(|name| name.starts_with(player)) {
        arrays.push(parameters.get::<f32>(name).unwrap());
    }
    for (name, slot) in trainer.states(parameters).filter(|(name, _)| name.starts_with(player)) {
        arrays.push(trainer.state::<f32>(parameters, name, slot).unwrap());
    }
    arrays.iter().flatten().map(|value| value.to_bits()).collect()
}

#[test]
fn a_step_leaves_every_bit_of_the_other() {
    let (d0, d1) = (gan::d0(), gan::d1());
    let mut parameters = parameters![gan::d0, gan::d1].unwrap();
    // One trainer for both keeps moments of both, which another one could not touch anyway.
    let mut trainer = Trainer::new(Adam::new(1e-3));
    let (noise, both) = rows(16);
    let (of_d, of_g) = (Options::default().freeze(gan::params::G), Options::default().freeze(gan::params::D));
    for step in 0..3 {
        let before = ["D.", "G."].map(|player| bits(&trainer, &parameters, player));
        trainer.step_with(&d1, &mut parameters, &both, &of_d).unwrap();
        let between = ["D.", "G."].map(|player| bits(&trainer, &parameters, player));
        trainer.step_with(&d0, &mut parameters, &noise, &of_g).unwrap();
        let after = ["D.", "G."].map(|player| bits(&trainer, &parameters, player));
        assert!(before[0] != between[0] && before[1] == between[1], "step {step} of D");
        assert!(between[0] == after[0] && between[1] != after[1], "step {step} of G");
    }
}

/// What is learned from, a judge, and what is made.
fn played(seed: u64, passes: usize, count: usize) -> (Vec<[[f32; 8]; 8]>, Judge, Array3<f32>) {
    let (training, testing) = split(digits::images(), 5);
    let training = &training[..count.min(training.len())];
    let images: Vec<_> = training.iter().map(|image| image.pixels).collect();
    let folder = std::env::temp_dir().join(format!("paddle-gan-{}-{passes}", std::process::id()));
    let samples = play(
        &Settings { seed, passes, folder: folder.clone(), ..Settings::parse_from([""]) },
        images.clone(),
    )
    .unwrap();
    for picture in ["costs.svg", &format!("pass_{passes:03}.png")] {
        assert!(folder.join(picture).metadata().unwrap().len() > 1000, "{picture}");
    }
    std::fs::remove_dir_all(folder).unwrap();
    (images, Judge::train(training, &testing, seed).unwrap(), samples)
}

#[test]
fn a_short_game() {
    let (_, judge, samples) = played(1, 2, 320);
    assert!(judge.test_accuracy > 0.8, "{}", judge.test_accuracy);
    assert!(samples.dim() == (1000, 8, 8) && samples.iter().all(|pixel| (0.0..=1.0).contains(pixel)));
}

#[test]
#[ignore = "takes a minute, in release"]
fn all_seeds_make_digits() {
    for seed in 1..=3 {
        let (images, judge, samples) = played(seed, 500, usize::MAX);
        let (classes, confidence) = judge.judge(samples.view()).unwrap();
        assert!(judge.test_accuracy >= 0.97, "seed {seed}: {}", judge.test_accuracy);
        assert!(judge.confidence_on_noise < 0.6, "seed {seed}: {}", judge.confidence_on_noise);
        assert!(classes >= 8 && confidence >= 0.8, "seed {seed}: {classes} classes, {confidence}");
        let distance = |sample: &[f32], image: &[[f32; 8]; 8]| {
            sample.iter().zip(image.as_flattened()).map(|(x, y)| (x - y).powi(2)).sum::<f32>().sqrt()
        };
        for sample in samples.as_slice().unwrap().chunks(64) {
            let least = images.iter().map(|image| distance(sample, image)).fold(f32::INFINITY, f32::min);
            assert!(least >= 1e-3, "seed {seed}: a sample is a digit that it was learned from");
        }
    }
}
