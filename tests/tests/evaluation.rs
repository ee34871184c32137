//! What a cost and metrics are over many batches.

use paddle::reader::{Item, Reader};
use paddle::{Error, Options, Parameters, Sgd, Trainer, network, test};

/// One batch of three rows and one of one.
fn batches<T: Clone>(rows: &[T; 4]) -> [Item<Vec<T>>; 3] {
    [Item::Data(rows[..3].to_vec()), Item::Data(rows[3..].to_vec()), Item::EndPass]
}

#[test]
fn ratios_add_numerators_and_denominators() {
    let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| {
        // Of the rows that are predicted positive, those that are.
        let predicted = cast(x > 0.0, f32);
        let precision = sum(predicted * cast(y > 0.0, f32)) / sum(predicted);
        let half = sum(predicted) / 2.0;
        (mean(square(fc(x, 1) - y)), precision, half)
    });
    // Batch by batch: 1 of 2, and 1 of 1; by rows that would be 0.625.
    let rows = [net.row(1.0, 1.0), net.row(1.0, -1.0), net.row(-1.0, 1.0), net.row(2.0, 1.0)];
    let mut parameters = Parameters::create(&net).unwrap();
    let tested = test(&net, &parameters, batches(&rows)).unwrap();
    assert_eq!(tested.rows(), 4);
    assert_eq!(tested.metric("precision"), Some(2.0 / 3.0));
    assert_eq!(tested.metric("half"), Some((3.0 * 1.0 + 0.5) / 4.0));
    assert_eq!(tested.metric("recall"), None);

    // A pass of training has them likewise, and a batch has its own.
    let (mut of_batches, mut of_pass) = (Vec::new(), None);
    Trainer::new(Sgd::new(0.0))
        .train(&net, &mut parameters, batches(&rows), Options::default(), |event| {
            match event.kind() {
                paddle::EventKind::EndIteration { .. } => of_batches.extend(event.metric("precision")),
                paddle::EventKind::EndPass { .. } => of_pass = event.metric("precision"),
                _ => {}
            }
            Ok(())
        })
        .unwrap();
    assert_eq!((of_batches, of_pass), (vec![0.5, 1.0], Some(2.0 / 3.0)));
}

#[test]
fn ratios_over_nothing_weigh_nothing() {
    let net = network!(|x: Tensor<f32, _, 1>| {
        let positive = cast(x > 0.0, f32);
        let above = sum(positive * x) / sum(positive);
        (mean(fc(x, 1)), above)
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = [net.row(-1.0), net.row(-1.0), net.row(-2.0), net.row(8.0)];
    let tested = test(&net, &parameters, batches(&rows)).unwrap();
    assert_eq!(tested.metric("above"), Some(8.0));
}

#[test]
fn a_handler_tests_other_networks_of_the_same_parameters() {
    let cost = network!(|x: Tensor<f32, _, 2>, label: Tensor<i64, _, 1>| {
        let logits = fc(dropout(x, 0.5), 2, param = "out");
        mean(softmax_with_cross_entropy(logits, label))
    });
    let held_out = network!(|x: Tensor<f32, _, 2>, label: Tensor<i64, _, 1>| {
        let logits = fc(x, 2, param = "out");
        let right = accuracy(softmax(logits), label);
        (mean(softmax_with_cross_entropy(logits, label)), right)
    });
    let mut parameters = Parameters::create((&cost, &held_out)).unwrap();
    let sample = |i: i64| ([(i % 2) as f32, 1.0 - (i % 2) as f32], i % 2);
    let train = (0..40).map(sample).map(|(x, label)| cost.row(x, label));
    let rows: Vec<_> = (0..7).map(sample).map(|(x, label)| held_out.row(x, label)).collect();
    let mut accuracies = Vec::new();
    Trainer::new(Sgd::new(1.0))
        .train(&cost, &mut parameters, train.batch(10), Options::default(), |event| {
            if let paddle::EventKind::EndPass { .. } = event.kind() {
                let tested = event.test(&held_out, rows.iter().batch(3))?;
                accuracies.extend(tested.metric("right"));
                assert_eq!(tested.rows(), 7);
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(accuracies, [1.0]);
}

#[test]
fn what_cannot_be_tested() {
    let answer = network!(|x: Tensor<f32, _, 2>| fc(x, 1));
    let parameters = Parameters::create(&answer).unwrap();
    let error = test(&answer, &parameters, [vec![answer.row([0.0, 1.0])]]).unwrap_err();
    assert!(error.to_string().contains("has no cost to test"), "{error}");

    let cost = network!(|x: Tensor<f32, _, 2>| mean(fc(x, 1)));
    let parameters = Parameters::create(&cost).unwrap();
    let nothing = std::iter::empty::<Vec<_>>().chain(None.map(|x: [f32; 2]| vec![cost.row(x)]));
    assert!(matches!(test(&cost, &parameters, nothing), Err(Error::NoBatch(_))));

    let sorted = network!(|x: Tensor<f32, _, 2>, label: Tensor<i64, _, 1>| {
        mean(softmax_with_cross_entropy(fc(x, 2), label))
    });
    let parameters = Parameters::create(&sorted).unwrap();
    let rows = [0, 1, 2].map(|label| sorted.row([0.0, 1.0], label));
    let error = test(&sorted, &parameters, rows.iter().batch(2)).unwrap_err().to_string();
    assert!(
        error.starts_with("pass 0, batch 1: ") && error.contains("the class id of row 0 is 2"),
        "{error}"
    );
}
