//! What a user would test of `digits`.

use paddle::testing::{assert_learns, assert_program};

use super::*;

/// Digits as rows, one of each class.
fn one_of_each<R: From<Labelled<8, 8>>>() -> Vec<R> {
    let images = digits::images();
    let of = |class| images.iter().find(|image| image.label == class).expect("there are all digits");
    (0..10).map(of).map(|image| (image.pixels, image.label).into()).collect()
}

#[test]
fn the_networks_learn_ten_digits() {
    assert_learns(&classifier::small_softmax(), one_of_each::<classifier::small_softmax::Row>());
    assert_learns(&classifier::small_perceptron(), one_of_each::<classifier::small_perceptron::Row>());
    assert_learns(&classifier::small_lenet(), one_of_each::<classifier::small_lenet::Row>());
}

#[test]
fn its_program_is_the_one_that_was_reviewed() {
    assert_program(&classifier::small_lenet(), "examples/golden/digits.txt");
}

fn run_with(folder: Option<PathBuf>, passes: Option<usize>, seed: u64) -> Figures {
    let results = std::env::temp_dir().join(format!("paddle-digits-{seed}-{}", std::process::id()));
    let figures =
        run(&Settings { folder, seed, passes, results: results.clone(), ..Settings::parse_from([""]) })
            .unwrap();
    for picture in ["softmax.png", "mistakes.png"] {
        assert!(std::fs::metadata(results.join(picture)).unwrap().len() > 0, "{picture}");
    }
    std::fs::remove_dir_all(results).unwrap();
    figures
}

#[test]
fn two_passes_tell_most_digits_apart() {
    let Figures { softmax, perceptron, lenet } = run_with(None, Some(2), 1);
    assert!(softmax > 0.7 && perceptron > 0.4 && lenet > 0.7, "{softmax} {perceptron} {lenet}");
}

#[test]
#[ignore = "takes half a minute, in release"]
fn all_seeds_reach_the_goal() {
    for seed in 1..=3 {
        let Figures { softmax, perceptron, lenet } = run_with(None, None, seed);
        assert!(
            lenet >= 0.98 && lenet > perceptron && perceptron > softmax,
            "{lenet} {perceptron} {softmax}"
        );
    }
}

#[test]
#[ignore = "takes minutes, in release, and needs MNIST's files in the folder that PADDLE_MNIST names"]
fn mnist_in_full() {
    let Some(folder) = std::env::var_os("PADDLE_MNIST") else { return };
    for seed in 1..=3 {
        let Figures { softmax, perceptron, lenet } = run_with(Some(folder.clone().into()), None, seed);
        assert!(
            lenet >= 0.98 && lenet > perceptron && perceptron > softmax,
            "{lenet} {perceptron} {softmax}"
        );
    }
}

// ANCHOR: exercise_1
/// An image whose digit is one pixel further to the right.
fn moved(image: &Image<8, 8>) -> Image<8, 8> {
    let mut pixels = [[0.0; 8]; 8];
    for (to, from) in pixels.iter_mut().zip(&image.pixels) {
        to[1..].copy_from_slice(&from[..7]);
    }
    Image { pixels, label: image.label }
}

#[test]
fn convolutions_find_digits_that_have_moved() {
    let settings = Settings::parse_from([""]);
    let (softmax, lenet) = (classifier::small_softmax(), classifier::small_lenet());
    let mut parameters = Parameters::create_on(device().unwrap(), (&softmax, &lenet), 1).unwrap();
    let (training, testing) = split(digits::images(), 5);
    let parts = (training, testing.iter().map(moved).collect());
    let of_softmax = train("softmax", &softmax, 1e-2, &mut parameters, &parts, 6, &settings).unwrap();
    let of_lenet = train("lenet", &lenet, 1e-3, &mut parameters, &parts, 6, &settings).unwrap();
    assert!(of_lenet > of_softmax + 0.2, "{of_lenet} {of_softmax}");
}
// ANCHOR_END: exercise_1

// ANCHOR: exercise_2
#[network]
mod together {
    fn softmax_regression(image: _) -> _ {
        fc(image, 10)
    }

    fn perceptron(image: _) -> _ {
        let first = dropout(fc(image, 128, act = relu), 0.2);
        let second = dropout(fc(first, 64, act = relu), 0.2);
        fc(second, 10)
    }

    /// The mean of the probabilities of two networks that were trained each by itself.
    pub fn probabilities(image: Tensor<f32, _, 8, 8>) -> Tensor<f32, _, 10> {
        let simple = softmax(softmax_regression(image, param = "small_softmax"));
        let deep = softmax(perceptron(image, param = "small_perceptron"));
        (simple + deep) / 2.0
    }
}

#[test]
fn networks_that_answer_together() {
    let settings = Settings::parse_from([""]);
    let (softmax, perceptron) = (classifier::small_softmax(), classifier::small_perceptron());
    let both = together::probabilities();
    // One set of parameters: those of the third network are those of the two others.
    let networks = (&softmax, &perceptron, &both);
    let mut parameters = Parameters::create_on(device().unwrap(), networks, 1).unwrap();
    assert_eq!(parameters.len(), 2 + 6);
    let parts = split(digits::images(), 5);
    train("softmax", &softmax, 1e-2, &mut parameters, &parts, 5, &settings).unwrap();
    train("perceptron", &perceptron, 1e-3, &mut parameters, &parts, 5, &settings).unwrap();
    let images: Vec<_> = parts.1.iter().map(|image| image.pixels).collect();
    let answers = paddle::infer(&both, &parameters, &images).unwrap();
    let answers = answers.at::<f32>(0).unwrap();
    let right = parts.1.iter().enumerate().filter(|(row, image)| {
        let of = |digit: usize| answers[[*row, digit]];
        (0..10).all(|digit| of(digit) <= of(image.label as usize))
    });
    assert!(right.count() as f64 > 0.9 * parts.1.len() as f64);
}
// ANCHOR_END: exercise_2
