//! What a user would test of the models of `sentiment`.

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

/// Texts of any length, none at all included; that one word comes before another makes a difference.
fn small<Cost: Trainable<Row: From<(Vec<i64>, i64)> + Clone>>(net: &Network<Cost>, golden: &str) {
    let rows = [(vec![0, 1, 2], 0), (vec![2, 1, 0], 1), (vec![3], 2), (vec![], 0)].map(Cost::Row::from);
    assert_learns(net, &rows);
    assert_program(net, format!("examples/golden/{golden}.txt"));
    check_gradients(net, &rows).unwrap();
}

#[test]
fn a_small_convolution() {
    let sizes = convolution_cost::Sizes { VOCABULARY: 4, CLASSES: 3, WIDTH: 8 };
    small(&convolution_cost::with(sizes).unwrap(), "sentiment_convolution");
}

#[test]
fn a_small_lstm() {
    small(
        &lstm_cost::with(lstm_cost::Sizes { VOCABULARY: 4, CLASSES: 3, WIDTH: 8 }).unwrap(),
        "sentiment_lstm",
    );
}

#[test]
fn a_small_attention() {
    let sizes = attention_cost::Sizes { VOCABULARY: 4, CLASSES: 3, WIDTH: 8 };
    small(&attention_cost::with(sizes).unwrap(), "sentiment_attention");
}

/// Weights of the words of a text add up to one, and a text without words has none.
#[test]
fn weights_of_words() {
    let sizes = attention_class::Sizes { VOCABULARY: 4, CLASSES: 3, WIDTH: 8 };
    let net = attention_class::with(sizes).unwrap();
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, vec![vec![0, 1, 2], vec![], vec![3]]).unwrap();
    assert_eq!(outputs.offsets(1), Some(&[0, 3, 3, 4][..]));
    let looks: Vec<f32> = outputs.at::<f32>(1).unwrap().iter().copied().collect();
    assert!(
        (looks[..3].iter().sum::<f32>() - 1.0).abs() < 1e-5 && (looks[3] - 1.0).abs() < 1e-5,
        "{looks:?}"
    );
}

/// Runs for so many passes over so many glosses, and draws.
fn run_with(seed: u64, passes: usize, glosses: usize) -> Figures {
    let results = std::env::temp_dir().join(format!("paddle-sentiment-{seed}-{}", std::process::id()));
    let figures = run(&Settings { seed, passes, glosses, results: results.clone() }).unwrap();
    let drawn = fs::read_to_string(results.join("looks.svg")).unwrap();
    assert!(drawn.matches("<rect").count() > 50 && drawn.contains("noun."), "{drawn}");
    fs::remove_dir_all(results).unwrap();
    figures
}

#[test]
fn a_few_glosses_teach_something() {
    // Whoever takes all for adjectives is right in 26 of 100 cases.
    let Figures { convolution, lstm, attention, bag_of_words } = run_with(1, 6, 1000);
    assert!(
        [convolution, lstm, attention].iter().all(|right| *right > 0.28),
        "{convolution} {lstm} {attention}"
    );
    assert!((0.35..0.45).contains(&bag_of_words), "{bag_of_words}");
}

#[test]
#[ignore = "takes some ten minutes, in release"]
fn all_seeds_are_better_than_counting_words_in_full() {
    for seed in 1..=3 {
        let Figures { convolution, lstm, attention, bag_of_words } = run_with(seed, 6, 20_000);
        let least = convolution.min(lstm).min(attention);
        assert!(least >= bag_of_words + 0.07, "seed {seed}: {convolution} {lstm} {attention} {bag_of_words}");
    }
}

// ANCHOR: exercise_1
#[network]
mod unordered {
    pub fn logits(text: Seq<i64>) -> Tensor<f32, _, 44> {
        let words = embedding(text, [1000, 16]);
        let seen = words + sequence_attention(words, words, words, 4);
        fc(sequence_pool(seen, max), 44)
    }
}

#[network]
mod ordered {
    pub fn logits(text: Seq<i64>) -> Tensor<f32, _, 44> {
        let words =
            embedding(text, [1000, 16]) + embedding(sequence_positions(text), [32, 16], param = "places");
        let seen = words + sequence_attention(words, words, words, 4);
        fc(sequence_pool(seen, max), 44)
    }
}

#[test]
fn attention_alone_does_not_see_the_order() {
    /// How far the logits of a text are from those of the text with its words in another order.
    fn difference<Class: Spec<Row = Vec<i64>>>(net: &Network<Class>) -> f32 {
        let parameters = Parameters::create(net).unwrap();
        // "a dog that bites a man", "a man that bites a dog".
        let outputs = infer(net, &parameters, vec![vec![0, 1, 2, 3, 0, 4], vec![0, 4, 2, 3, 0, 1]]).unwrap();
        let logits = outputs.at::<f32>(0).unwrap();
        let pairs = logits.iter().take(44).zip(logits.iter().skip(44));
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }
    assert!(difference(&unordered::logits()) < 1e-5);
    assert!(difference(&ordered::logits()) > 1e-2);
}
// ANCHOR_END: exercise_1

// ANCHOR: exercise_2
#[network]
mod memory {
    pub fn layer(x: Seq<Tensor<f32, 8>>) -> Seq<Tensor<f32, 16>> {
        lstm(x, 16, param = "read")
    }

    pub fn by_hand(x: Seq<Tensor<f32, 8>>) -> Seq<Tensor<f32, 16>> {
        let (mut h, mut c) = (zeros(16), zeros(16));
        for x in x {
            let (g, i, f, o) = split(fc([x, h], 4 * 16, param = "read.unit.gates"), 4);
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = sigmoid(o) * tanh(c);
            h
        }
    }
}

#[test]
fn an_lstm_by_hand_is_the_layer() {
    let (layer, by_hand) = (memory::layer(), memory::by_hand());
    let parameters = Parameters::create((&layer, &by_hand)).unwrap();
    let rows = vec![vec![[0.5; 8], [-1.0; 8], [2.0; 8]], vec![], vec![[1.0; 8]]];
    let expected = infer(&layer, &parameters, rows.clone()).unwrap();
    let found = infer(&by_hand, &parameters, rows).unwrap();
    assert_eq!(found.offsets(0), Some(&[0, 3, 3, 4][..]));
    let (expected, found) = (expected.at::<f32>(0).unwrap(), found.at::<f32>(0).unwrap());
    assert!(expected.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-6));
    assert!(expected.iter().any(|x| x.abs() > 0.05));
}
// ANCHOR_END: exercise_2
