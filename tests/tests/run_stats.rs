//! On how many rows the products of a network ran, by their places.

use Role::{Backward, Forward};
use paddle::reader::Reader;
use paddle::{EventKind, Options, Parameters, Role, RunStats, Sgd, Trainer, infer, network};

/// The launches and rows of each line behind `line`, forward and then backward.
fn counted(stats: &RunStats, line: u32) -> Vec<(u32, Role, u64, u64)> {
    let products = stats.products().iter().map(|product| {
        let place = product.place.as_ref().expect("the macro knows places");
        assert_eq!(place.file, file!());
        (place.line - line, product.role, product.launches, product.rows)
    });
    let mut products: Vec<_> = products.collect();
    products.sort();
    products
}

#[test]
fn a_branch_counts_its_rows_only() {
    let line = line!();
    let net = network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>| {
        let h = fc(x, 4);
        let z = if y > 0.0 {
            fc(h, 1)
        } else {
            let inner = fc(h, 2);
            fc(inner, 1)
        };
        mean(square(z - y))
    });
    let rows = |signs: &[f32]| signs.iter().map(|&y| net.row([y, 1.0, 2.0], y)).collect::<Vec<_>>();
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.01));
    let forward = |a: u64, b: u64| {
        let ran = |rows: u64| u64::from(rows > 0);
        [(2, Forward, 1, a + b), (4, Forward, ran(a), a), (6, Forward, ran(b), b), (7, Forward, ran(b), b)]
    };
    // What is fed has no gradient; other layers have one of what they read and one of their weights.
    let backward = |a: u64, b: u64| {
        let [of_x, rest @ ..] = forward(a, b);
        let both = rest.map(|(line, _, launches, rows)| (line, Backward, 2 * launches, 2 * rows));
        [vec![(of_x.0, Backward, of_x.2, of_x.3)], both.into()].concat()
    };
    for (signs, a, b) in [(&[1.0, -1.0, 2.0, 3.0, -2.0][..], 3, 2), (&[1.0, 2.0], 2, 0), (&[-1.0], 0, 1)] {
        let outputs = infer(&net, &parameters, rows(signs)).unwrap();
        assert_eq!(counted(outputs.stats(), line), forward(a, b));
        let outcome = trainer.step(&net, &mut parameters, rows(signs)).unwrap();
        let mut expected = [forward(a, b).into(), backward(a, b)].concat();
        expected.sort();
        assert_eq!(counted(outcome.stats(), line), expected);
    }
}

#[test]
fn a_loop_counts_every_iteration() {
    let line = line!();
    let net = network!(|x: Tensor<f32, _, 3>, times: Tensor<f32>| {
        let (mut h, mut i) = (x, 0.0);
        while i < times {
            h = fc(h, 3);
            i += 1.0;
        }
        mean(fc(h, 1))
    });
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.01));
    for times in [3, 0, 1] {
        let rows = vec![net.row([1.0, 2.0, 3.0], times as f32); 5];
        let outcome = trainer.step(&net, &mut parameters, rows).unwrap();
        let expected = [
            (4, Forward, times, 5 * times),
            (4, Backward, 2 * times, 10 * times),
            (7, Forward, 1, 5),
            (7, Backward, 2, 10),
        ];
        assert_eq!(counted(outcome.stats(), line), expected);
    }
}

#[test]
fn a_row_counts_until_it_leaves_its_loop() {
    let line = line!();
    let net = network!(|x: Tensor<f32, _, 3>, times: Tensor<f32, _, 1>| {
        let (mut h, mut left) = (x, times);
        while left > 0.0 {
            h = tanh(fc(h, 3));
            left -= 1.0;
        }
        mean(fc(h, 1))
    });
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.01));
    for (times, launches, iterations) in [([3.0, 0.0, 1.0, 5.0], 5, 9), ([0.0; 4], 0, 0)] {
        let rows = times.map(|times| net.row([1.0, 2.0, 3.0], times));
        let outcome = trainer.step(&net, &mut parameters, rows).unwrap();
        let forward = counted(outcome.stats(), line);
        let forward: Vec<_> = forward.into_iter().filter(|product| product.1 == Forward).collect();
        assert_eq!(forward, [(4, Forward, launches, iterations), (7, Forward, 1, 4)]);
    }
}

#[test]
fn tokens_are_the_rows_of_their_layers() {
    let line = line!();
    let net = network!(|words: Seq<Tensor<f32, 2>>| {
        let each = fc(words, 3, act = tanh);
        fc(sequence_pool(each, sum), 1)
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = [net.row(vec![[1.0, 2.0]; 3]), net.row(vec![]), net.row(vec![[3.0, 4.0]])];
    let outputs = infer(&net, &parameters, rows).unwrap();
    assert_eq!(counted(outputs.stats(), line), [(2, Forward, 1, 4), (3, Forward, 1, 3)]);
}

#[test]
fn shards_and_events_count_whole_batches() {
    let line = line!();
    let net = network!(|x: Tensor<f32, _, 1>| {
        let z = if x > 0.0 { fc(x, 1) } else { scale(x, 2.0) };
        mean(square(z))
    });
    let batches = || (0..10).map(|i| net.row((i % 3) as f32)).batch(7);
    let positive = |range: std::ops::Range<i32>| range.filter(|i| i % 3 > 0).count() as u64;
    for shards in [1, 3] {
        let mut parameters = Parameters::create(&net).unwrap();
        let options = Options::default().shards(shards);
        let mut seen = Vec::new();
        let mut trainer = Trainer::new(Sgd::new(0.0));
        trainer
            .train(&net, &mut parameters, batches(), options, |event| {
                let ends = matches!(event.kind(), EventKind::EndIteration { .. });
                assert_eq!(event.stats().is_some(), ends);
                seen.extend(event.stats().cloned());
                Ok(())
            })
            .unwrap();
        let rows = [positive(0..7), positive(7..10)];
        assert_eq!(rows, [4, 2]);
        // Shards of 3, 2 and 2 rows, then of one each; the last of these has no positive one, so it launches nothing.
        let launches = if shards == 1 { [1, 1] } else { [3, 2] };
        for (stats, (rows, launches)) in seen.iter().zip(rows.into_iter().zip(launches)) {
            let expected = [(2, Forward, launches, rows), (2, Backward, launches, rows)];
            assert_eq!(counted(stats, line), expected, "{shards} shards");
        }
        assert_eq!(seen.len(), 2);
    }
}

#[test]
fn a_line_for_each_product() {
    let line = line!() + 1;
    let net = network!(|x: Tensor<f32, _, 2>| fc(x, 3));
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, [[1.0, 2.0], [3.0, 4.0]]).unwrap();
    assert_eq!(outputs.stats().to_string(), format!("{}:{line}:47: forward: 1 launch of 2 rows\n", file!()));
}
