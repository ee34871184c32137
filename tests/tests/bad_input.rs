//! Data that do not fit, in the middle of a training: a typed error that says what was found, what is expected and where, and
//! parameters, with what the updater keeps of them, as the last good batch left them.

use std::cell::RefCell;
use std::path::Path;

use ndarray::Array2;
use paddle::attribute::network;
use paddle::reader::{DataSet, IntoItem, Panicked, Reader};
use paddle::{Adam, Batch, BatchError, Error, Network, Options, Parameters, Rows, Trainable, Trainer};

#[network]
mod nets {
    pub fn classes(x: Tensor<f32, _, 3>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let logits = fc(x, 4);
        mean(softmax_with_cross_entropy(logits, label))
    }

    pub fn words(words: Seq<i64>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let word = embedding(words, [10, 4]);
        mean(square(fc(sequence_pool(word, average), 1, param = "words") - y))
    }

    pub fn points(points: Tensor<f32, _, T, 2>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(fc(max(points, axis = 1), 1, param = "points") - y))
    }
}

/// Trains until the error. `good` is the number of batches that come before it.
fn refused<S: Trainable, R>(net: &Network<S>, reader: R, good: usize) -> Error
where
    R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
{
    let mut parameters = Parameters::create(net).unwrap();
    let mut trainer = Trainer::new(Adam::new(0.1));
    let bits = |parameters: &Parameters| -> Vec<u32> {
        let values = |name| parameters.get::<f32>(name).unwrap();
        parameters.names().flat_map(values).map(f32::to_bits).collect()
    };
    let seen = RefCell::new(vec![bits(&parameters)]);
    let result = trainer.train(net, &mut parameters, reader, Options::default(), |event| {
        if event.cost().is_some() {
            seen.borrow_mut().push(bits(event.parameters()));
        }
        Ok(())
    });
    let seen = seen.into_inner();
    assert_eq!(seen.len() - 1, good, "batches before the error");
    assert_eq!(Some(&bits(&parameters)), seen.last(), "the error has changed parameters");
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "a batch has changed nothing");
    result.unwrap_err()
}

/// What a batch of a reader failed by.
fn failed(error: &Error) -> &Error {
    let Error::BatchFailed(failed) = error else { panic!("{error:#?}") };
    &failed.error
}

/// The place of a layer in this file, by its text.
fn place(layer: &str) -> String {
    let source = include_str!("bad_input.rs");
    let (at, line) = source.lines().enumerate().find(|(_, line)| line.contains(layer)).unwrap();
    format!("{}:{}:{}", Path::new(file!()).display(), at + 1, line.find(layer).unwrap() + 1)
}

#[test]
fn a_label_out_of_range() {
    let net = nets::classes();
    for label in [4, -1, i64::MIN] {
        let rows = [0, 3, 1, label].map(|label| net.row([0.5, 0.1 * label as f32, -1.0], label));
        let error = refused(&net, rows.iter().batch(2), 1);
        assert!(matches!(failed(&error), Error::Run(_)), "{error:#?}");
        let expected = format!(
            "pass 0, batch 1: {}: `softmax_with_cross_entropy`: the class id of row 1 is {label}, but there are 4 classes; ids have to be \
             at least 0 and below 4",
            place("softmax_with_cross_entropy(logits")
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_word_outside_of_the_vocabulary() {
    let net = nets::words();
    for word in [10, -1, i64::MAX] {
        let texts = [vec![1, 2], vec![9], vec![], vec![3, word]];
        let rows = texts.map(|words| net.row(words, 1.0));
        let error = refused(&net, rows.iter().batch(1), 3);
        assert!(matches!(failed(&error), Error::Run(_)), "{error:#?}");
        let expected = format!(
            "pass 0, batch 3: {}: `embedding`: id number 1 is {word}, but the table has 10 entries; ids have to be at least 0 and \
             below 10",
            place("embedding(words")
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_wrong_width() {
    // Rows of another width do not compile; arrays and `Vec`s may have one.
    let net = nets::classes();
    let error = Batch::new(&net).unwrap().with("x", &Array2::<f32>::zeros((2, 5))).unwrap_err();
    assert!(matches!(error, BatchError::Shape { .. }), "{error:?}");
    assert_eq!(error.to_string(), "input `x`: found [2, 5], expected f32[_, 3]");

    let net = nets::points();
    let rows = [3, 3, 2, 1].map(|points| net.row(vec![[0.5, points as f32]; points], 1.0));
    let error = refused(&net, rows.iter().batch(2), 1);
    assert!(matches!(failed(&error), Error::Batch(BatchError::Ragged { .. })), "{error:#?}");
    assert_eq!(
        error.to_string(),
        "pass 0, batch 1: input `points`: row 1 is [1, 2], but row 0 is [2, 2]; all rows of one batch have the same sizes"
    );
}

#[test]
fn an_empty_reader() {
    let net = nets::classes();
    let none: [nets::classes::Row; 0] = [];
    for passes in [0, 3] {
        let error = refused(&net, none.iter().passes(passes).shuffle(4).batch(2), 0);
        assert!(matches!(error, Error::NoBatch(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            "the reader ended without a batch; training needs at least one (was it read before?)"
        );
    }
}

#[test]
fn readers_whose_threads_panic() {
    let net = nets::classes();
    let row =
        |k: i64| if k == 5 { panic!("no such file") } else { nets::classes().row([k as f32; 3], k % 4) };
    let buffered = refused(&net, (0..9).map(row).batch(2).buffered(3), 2);
    let parallel = refused(&net, (0..9_i64).parallel_map(3, row).batch(2), 2);
    let both = refused(&net, (0..9_i64).parallel_map(2, row).shuffle(1).batch(1).buffered(1), 5);
    for (error, batch) in [(buffered, 2), (parallel, 2), (both, 5)] {
        let Error::Reader(failed) = &error else { panic!("{error:?}") };
        assert!(failed.failure.error().is::<Panicked>());
        assert_eq!(
            error.to_string(),
            format!(
                "pass 0, batch {batch}: the reader failed: a thread of the reader panicked: no such file"
            )
        );
    }
}

#[test]
fn columns_of_other_lengths() {
    let net = nets::classes();
    let (x, labels) = (vec![[0.5, 1.0, -1.0]; 5], vec![1, 0, 2, 3]);
    let columns = x.passes(2).compose(labels.passes(2));
    let error = refused(&net, columns.map_data(|(x, label)| net.row(x, label)).batch(2), 2);
    assert!(matches!(error, Error::Reader(_)), "{error:?}");
    assert_eq!(
        error.to_string(),
        "pass 0, batch 2: the reader failed: readers that are composed have the same number of samples in each pass, but \
         in pass 0 the first one has 5, the second one 4"
    );
}
