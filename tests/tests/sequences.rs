//! Networks over sequences: from rows of different lengths to outputs and updates.

mod networks;

use ndarray::{Array1, Array2, array};
use paddle::core::plan::Backend;
use paddle::{Batch, Cpu, Parameters, Sgd, Trainer, infer, network};
use paddle_kernels::reference::Reference;
use ranking::cost::Row;

/// Two sequences are to mean the same.
#[paddle::attribute::network]
mod ranking {
    fn semantic(words: Seq<Tensor<f32, 4>>) -> Tensor<f32, _, 8> {
        let word = fc(words, 8, param = "word", act = tanh);
        fc(sequence_pool(word, average), 8, param = "semantic", act = tanh)
    }

    pub fn cost(a: Seq<Tensor<f32, 4>>, q: Seq<Tensor<f32, 4>>, apart: Tensor<f32, _, 1>) -> Tensor<f32> {
        let difference = semantic(a) - semantic(q);
        mean(square(difference) - apart)
    }

    pub fn vector(words: Seq<Tensor<f32, 4>>) -> Tensor<f32, _, 8> {
        semantic(words)
    }
}

fn number(i: usize) -> f32 {
    ((i * 7919 + i * i * 13) % 401) as f32 / 200.0 - 1.0
}

fn sequence(seed: usize, length: usize) -> Vec<[f32; 4]> {
    (0..length).map(|token| std::array::from_fn(|j| number(seed * 101 + token * 4 + j))).collect()
}

/// Rows with sequences of 0 to 6 tokens.
fn rows(count: usize) -> Vec<Row> {
    let row = |i: usize| Row { a: sequence(i, i * 3 % 7), q: sequence(i + 50, (i * 5 + 2) % 7), apart: 0.1 };
    (0..count).map(row).collect()
}

fn costs<B: Backend + Clone>(backend: B, batches: &[Vec<Row>]) -> Vec<f32> {
    let net = ranking::cost();
    let mut parameters = Parameters::create_on(backend, &net, 3).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.2));
    let steps = batches.iter().cycle().take(30);
    steps.map(|batch| trainer.step(&net, &mut parameters, batch).unwrap().cost()).collect()
}

#[test]
fn training_on_ragged_batches() {
    let batches = [rows(9), rows(1), rows(0), rows(23)];
    let found = costs(Cpu::with_threads(2).unwrap(), &batches);
    let expected = costs(Reference::single(), &batches);
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }
    assert!(found[27] < found[3], "the cost does not fall: {found:?}");
}

#[test]
fn a_batch_is_its_rows() {
    let net = ranking::vector();
    let parameters = Parameters::create(&net).unwrap();
    let all: Vec<_> = (0..20).map(|i| sequence(i, i * 5 % 9)).collect();
    let together = infer(&net, &parameters, &all).unwrap();
    let together = together.at::<f32>(0).unwrap();
    assert_eq!(together.shape(), [20, 8]);
    for (i, row) in all.iter().enumerate() {
        let alone = infer(&net, &parameters, [row]).unwrap();
        let alone = alone.at::<f32>(0).unwrap();
        assert!(
            alone
                .iter()
                .zip(together.rows().into_iter().nth(i).unwrap())
                .all(|(a, b)| a.to_bits() == b.to_bits())
        );
    }
}

#[test]
fn every_way_to_pool() {
    let net = network!(|x: Seq<f32>| {
        let (average, sum) = (sequence_pool(x, average), sequence_pool(x, sum));
        let (sqrt, max) = (sequence_pool(x, sqrt), sequence_pool(x, max));
        let (first, last) = (sequence_pool(x, first), sequence_pool(x, last, pad_value = -1.0));
        (average, sum, sqrt, max, first, last)
    });
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, vec![vec![1.0, 5.0, 3.0, -1.0], vec![], vec![2.0]]).unwrap();
    let expected = [
        [2.0, 0.0, 2.0],
        [8.0, 0.0, 2.0],
        [4.0, 0.0, 2.0],
        [5.0, 0.0, 2.0],
        [1.0, 0.0, 2.0],
        [-1.0, -1.0, 2.0],
    ];
    for (k, expected) in expected.iter().enumerate() {
        assert_eq!(outputs.at::<f32>(k).unwrap().as_slice().unwrap(), expected, "output {k}");
        assert_eq!(outputs.offsets(k), None);
    }
}

#[test]
fn a_branch_for_each_token() {
    let net = network!(|x: Seq<f32>, y: Tensor<f32, _>| {
        let h = if x > 0.0 { x * 2.0 } else { x * 0.5 };
        (h, sequence_pool(h, sum) + y)
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows: [(Vec<f32>, [f32; 1]); 3] = [(vec![1.0, -2.0], [10.0]), (vec![], [20.0]), (vec![-4.0], [30.0])];
    let outputs = infer(&net, &parameters, rows.map(|(x, [y])| (x, y))).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().as_slice().unwrap(), [2.0, -1.0, -2.0]);
    assert_eq!(outputs.offsets(0), Some(&[0, 2, 2, 3][..]));
    assert_eq!(outputs.at::<f32>(1).unwrap().as_slice().unwrap(), [11.0, 20.0, 28.0]);
}

#[test]
fn arrays_with_offsets() {
    let net = ranking::vector();
    let parameters = Parameters::create(&net).unwrap();
    let rows = [sequence(1, 3), sequence(2, 0), sequence(3, 2)];
    let tokens: Vec<[f32; 4]> = rows.concat();
    let tokens = Array2::from(tokens);
    let mut batch = Batch::new(&net).unwrap();
    batch.set_sequences("words", &tokens, &[0, 3, 3, 5]).unwrap();
    assert_eq!(batch.rows(), Ok(3));
    let (found, expected) = (infer(&net, &parameters, &batch), infer(&net, &parameters, rows));
    assert_eq!(found.unwrap().at::<f32>(0).unwrap(), expected.unwrap().at::<f32>(0).unwrap());

    let mut message =
        |offsets: &[usize]| batch.set_sequences("words", &tokens, offsets).unwrap_err().to_string();
    let input = "input `words` takes Seq<Tensor<f32, 4>>: ";
    assert_eq!(
        message(&[]),
        format!("{input}offsets begin with 0, also those of no sequences, but there are none")
    );
    assert_eq!(message(&[1, 5]), format!("{input}offsets begin with 0, not with 1"));
    assert_eq!(message(&[0, 4, 3, 5]), format!("{input}offsets never fall, but number 2 is 3 behind 4"));
    assert_eq!(
        message(&[0, 3]),
        format!("{input}offsets end with the number of tokens, which is 5, but these with 3")
    );
    assert_eq!(
        batch.set("words", &tokens).unwrap_err().to_string(),
        format!("{input}sequences are fed with offsets: where each begins, and the number of tokens")
    );
    let error = batch.set_sequences("words", &Array2::<f32>::zeros((5, 3)), &[0, 5]).unwrap_err();
    assert_eq!(error.to_string(), "input `words`: found [5, 3], expected Seq<Tensor<f32, 4>>");
    // A failed `set` leaves nothing behind.
    assert!(batch.rows().is_err());
}

#[test]
fn arrays_that_disagree() {
    let net = ranking::cost();
    let mut batch = Batch::new(&net).unwrap();
    let tokens = Array2::<f32>::zeros((5, 4));
    batch.set_sequences("a", &tokens, &[0, 3, 5]).unwrap();
    batch.set_sequences("q", &tokens, &[0, 5]).unwrap();
    batch.set("apart", &array![[0.0f32], [0.0]]).unwrap();
    assert_eq!(batch.rows().unwrap_err().to_string(), "input `q` has 1 rows, but input `a` has 2");
    let error = batch.set_sequences("apart", &Array1::<f32>::zeros(1), &[0, 1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "input `apart` takes f32[_, 1]: it takes no sequences, but offsets were fed"
    );
}

#[test]
fn rows_of_the_wrong_shape() {
    let net = networks::network::<Vec<Vec<f32>>>(
        "program { rows _ tokens _.x of _ block 0 (x: f32[_.x, 2]) { return x } }",
    );
    let message = |rows: Vec<Vec<Vec<f32>>>| net.batch(rows).unwrap_err().to_string();
    assert_eq!(
        message(vec![vec![vec![0.0; 2]; 3], vec![vec![0.0; 3]; 4]]),
        "input `x`, row 1: found [4, 3], expected the tokens of one Seq<Tensor<f32, 2>>"
    );
    let net =
        networks::network::<f32>("program { rows _ tokens _.x of _ block 0 (x: f32[_.x]) { return x } }");
    let error = net.batch([0.0f32]).unwrap_err();
    assert_eq!(error.to_string(), "input `x`, row 0: found [], expected the tokens of one Seq<f32>");
    // A size that the network leaves open is one for all tokens; an empty sequence does not say which.
    let text = "program { rows _ size T tokens _.x of _ block 0 (x: f32[_.x, T]) { return x } }";
    let net = networks::network::<Vec<Vec<f32>>>(text);
    let rows =
        |lengths: &[usize]| lengths.iter().map(|&length| vec![vec![0.0; length]; 2]).collect::<Vec<_>>();
    let mut ragged = rows(&[3, 4]);
    ragged.insert(0, Vec::new());
    assert_eq!(
        net.batch(&ragged).unwrap_err().to_string(),
        "input `x`: row 2 is [4], but row 0 is [3]; all rows of one batch have the same sizes"
    );
    ragged.pop();
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), ragged).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().shape(), [2, 3]);
    assert_eq!(outputs.offsets(0), Some(&[0, 0, 2][..]));
}

#[test]
fn attention_is_an_average_of_the_tokens() {
    let net = network!(|query: Tensor<f32, _, 2>, keys: Seq<Tensor<f32, 2>>| {
        let fits = sum(sequence_expand(query, keys) * keys, axis = 1, keep_dim = true);
        let weights = sequence_softmax(fits);
        let length = sequence_length(keys);
        (
            sequence_pool(keys * weights, sum),
            weights,
            length,
            sequence_reverse(keys),
            sequence_mask(length, 4),
        )
    });
    let rows = [
        net.row([10.0, 0.0], vec![[1.0, 1.0], [3.0, 1.0], [3.0, 5.0]]),
        net.row([0.0, 0.0], vec![]),
        net.row([0.0, 0.0], vec![[1.0, 2.0], [3.0, 4.0]]),
    ];
    let found = infer(&net, &Parameters::create(&net).unwrap(), rows).unwrap();
    let average = found.at::<f32>(0).unwrap().into_dimensionality::<ndarray::Ix2>().unwrap().to_owned();
    let expected = array![[3.0, 3.0], [0.0, 0.0], [2.0, 3.0]];
    assert!((average - expected).iter().all(|difference: &f32| difference.abs() < 1e-5));
    assert_eq!(found.at::<f32>(1).unwrap().sum(), 2.0);
    assert_eq!(found.at::<i64>(2).unwrap().as_slice().unwrap(), [3, 0, 2]);
    let reversed = found.at::<f32>(3).unwrap();
    assert_eq!(reversed.as_slice().unwrap(), [3.0, 5.0, 3.0, 1.0, 1.0, 1.0, 3.0, 4.0, 1.0, 2.0]);
    let mask = found.at::<bool>(4).unwrap();
    assert_eq!(
        mask.as_slice()
            .unwrap()
            .chunks(4)
            .map(|row| row.iter().filter(|is| **is).count())
            .collect::<Vec<_>>(),
        [3, 0, 2]
    );
    assert!(mask[[0, 2]] && !mask[[0, 3]] && mask[[2, 0]]);
}

/// Two inputs whose sequences are to be of the same lengths: where they are not, the error names the sequence.
#[test]
fn tokens_of_two_inputs_belong_together() {
    let net = network!(|words: Seq<f32>, marks: Seq<f32>| words * sequence_align(marks, words));
    let parameters = Parameters::create(&net).unwrap();
    let rows = [net.row(vec![1.0, 2.0], vec![3.0, 4.0]), net.row(vec![5.0], vec![6.0])];
    let found = infer(&net, &parameters, rows).unwrap();
    assert_eq!(found.at::<f32>(0).unwrap().as_slice().unwrap(), [3.0, 8.0, 30.0]);
    let rows = [
        net.row(vec![1.0], vec![1.0]),
        net.row(vec![5.0], vec![6.0, 7.0]),
        net.row(vec![5.0, 1.0], vec![6.0]),
    ];
    let error = infer(&net, &parameters, rows).unwrap_err().to_string();
    let expected =
        "sequence 1 has 2 tokens, but the one that it belongs to 1 token; both have to be of the same length";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("tests/sequences.rs"), "{error}");
}

/// Two labels of which the second never follows itself; the numbers are by hand.
#[test]
fn labels_of_a_random_field() {
    let net = network!(|x: Seq<Tensor<f32, 2>>, tags: Seq<i64>| {
        (linear_chain_crf(x, tags, param = "tags"), crf_decoding(x, param = "tags"))
    });
    let mut parameters = Parameters::create(&net).unwrap();
    // Start, stop, and from each label to each.
    let w = array![[0.0_f32, 1.0], [0.0, 0.5], [0.0, 0.0], [0.0, f32::NEG_INFINITY]];
    parameters.set(net.params.tags.w, &w).unwrap();
    let rows = [
        net.row(vec![[1.0, 2.0], [0.0, 3.0]], vec![1, 0]),
        net.row(vec![], vec![]),
        net.row(vec![[0.0, 0.0]; 3], vec![0, 0, 0]),
    ];
    let found = infer(&net, &parameters, rows).unwrap();
    let costs = found.at::<f32>(0).unwrap();
    // Scores of two tokens: 0 0: 1, 0 1: 4.5, 1 0: 3. Of three: 000: 0, 001: 0.5, 010: 0, 100: 1, 101: 1.5.
    let sum = |scores: &[f32]| scores.iter().map(|score| score.exp()).sum::<f32>().ln();
    let expected = [sum(&[1.0, 4.5, 3.0]) - 3.0, 0.0, sum(&[0.0, 0.5, 0.0, 1.0, 1.5])];
    for (cost, expected) in costs.iter().zip(expected) {
        assert!((cost - expected).abs() < 1e-5, "{cost} is not {expected}");
    }
    assert_eq!(found.at::<i64>(1).unwrap().as_slice().unwrap(), [0, 1, 1, 0, 1]);

    let error = |tags| {
        let rows = [net.row(vec![[0.0; 2]; 2], tags)];
        infer(&net, &parameters, rows).unwrap_err().to_string()
    };
    assert!(error(vec![1]).contains("sequence 0 has 2 tokens, but the one that it belongs to 1 token"));
    assert!(error(vec![1, 2]).contains("the class id of row 1 is 2, but there are 2 classes"));
}

/// Names and places in two texts, tagged in two schemes; the numbers are by hand.
#[test]
fn chunks_and_edits() {
    let net = network!(|found: Seq<i64>, right: Seq<i64>| {
        let all = chunk_eval(found, right, 2);
        let places = chunk_eval(found, right, 2, excluded = [0]);
        let single = chunk_eval(found, right, 1, scheme = iobes);
        (all, places, single, edit_distance(found, right))
    });
    // Begin and inside of a name, of a place, and outside.
    let rows = [
        net.row(vec![0, 1, 4, 2, 3], vec![0, 1, 4, 2, 2]),
        net.row(vec![], vec![]),
        net.row(vec![2, 0], vec![2, 1]),
    ];
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), rows).unwrap();
    let counts = |at: usize| outputs.at::<i64>(at).unwrap().iter().copied().collect::<Vec<i64>>();
    // A name behind a place begins, although its tag says that it goes on.
    assert_eq!(counts(0), [4, 5, 3]);
    assert_eq!(counts(1), [2, 3, 1]);
    // Begin, inside, end, single and outside: a chunk is over behind an end, whatever follows.
    assert_eq!(counts(2), [5, 5, 5]);
    assert_eq!(outputs.at::<f32>(3).unwrap().as_slice().unwrap(), [1.0, 0.0, 1.0]);
}

/// All ways in which four tokens read as labels, one by one.
#[test]
fn temporal_classification_is_over_all_ways() {
    let net = network!(|x: Seq<Tensor<f32, 3>>, text: Seq<i64>| warpctc(x, text));
    let parameters = Parameters::create(&net).unwrap();
    let x: Vec<[f32; 3]> = (0..4).map(|t| std::array::from_fn(|k| number(t * 3 + k))).collect();
    let softmax = |t: usize, k: usize| x[t][k].exp() / x[t].iter().map(|x| x.exp()).sum::<f32>();
    let read = |way: &[usize; 4]| {
        let mut text: Vec<i64> = Vec::new();
        for (t, &k) in way.iter().enumerate() {
            if k != 0 && (t == 0 || way[t - 1] != k) {
                text.push(k as i64);
            }
        }
        text
    };
    let texts = [vec![], vec![1], vec![1, 2], vec![2, 2], vec![1, 2, 1], vec![2, 1, 2, 1]];
    let rows = texts.clone().map(|text| net.row(x.clone(), text));
    let found = infer(&net, &parameters, rows).unwrap();
    for (loss, text) in found.at::<f32>(0).unwrap().iter().zip(texts) {
        let ways = (0..81).map(|way| std::array::from_fn(|t| way / 3usize.pow(t as u32) % 3));
        let ways = ways.filter(|way| read(way) == text);
        let total: f32 = ways.map(|way| (0..4).map(|t| softmax(t, way[t])).product::<f32>()).sum();
        assert!((loss + total.ln()).abs() < 1e-5, "{text:?}: {loss}, not {}", -total.ln());
    }
    // Five tokens would be needed.
    let found = infer(&net, &parameters, [net.row(x.clone(), vec![1, 1, 1])]).unwrap();
    assert_eq!(found.at::<f32>(0).unwrap().sum(), 0.0);
    let error = infer(&net, &parameters, [net.row(x, vec![1, 0])]).unwrap_err().to_string();
    assert!(error.contains("the class id of row 1 is 0, which is the blank"), "{error}");
}

/// The loss is the same, the step a fourth for four tokens.
#[test]
fn gradients_by_times() {
    macro_rules! step {
        ($net:expr) => {{
            let net = $net;
            let mut parameters = Parameters::create(&net).unwrap();
            let w = array![[0.5_f32, -0.5, 0.1], [0.2, 0.3, -0.4]];
            parameters.set(net.params.w.w, &w).unwrap();
            let rows = [net.row(vec![[0.5, 1.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], vec![1])];
            let cost = Trainer::new(Sgd::new(1.0)).step(&net, &mut parameters, &rows).unwrap().cost();
            (cost, parameters.get::<f32>(net.params.w.w).unwrap().to_owned() - &w.into_dyn())
        }};
    }
    let (cost, moved) = step!(network!(|x: Seq<Tensor<f32, 2>>, text: Seq<i64>| {
        mean(warpctc(fc(x, 3, bias = false, param = "w"), text))
    }));
    let (same, less) = step!(network!(|x: Seq<Tensor<f32, 2>>, text: Seq<i64>| {
        mean(warpctc(fc(x, 3, bias = false, param = "w"), text, norm_by_times = true))
    }));
    assert!((cost - same).abs() < 1e-6 && cost > 0.1, "{cost}, {same}");
    assert!(moved.iter().any(|x| x.abs() > 0.01), "{moved}");
    assert!(moved.iter().zip(&less).all(|(x, y)| (x / 4.0 - y).abs() < 1e-6), "{moved} {less}");
}
