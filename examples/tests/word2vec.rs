//! What a user would test of the model of `word2vec`, and of what it is compared with.

use std::collections::BTreeSet;

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

#[test]
fn a_small_model() {
    let net = glosses::cost::with(glosses::cost::Sizes { WORDS: 30, WIDTH: 6 }).unwrap();
    let read = glosses::read::with(glosses::read::Sizes { WORDS: 30, WIDTH: 6 }).unwrap();
    let drawn: [i64; 20] = std::array::from_fn(|k| 10 + k as i64);
    // Glosses of any length, that of one word included.
    let rows = [(0, vec![1, 2, 3]), (4, vec![3, 2]), (5, vec![6])];
    let row = |(word, gloss): (i64, Vec<i64>)| {
        let matters = vec![0.5; gloss.len()];
        net.row(word, gloss, matters, drawn)
    };
    let rows = rows.map(row);
    assert_learns(&net, &rows);
    check_gradients(&net, &rows).unwrap();
    assert_program(&net, "examples/golden/word2vec_cost.txt");
    assert_program(&read, "examples/golden/word2vec_read.txt");
}

fn run_with(seed: u64, passes: usize, glosses: usize, width: usize) -> Figures {
    let results = std::env::temp_dir().join(format!("paddle-words-{seed}-{glosses}-{}", std::process::id()));
    let figures = run(&Settings { seed, passes, glosses, width, results: results.clone() }).unwrap();
    assert!(std::fs::read_to_string(results.join("says.svg")).unwrap().starts_with("<svg"));
    std::fs::remove_dir_all(results).unwrap();
    figures
}

#[test]
fn a_few_glosses_teach_something() {
    let Figures { network, counts, .. } = run_with(1, 8, 4_000, 16);
    assert!(network.relatedness > 0.55 && counts.relatedness > 0.6, "{network:?} {counts:?}");
}

#[test]
#[ignore = "takes some ten minutes, in release"]
fn all_seeds_are_better_than_counts_in_full() {
    for seed in 1..=3 {
        let Figures { network, counts, .. } = run_with(seed, 12, usize::MAX, 200);
        let better = network.nearest > counts.nearest + 0.1 && network.relatedness > counts.relatedness;
        assert!(better, "seed {seed}: {network:?} {counts:?}");
    }
}

/// Glosses lose words that are rare, and nothing else; relations go both ways.
#[test]
fn a_corpus_has_glosses_and_relations() {
    let corpus = Corpus::of(usize::MAX);
    let number = |word: &str| corpus.words.iter().position(|known| known == word).unwrap();
    let text =
        |ids: &[i64]| ids.iter().map(|&id| corpus.words[id as usize].as_str()).collect::<Vec<_>>().join(" ");
    let whale = corpus.entries.iter().find(|entry| text(&entry.name) == "whale").unwrap();
    assert!(text(&whale.gloss).contains("larger mammals"), "{}", text(&whale.gloss));
    assert!(corpus.related[&number("poet")].contains(&number("writer")));
    assert!(corpus.related[&number("writer")].contains(&number("poet")));
    let [chosen_by, held_out] = corpus.parts();
    let parts: BTreeSet<_> = chosen_by.iter().chain(&held_out).collect();
    assert!(
        parts.len() == chosen_by.len() + held_out.len()
            && parts.iter().eq(corpus.related.keys().collect::<Vec<_>>().iter())
    );
    // What is frequent counts for less.
    assert!(corpus.matters[number("the")] < 0.2 && corpus.matters[number("mammals")] == 1.0);
}

/// Vectors that know the relations are judged best, and such that know nothing like chance.
#[test]
fn judges_know_good_vectors() {
    let corpus = Corpus::of(2_000);
    let words: Vec<_> = corpus.related.keys().copied().collect();
    let count = corpus.words.len();
    let mut related = Array2::<f32>::eye(count);
    for (&word, others) in &corpus.related {
        others.iter().for_each(|&other| related[[word, other]] = 0.5);
    }
    let good = judge(&related, &corpus, &words);
    assert!(good.nearest > 0.9 && good.relatedness > 0.9, "{good:?}");
    let equal = judge(&Array2::ones((count, 3)), &corpus, &words);
    assert_eq!(equal.relatedness, 0.5);
    let mut random = paddle::reader::Random::new(1);
    let chance = judge(&Array2::from_shape_fn((count, 30), |_| random.normal()), &corpus, &words);
    assert!((0.4..0.6).contains(&chance.relatedness) && chance.nearest < 0.3, "{chance:?}");
}

// ANCHOR: exercise_1
/// The words that are nearest to the sum of two words' vectors, other than these two.
fn between<'c>(vectors: &Array2<f32>, corpus: &'c Corpus, [a, b]: [usize; 2], count: usize) -> Vec<&'c str> {
    let vectors = normalized(vectors.clone());
    let sum = &vectors.row(a) + &vectors.row(b);
    let cosines = vectors.dot(&sum);
    let mut others: Vec<usize> = (0..corpus.words.len()).filter(|&word| word != a && word != b).collect();
    others.sort_by(|&a, &b| cosines[b].total_cmp(&cosines[a]));
    others.into_iter().take(count).map(|word| corpus.words[word].as_str()).collect()
}

#[test]
fn a_word_between_two_others() {
    let corpus = Corpus::of(2_000);
    let mut vectors = Array2::<f32>::eye(corpus.words.len());
    // Word 2 is half word 0, half word 1.
    vectors[[2, 0]] = 1.0;
    vectors[[2, 1]] = 1.0;
    assert_eq!(between(&vectors, &corpus, [0, 1], 1), [corpus.words[2].as_str()]);
}
// ANCHOR_END: exercise_1

// ANCHOR: exercise_2
#[test]
fn a_step_changes_what_its_batch_mentions() {
    let net = glosses::cost::with(glosses::cost::Sizes { WORDS: 30, WIDTH: 6 }).unwrap();
    let mut parameters = Parameters::create_with_seed(&net, 1).unwrap();
    let table = |parameters: &Parameters| parameters.get::<f32>("words.w").unwrap();
    let before = table(&parameters);
    let drawn: [i64; 20] = std::array::from_fn(|k| 10 + k as i64);
    let row = net.row(0, vec![1, 2, 3], vec![1.0, 1.0, 1.0], drawn);
    let trainer = Trainer::new(paddle::Sgd::new(0.1));
    { trainer }.step(&net, &mut parameters, [row]).unwrap();
    let after = table(&parameters);
    let changed = |word: usize| before.index_axis(Axis(0), word) != after.index_axis(Axis(0), word);
    assert!((0..4).all(changed) && (10..30).all(changed));
    assert!(!(4..10).any(changed));
}
// ANCHOR_END: exercise_2
