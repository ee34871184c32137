//! Beam search: a step of it beside PaddlePaddle's operator, whole ones beside a search by hand.

use paddle::{Batch, Parameters, infer, network};

/// Of three words, of which the first ends a text.
#[test]
fn a_step() {
    let net = network!(|words: Tensor<i64, _, 2>, scores: Tensor<f32, _, 2>, next: Tensor<f32, _, 2, 3>| {
        beam_search(words, scores, next, 2, 0)
    });
    let rows = [
        // The best of both, best first.
        ([1, 2], [-1.0, -2.0], [[-9.0, -3.0, -8.0], [-7.0, -9.0, -0.5]]),
        // Of equal ones, the first: of the first text, then of the first word.
        ([1, 2], [-1.0, -1.0], [[-3.0, -2.0, -2.0], [-2.0, -2.0, -2.0]]),
        // A text that has ended goes on as it is, whatever is said to follow.
        ([0, 2], [-1.0, -2.0], [[-0.1, -0.1, -0.1], [-7.0, -0.25, -8.0]]),
        ([0, 0], [-3.0, -2.0], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
    ];
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), rows).unwrap();
    let ids = |k: usize| outputs.at::<i64>(k).unwrap().iter().copied().collect::<Vec<_>>();
    assert_eq!(ids(0), [1, 0, 0, 0, 0, 1, 1, 0]);
    assert_eq!(ids(1), [2, 1, 1, 2, 0, 1, 0, 0]);
    let scores: Vec<f32> = outputs.at::<f32>(2).unwrap().iter().copied().collect();
    assert_eq!(scores, [-2.5, -4.0, -3.0, -3.0, -1.0, -2.25, -2.0, -3.0]);
}

/// What the operator `beam_search` keeps, which has the texts in the order of those that they go on from, and not best first, and
/// leaves out a row whose texts have ended.
#[test]
fn a_step_keeps_what_that_of_paddlepaddle_keeps() {
    let net = network!(|words: Tensor<i64, _, 2>, scores: Tensor<f32, _, 2>, next: Tensor<f32, _, 2, 4>| {
        beam_search(words, scores, next, 2, 0)
    });
    let rows = [
        ([1, 2], [-1.0, -1.5], [[-2.25, -2.875, -1.125, -2.0], [-3.625, -3.625, -0.5, -0.875]]),
        ([0, 3], [-0.75, -1.25], [[-0.25, -1.75, -0.125, -1.875], [-2.625, -1.125, -2.75, -2.375]]),
        ([0, 0], [-2.0, -3.0], [[-0.125, -2.25, -1.0, -1.625], [-1.125, -2.75, -1.75, -0.625]]),
    ];
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), rows).unwrap();
    let ids = |k: usize| outputs.at::<i64>(k).unwrap().iter().copied().collect::<Vec<_>>();
    assert_eq!(ids(0), [1, 0, 0, 1, 0, 1]);
    assert_eq!(ids(1), [2, 2, 0, 1, 0, 0]);
    let scores: Vec<f32> = outputs.at::<f32>(2).unwrap().iter().copied().collect();
    assert_eq!(scores, [-2.0, -2.125, -0.75, -2.375, -2.0, -3.0]);
}

/// How probable each word is behind another: the first ends a text.
const NEXT: [[f32; 4]; 4] = [
    [-1.0, -2.0, -1.5, -0.5],
    [-3.0, -0.25, -1.0, -1.0],
    [-1.25, -1.5, -1.5, -0.75],
    [-0.5, -1.5, -1.0, -2.0],
];

/// The texts of a search, best first, with their scores, and how many steps it takes behind the first.
fn searched(start: usize, beam: usize, longest: usize) -> (Vec<(f32, Vec<i64>)>, u64) {
    let mut texts = vec![(0.0, vec![start as i64])];
    let mut steps = 0;
    loop {
        let mut all = Vec::new();
        for (score, text) in &texts {
            let last = text[text.len() - 1] as usize;
            let candidates = match last {
                0 if text.len() > 1 => vec![(*score, 0)],
                _ => (0..4).map(|word| (score + NEXT[last][word], word as i64)).collect(),
            };
            all.extend(candidates.into_iter().map(|(score, word)| (score, [&text[..], &[word]].concat())));
        }
        // Stable: of equal ones, the first.
        all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        all.truncate(beam);
        texts = all;
        if texts.iter().all(|(_, text)| text.ends_with(&[0])) || texts[0].1.len() > longest {
            return (texts, steps);
        }
        steps += 1;
    }
}

macro_rules! search {
    ($beam:literal) => {
        #[test]
        fn texts_and_steps_are_those_of_a_search_by_hand() {
            let net = network!(|start: Tensor<i64, _>, next: Tensor<f32, 4, 4>| {
                const BEAM: usize = $beam;
                let (mut scores, mut words) = top_k(matmul(one_hot(start, 4), next), BEAM);
                let mut texts = pad(unsqueeze(words, 2), [0, 0, 5, 0]);
                let mut length = 1;
                while !all(words == 0, axis = 1) && length < 6 {
                    let probable = matmul(one_hot(words, 4), next);
                    let (parents, said, best) = beam_search(words, scores, probable, BEAM, 0);
                    texts = concat([slice(gather(texts, parents), 2, 1, 6), unsqueeze(said, 2)], axis = 2);
                    (words, scores) = (said, best);
                    length += 1;
                }
                (texts, scores)
            });
            let mut batch = Batch::new(&net).unwrap();
            batch.set("start", &ndarray::arr1(&[3_i64, 1, 2, 0, 1])).unwrap();
            batch.set("next", &ndarray::arr2(&NEXT)).unwrap();
            let outputs = infer(&net, &Parameters::create(&net).unwrap(), batch).unwrap();
            let (texts, scores) = (outputs.at::<i64>(0).unwrap(), outputs.at::<f32>(1).unwrap());
            let mut rows = 0;
            for (at, start) in [3, 1, 2, 0, 1].into_iter().enumerate() {
                let (expected, steps) = searched(start, $beam, 6);
                rows += steps;
                for (k, (score, text)) in expected.iter().enumerate() {
                    assert_eq!(scores[[at, k]], *score, "of {start}");
                    let found: Vec<i64> = (0..6).map(|place| texts[[at, k, place]]).collect();
                    let begun = found.iter().position(|word| *word != 0).unwrap_or(6);
                    let ended = text[1..].iter().position(|word| *word == 0).unwrap_or(text.len() - 1);
                    let kept = &found[begun..];
                    assert!(kept.starts_with(&text[1..=ended]), "of {start}: {found:?}, not {text:?}");
                    assert!(
                        kept[ended..].iter().all(|word| *word == 0),
                        "of {start}: {found:?}, not {text:?}"
                    );
                }
            }
            // A row leaves when all its texts have ended.
            let products: Vec<u64> = outputs.stats().products().iter().map(|product| product.rows).collect();
            assert_eq!(products, [5, rows]);
        }
    };
}

mod greedy {
    use super::*;
    search!(1);
}

mod two_beams {
    use super::*;
    search!(2);
}

mod four_beams {
    use super::*;
    search!(4);
}
