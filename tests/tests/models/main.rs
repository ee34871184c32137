//! Valid models of many kinds: each file compiles without an error or a warning, its networks hold what a program
//! promises, and they run and train alike on both backends.

use std::collections::BTreeSet;
use std::path::Path;

use paddle::core::convert::{self, decode_program, from_wire, load_to_train, to_wire};
use paddle::core::text;

use model::Model;

#[cfg(any(feature = "cuda", feature = "wgpu"))]
#[path = "../../../paddle-kernels/tests/support/card.rs"]
mod card;
#[path = "../oracle/models.rs"]
mod exported;
#[path = "../oracle/in_onnx.rs"]
mod in_onnx;
mod model;
#[path = "../oracle/onnx.rs"]
mod onnx;
#[expect(dead_code, reason = "the oracle asks one interpreter alone")]
#[path = "../oracle/process.rs"]
mod process;
#[path = "../../../paddle-kernels/tests/support/queued.rs"]
mod queued;
#[path = "../support/mod.rs"]
mod support;
#[path = "../oracle/through_onnx.rs"]
mod through_onnx;

/// The cards that there are.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn cards() -> impl Iterator<Item = &'static paddle::Device> {
    ["cuda", "wgpu"].into_iter().filter_map(card::of)
}

/// A network of a file.
fn model<S: paddle::Spec>(network: paddle::Network<S>) -> Model {
    Model::new(network)
}

/// The files of models. Each has a function `networks`.
macro_rules! models {
    ($($name:ident)*) => {
        $(mod $name;)*

        const MODELS: &[(&str, fn() -> Vec<Model>)] = &[$((stringify!($name), $name::networks)),*];
    };
}

models! {
    arrays_in_blocks
    adaptive_steps
    autoencoder
    bag_of_words
    batch_norm_network
    bilinear
    bisection
    captured_values
    collected
    computed_weights
    conditional_random_field
    conditions_of_scalars
    counted_votes
    decided_branches
    decision_tree
    deep_q
    deep_sets
    denoising
    distillation
    documented
    distances_and_heads
    dot_product_attention
    double_precision
    double_precision_training
    element_types
    ensemble
    factorisation_machine
    format_names
    found_and_moved
    generative_adversarial
    generic_parts
    heteroscedastic
    highway
    images_by_hand
    inception
    integers_and_truth
    label_smoothing
    language_model
    lenet
    library_of_layers
    logistic_regression
    long_short_term_memory
    loops_in_branches
    made_sequences
    masked
    match_on_constants
    matrix_factorisation
    memory_attention
    mixture_density
    mixture_of_experts
    multi_task
    multilayer_perceptron
    named_sizes
    names_of_all_kinds
    nested_sequences
    newton
    no_inputs
    normalised_by_hand
    normalised_images
    odd_loops
    options_of_parameters
    ordinal
    pairwise_ranking
    poisson
    policy_gradient
    polynomial
    power_iteration
    radial_basis
    ranking
    recurrent
    recurrent_by_hand
    recurrent_layers
    regularised_branches
    residual_images
    residual_stack
    robust_losses
    row_spaces
    rows_and_loops
    rows_of_their_own
    self_attention
    sequence_attention
    sequence_convolution
    sequence_labels
    sequence_tagger
    sequences_in_blocks
    several_labels
    shapes_of_outside_sizes
    siamese
    sizes_in_an_array
    sizes_of_instances
    sizes_of_paths
    soft_experts
    spread_and_masked
    stages
    sums_of_letters
    table_of_functions
    small_words
    table_of_losses
    tapped
    temperature
    temporal_classification
    texts
    token_decisions
    towers_of_modules
    transformer
    triplet
    tuples_and_shadowing
    two_towers
    unrolled_in_control
    upsampled
    value_iteration
    variational
    views_of_a_text
    wide_and_deep
    word_vectors
}

#[test]
fn every_file_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into()).collect();
    let listed = MODELS.iter().map(|(name, _)| name.to_string()).chain(["main", "model"].map(str::to_string));
    assert_eq!(files, listed.collect());
}

#[test]
fn programs_are_kept_by_text_and_wire() {
    for (name, networks) in MODELS {
        let networks = networks();
        assert!(!networks.is_empty(), "{name}");
        for program in networks {
            program.verify().unwrap();
            let shown = program.to_string();
            assert_eq!(text::parse(&shown).unwrap().to_string(), shown, "{name}");
            let wire = to_wire(&program);
            assert_eq!(from_wire(&wire.main, Some(&wire.startup)).unwrap().to_string(), shown, "{name}");
        }
    }
}

/// What is saved for PaddlePaddle is the same network when it is read again. What PaddlePaddle has no operators for is not saved.
#[test]
fn saved_models_are_the_same_when_they_are_loaded() {
    let (mut saved, mut all) = (0, 0);
    for (name, networks) in MODELS {
        for (k, program) in networks().iter().enumerate() {
            all += 1;
            let Ok(bytes) = convert::model(program) else { continue };
            saved += 1;
            let loaded = load_to_train(&decode_program(&bytes).unwrap());
            let loaded = loaded.unwrap_or_else(|error| panic!("{name}, network {k}: {error}"));
            // First values are in the other file.
            let expected = from_wire(&to_wire(program).main, None).unwrap();
            assert_eq!(loaded.to_string(), expected.to_string(), "{name}, network {k}");
        }
    }
    assert!(saved * 10 > all * 9, "{saved} of {all}");
}

#[test]
fn both_backends_agree() {
    for (name, networks) in MODELS {
        for (k, network) in networks().iter().enumerate() {
            for rows in [5, 1, 0] {
                network.run(rows, &format!("{name}, network {k}"));
            }
        }
    }
}

/// Models whose costs or metrics are no sums over rows, and because of which operator.
const NOT_IN_SHARDS: &[(&str, &str)] = &[
    ("adaptive_steps", "while"),
    ("counted_votes", "max"),
    ("found_and_moved", "auc"),
    ("language_model", "exp"),
    ("matrix_factorisation", "sqrt"),
    ("mixture_of_experts", "square"),
    ("normalised_by_hand", "-"),
    ("regularised_branches", "batch_norm"),
    ("row_spaces", "square"),
    ("spread_and_masked", "var"),
];

#[test]
fn shards_add_up_to_the_batch() {
    let mut refused = Vec::new();
    for &(name, networks) in MODELS {
        for (k, network) in networks().iter().enumerate().filter(|(_, network)| network.trains()) {
            let what = format!("{name}, network {k}");
            let why = [5, 2, 1].map(|rows| network.run_in_shards(rows, 3, &what));
            assert!(why.iter().all(|other| *other == why[0]), "{what}: {why:?}");
            if let [Some(why), ..] = why {
                let operator = why.split('`').rev().nth(1).unwrap_or_default().to_string();
                refused.push((name, operator));
            }
        }
    }
    refused.dedup();
    let refused: Vec<(&str, &str)> =
        refused.iter().map(|(name, operator)| (*name, operator.as_str())).collect();
    assert_eq!(refused, NOT_IN_SHARDS);
}
