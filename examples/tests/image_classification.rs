//! What a user would test of the models of `image_classification`.

use std::fs;

use paddle::testing::{assert_learns, assert_program};

use super::*;

/// Pictures as rows, one of each class.
fn one_of_each() -> Vec<(Pixels, i64)> {
    let (learned, _, _) = pictures::parts();
    let of = |class| learned.iter().find(|picture| picture.label == class).expect("there are all classes");
    (0..10).map(of).map(|picture| (picture.pixels, picture.label)).collect()
}

#[test]
fn the_networks_learn_ten_pictures() {
    let rows = one_of_each();
    assert_learns(
        &classifier::vgg_cost(),
        rows.iter().map(|&row| classifier::vgg_cost::Row::from(row)).collect::<Vec<_>>(),
    );
    assert_learns(
        &classifier::resnet_cost(),
        rows.iter().map(|&row| classifier::resnet_cost::Row::from(row)).collect::<Vec<_>>(),
    );
}

#[test]
fn their_programs_are_those_that_were_reviewed() {
    assert_program(&classifier::vgg_cost(), "examples/golden/image_classification_vgg.txt");
    assert_program(&classifier::resnet_class(), "examples/golden/image_classification_resnet.txt");
}

/// Trains for so many passes; a name for the folder of the results.
fn run_with(name: &str, folder: Option<PathBuf>, seed: u64, passes: usize, pictures: usize) -> Figures {
    let results = std::env::temp_dir().join(format!("paddle-{name}-{seed}-{}", std::process::id()));
    let figures = run(&Settings { folder, seed, passes, pictures, results: results.clone() }).unwrap();
    for file in ["vgg.svg", "vgg.png", "resnet_plain.png"] {
        assert!(fs::metadata(results.join(file)).unwrap().len() > 0);
    }
    fs::remove_dir_all(results).unwrap();
    figures
}

#[test]
fn two_passes_teach_something() {
    let Figures { linear, vgg, resnet } = run_with("few", None, 1, 2, 200);
    assert!((0.25..0.5).contains(&linear), "{linear}");
    assert!(vgg.iter().chain(&resnet).all(|accuracy| (0.05..0.6).contains(accuracy)), "{vgg:?} {resnet:?}");
}

/// Ten pictures as CIFAR-10's files, of which each file has all.
#[test]
fn a_folder_of_cifar() {
    let folder = std::env::temp_dir().join(format!("paddle-ten-pictures-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let bytes = one_of_each().into_iter().flat_map(|(pixels, label)| {
        let pixels = pixels.as_flattened().as_flattened().to_vec();
        std::iter::once(label as u8).chain(pixels.into_iter().map(|x| (255.0 * x) as u8))
    });
    let bytes: Vec<_> = bytes.collect();
    (1..=5).for_each(|part| fs::write(folder.join(format!("data_batch_{part}.bin")), &bytes).unwrap());
    fs::write(folder.join("test_batch.bin"), &bytes).unwrap();
    let Figures { linear, .. } = run_with("cifar", Some(folder.clone()), 1, 1, usize::MAX);
    assert_eq!(linear, 1.0);
    fs::remove_file(folder.join("data_batch_5.bin")).unwrap();
    let error = data(Some(&folder)).err().expect("a file is missing");
    assert!(error.to_string().contains("data_batch_5.bin"), "{error}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "takes some ten minutes, in release"]
fn all_seeds_are_better_than_the_linear_model_in_full() {
    for seed in 1..=3 {
        let Figures { linear, vgg, resnet } = run_with("full", None, seed, 40, usize::MAX);
        assert!(
            vgg[1] >= linear + 0.15 && resnet[1] >= linear + 0.15,
            "seed {seed}: {linear} {vgg:?} {resnet:?}"
        );
    }
}

// ANCHOR: exercise_1
/// A sign that is flipped is another sign.
fn changed_but_signs((picture, mut random): (&Picture, Random)) -> (Pixels, i64) {
    let mut pixels = picture.pixels;
    let is_sign = pictures::CLASSES[picture.label as usize] == "sign";
    if !is_sign && random.chance(0.5) {
        augment::flip(&mut pixels);
    }
    augment::shift(&mut pixels, random.between(-2, 2), 0, 1.0);
    (pixels, picture.label)
}

#[test]
fn signs_are_not_flipped() {
    // How many of 100 changes bring a spot from the left to the right.
    let flips = |class: &str| {
        let label = pictures::CLASSES.iter().position(|name| *name == class).unwrap();
        let mut picture = Picture { pixels: [[[1.0; 32]; 32]; 3], label: label as i64 };
        picture.pixels[0][16][4] = 0.0;
        let is_right = |seed: &u64| {
            let (pixels, _) = changed_but_signs((&picture, Random::new(*seed)));
            pixels[0].iter().any(|row| row[16..].contains(&0.0))
        };
        (0..100).filter(is_right).count()
    };
    assert_eq!(flips("sign"), 0);
    assert!((30..70).contains(&flips("animal")));
}
// ANCHOR_END: exercise_1

// ANCHOR: exercise_2
#[network]
mod deeper {
    fn layer(x: _, width: usize, #[default = 3] size: usize, #[default = 1] stride: usize) -> _ {
        let filtered =
            conv2d(x, width, size, stride = stride, padding = same, bias = false, param = ".filters");
        batch_norm(filtered, param = ".norm")
    }

    fn block(x: _, width: usize, stride: usize) -> _ {
        let first = relu(layer(x, width, stride = stride, param = ".first"));
        let second = layer(first, width, param = ".second");
        let around =
            if stride == 1 { x } else { layer(x, width, size = 1, stride = stride, param = ".around") };
        relu(second + around)
    }

    /// A stage of any number of blocks.
    fn stage(x: _, width: usize, blocks: usize) -> _ {
        let mut x = x;
        for k in 0..blocks {
            x = block(x, width, if k == 0 { 2 } else { 1 }, param = ".block{k}");
        }
        x
    }

    pub fn cost(image: Tensor<f32, _, 3, 32, 32>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let mut x = relu(layer(image, 8, param = "eyes"));
        for (k, (width, blocks)) in [(8, 2), (16, 3), (32, 4)].enumerate() {
            x = stage(x, width, blocks, param = "stage{k}");
        }
        mean(softmax_with_cross_entropy(fc(global_pool2d(x, kind = avg), 10), label))
    }
}

#[test]
fn stages_of_two_three_and_four_blocks() {
    let net = deeper::cost();
    let program = net.program().unwrap();
    let filters = program.parameters().filter(|&id| program.var(id).name.ends_with(".filters.w"));
    // The first layer, two of each of the nine blocks, and a way around in each stage.
    assert_eq!(filters.count(), 1 + 2 * 9 + 3);
    assert!(program.find("stage2.block3.second.filters.w").is_some());
}
// ANCHOR_END: exercise_2
