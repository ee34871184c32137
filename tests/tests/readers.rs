//! Readers in training, through the public interface: every adapter, and readers that fail.

mod events;
mod networks;

use std::io;

use events::word;
use networks::{LINE, network};
use paddle::reader::{DataSet, IntoItem, Item, LengthsDiffer, Panicked, Reader};
use paddle::train_loop::{NoBatch, ReaderFailed};
use paddle::{Batch, Dynamic, Ended, Error, Network, Options, Parameters, Rows, Sgd, Trainer, test};

type Sample = ([f32; 3], f32);
type Line = Network<Dynamic<Sample>>;

fn samples(count: usize) -> Vec<Sample> {
    let number = |i: usize| ((i * 37 + 11) % 23) as f32 / 11.5 - 1.0;
    (0..count).map(|i| ([number(3 * i), number(3 * i + 1), number(3 * i + 2)], number(i))).collect()
}

/// The events of a training, each with the number of rows it was trained on, and the weights at its end.
fn trained<R>(reader: R) -> (String, Result<Ended, Error>, Vec<f32>)
where
    R: IntoIterator<Item: IntoItem<Data: Rows<Dynamic<Sample>>>>,
{
    let net: Line = network(LINE);
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trace = Vec::new();
    let result =
        Trainer::new(Sgd::new(0.1)).train(&net, &mut parameters, reader, Options::default(), |event| {
            trace.push(word(event));
            if trace.len() > 10_000 {
                event.stop();
            }
            Ok(())
        });
    let weights = parameters.get::<f32>("w").unwrap().iter().copied().collect();
    (trace.join(" "), result, weights)
}

const TWO_PASSES: &str = "BT BP0 BI0.0 EI0.0 BI0.1 EI0.1 EP0 BP1 BI1.0 EI1.0 BI1.1 EI1.1 EP1 ET";

/// What an adapter makes of the same samples trains alike.
#[test]
fn adapters_that_keep_the_samples_train_alike() {
    let rows = samples(7);
    let (trace, result, expected) = trained(rows.iter().passes(2).batch(4));
    result.unwrap();
    assert_eq!(trace, TWO_PASSES);
    assert!(expected.iter().all(|&weight| weight != 0.0));

    let check = |(trace, result, weights): (String, Result<Ended, Error>, Vec<f32>)| {
        result.unwrap();
        assert_eq!((trace.as_str(), &weights), (TWO_PASSES, &expected));
    };
    let owned = || rows.clone().passes(2);
    check(trained(owned().buffered(3).batch(4)));
    check(trained(owned().batch(4).buffered(1)));
    check(trained(owned().parallel_map(3, |row| row).batch(4)));
    check(trained(owned().shuffle(1).batch(4)));
    check(trained(
        owned().map_data(|(x, y)| (x.map(f64::from), y)).map_data(|(x, y)| (x.map(|x| x as f32), y)).batch(4),
    ));
    check(trained(rows.clone().into_iter().cache(2).batch(4)));
    check(trained(rows.iter().cycle().end_pass_every(7).take_data(14).batch(4)));
    let (x, y): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
    check(trained(x.passes(2).compose(y.passes(2)).batch(4)));
    check(trained(rows.iter().passes(1).chain(rows.iter().passes(1)).batch(4)));
}

#[test]
fn a_shuffled_pass_is_the_same_in_every_run() {
    let rows = samples(40);
    let weights = |seed| trained(rows.iter().passes(3).shuffle(16).seed(seed).batch(4)).2;
    assert_eq!(weights(0), weights(0));
    assert_ne!(weights(0), weights(1));
}

#[test]
fn readers_without_batches() {
    let none = Vec::<Sample>::new;
    let check = |(trace, result, _): (String, Result<Ended, Error>, Vec<f32>)| {
        assert!(matches!(result, Err(Error::NoBatch(NoBatch))), "{result:?}");
        assert_eq!(trace, "BT");
    };
    check(trained(none().passes(usize::MAX).shuffle(3).batch(4)));
    check(trained(none().into_iter().cache(usize::MAX).batch(4)));
    check(trained(none().into_iter().buffered(3).batch(4)));
    check(trained(none().into_iter().parallel_map(3, |row| row).batch(4)));
    check(trained(none().into_iter().compose(none()).map_data(|(row, _)| row).batch(4)));
    check(trained(none().into_iter().end_pass_every(3).batch(4)));
    check(trained(samples(4).into_iter().take_data(0).batch(4)));
}

/// Says where the reader failed.
fn failure(result: Result<Ended, Error>) -> ReaderFailed {
    match result {
        Err(Error::Reader(failed)) => failed,
        other => panic!("the reader has not failed: {other:?}"),
    }
}

#[test]
fn a_reader_that_fails() {
    let rows = samples(4);
    let torn = || io::Error::new(io::ErrorKind::UnexpectedEof, "the file is torn");
    let lines = rows.iter().map(|row| Ok(*row)).chain([Err(torn())]).chain(rows.iter().map(|row| Ok(*row)));
    let (trace, result, _) = trained(lines.batch(2).shuffle(1));
    assert_eq!(trace, "BT BP0 BI0.0 EI0.0 BI0.1 EI0.1");
    let failed = failure(result);
    assert_eq!(failed.to_string(), "pass 0, batch 2: the reader failed: the file is torn");
    let error = failed.failure.error().downcast_ref::<io::Error>().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);

    let (trace, result, _) =
        trained(rows.passes(2).batch(4).chain([Item::Failed("the second file is missing".into())]));
    assert!(trace.ends_with("EP1"), "{trace}");
    assert_eq!(failure(result).to_string(), "pass 2, batch 0: the reader failed: the second file is missing");
}

#[test]
fn a_reader_that_panics_on_its_thread() {
    let fragile = |row: Sample| if row.1 == samples(4)[3].1 { panic!("no such row") } else { row };
    for threads in [1, 3] {
        let (trace, result, _) = trained(samples(9).into_iter().parallel_map(threads, fragile).batch(3));
        assert_eq!(trace, "BT BP0 BI0.0 EI0.0");
        let failed = failure(result);
        assert!(failed.failure.error().is::<Panicked>());
        assert_eq!(
            failed.to_string(),
            "pass 0, batch 1: the reader failed: a thread of the reader panicked: no such row"
        );
    }
}

#[test]
fn readers_of_different_lengths() {
    let (x, y): (Vec<_>, Vec<_>) = samples(6).into_iter().unzip();
    let (trace, result, _) = trained(x.passes(2).compose(y[..4].to_vec().passes(2)).batch(2));
    assert_eq!(trace, "BT BP0 BI0.0 EI0.0 BI0.1 EI0.1");
    let failed = failure(result);
    let expected = LengthsDiffer { pass: 0, first: 6, second: 4, exact: true };
    assert_eq!(failed.failure.error().downcast_ref(), Some(&expected));
}

#[test]
fn a_reader_that_fails_in_a_test() {
    let net: Line = network(LINE);
    let parameters = Parameters::create(&net).unwrap();
    let batch = || Batch::from_rows(&net, samples(2));
    let reader = [batch(), Err(NoBatch.into())];
    let error = test(&net, &parameters, reader).unwrap_err();
    assert!(error.to_string().starts_with("pass 0, batch 1: the reader failed: "), "{error}");
}
