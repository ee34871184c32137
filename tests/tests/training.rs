//! Training through the public interface: events, steps, inference, errors.

mod events;
mod networks;

use events::word;
use ndarray::{Array2, ArrayD, array};
use networks::awkward::mlp;
use networks::{LINE, LINE_PRICE, network};
use paddle::event::EventKind;
use paddle::reader::{DataSet, Item, Reader};
use paddle::train_loop::NoBatch;
use paddle::{Batch, BatchError, Dynamic, Error, Event, Network, Options, Parameters, Sgd, Trainer, infer};

type Sample = ([f32; 3], f32);
type Line = Network<Dynamic<Sample>>;

/// `y = x0 - 2 · x1 + 0.5 · x2 + 3`.
fn samples(count: usize) -> Vec<Sample> {
    let number = |i: usize| ((i * 37 + 11) % 23) as f32 / 11.5 - 1.0;
    let sample = |i: usize| {
        let x = [number(3 * i), number(3 * i + 1), number(3 * i + 2)];
        (x, x[0] - 2.0 * x[1] + 0.5 * x[2] + 3.0)
    };
    (0..count).map(sample).collect()
}

fn line() -> (Line, Parameters, Trainer<Sgd>) {
    let net: Line = network(LINE);
    let parameters = Parameters::create(&net).unwrap();
    (net, parameters, Trainer::new(Sgd::new(0.1)))
}

#[test]
fn the_trace_of_a_finite_reader() {
    let (net, mut parameters, mut trainer) = line();
    let (rows, mut trace) = (samples(5), Vec::new());
    let mut costs = Vec::new();
    let reader = rows.iter().passes(2).batch(2);
    trainer
        .train(&net, &mut parameters, reader, Options::default(), |event| {
            trace.push(word(event));
            assert_eq!(event.metrics().len(), usize::from(event.cost().is_some()));
            assert_eq!(event.metric("average"), event.metrics().first().copied());
            assert_eq!(event.metric("nothing"), None);
            costs.extend(event.cost());
            Ok(())
        })
        .unwrap();
    assert_eq!(
        trace.join(" "),
        "BT BP0 BI0.0 EI0.0 BI0.1 EI0.1 BI0.2 EI0.2 EP0 BP1 BI1.0 EI1.0 BI1.1 EI1.1 BI1.2 EI1.2 EP1 ET"
    );
    // The mean over a pass weights batches by their rows.
    let mean = (2.0 * costs[0] + 2.0 * costs[1] + costs[2]) / 5.0;
    assert!((costs[3] - mean).abs() < 1e-5 * mean);

    // A later call goes on counting.
    trace.clear();
    trainer
        .train(&net, &mut parameters, [&rows[..]], Options::default(), |event| {
            trace.push(word(event));
            Ok(())
        })
        .unwrap();
    assert_eq!(trace.join(" "), "BT BP2 BI2.0 EI2.0 EP2 ET");
}

#[test]
fn the_trace_of_an_endless_reader_with_a_stop() {
    let (net, mut parameters, mut trainer) = line();
    let (rows, mut trace) = (samples(4), Vec::new());
    let reader = rows.iter().passes(usize::MAX).batch(2);
    trainer
        .train(&net, &mut parameters, reader, Options::default(), |event| {
            trace.push(word(event));
            if matches!(event.kind(), EventKind::EndIteration { pass: 1, .. }) {
                event.stop();
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(trace.join(" "), "BT BP0 BI0.0 EI0.0 BI0.1 EI0.1 EP0 BP1 BI1.0 EI1.0 ET");
}

#[test]
fn a_stop_before_a_batch_leaves_the_parameters_alone() {
    let (net, mut parameters, mut trainer) = line();
    let rows = samples(4);
    let stop = |event: &Event<'_>| {
        if matches!(event.kind(), EventKind::BeginIteration { .. }) {
            event.stop();
        }
        Ok(())
    };
    trainer.train(&net, &mut parameters, [&rows[..]], Options::default(), stop).unwrap();
    assert_eq!(parameters.get::<f32>("w").unwrap().sum(), 0.0);
}

#[test]
fn an_empty_reader_is_an_error() {
    let (net, mut parameters, mut trainer) = line();
    let mut trace = Vec::new();
    for reader in [vec![], vec![Item::EndPass]] {
        let reader: Vec<Item<Vec<Sample>>> = reader;
        let result = trainer.train(&net, &mut parameters, reader, Options::default(), |event| {
            trace.push(word(event));
            Ok(())
        });
        assert!(matches!(result, Err(Error::NoBatch(NoBatch))));
    }
    assert_eq!(trace.join(" "), "BT BT");
}

#[test]
fn after_an_error_nothing_fires() {
    let (net, mut parameters, mut trainer) = line();
    let (rows, mut trace) = (samples(4), Vec::new());
    let result = trainer.train(&net, &mut parameters, [&rows[..]], Options::default(), |event| {
        trace.push(word(event));
        match event.kind() {
            EventKind::EndIteration { .. } => Err(Error::Handler("the disk is full".into())),
            _ => Ok(()),
        }
    });
    assert_eq!(result.unwrap_err().to_string(), "the disk is full");
    assert_eq!(trace.join(" "), "BT BP0 BI0.0 EI0.0");
}

/// The error of a batch ends the training as well, at the batch.
#[test]
fn a_bad_batch_ends_the_training() {
    let (net, mut parameters, mut trainer) = line();
    let good = net.batch(samples(4)).unwrap();
    let bad = Batch::new(&net).unwrap();
    let mut trace = Vec::new();
    let result = trainer.train(&net, &mut parameters, [&good, &bad], Options::default(), |event| {
        trace.push(word(event));
        Ok(())
    });
    let Err(Error::BatchFailed(failed)) = result else { panic!("{result:?}") };
    assert_eq!((failed.pass, failed.batch), (0, 1));
    assert!(matches!(*failed.error, Error::Batch(BatchError::NoValue { input, .. }) if input == "x"));
    assert_eq!(trace.join(" "), "BT BP0 BI0.0 EI0.0 BI0.1");
}

#[test]
fn steps_follow_the_gradient() {
    let (net, mut parameters, mut trainer) = line();
    let rows: [Sample; 2] = [([1.0, 0.0, 2.0], 1.0), ([0.0, 1.0, 0.0], 3.0)];
    let outcome = trainer.step(&net, &mut parameters, rows).unwrap();
    assert_eq!((outcome.cost(), outcome.rows()), (5.0, 2));
    assert_eq!((outcome.metrics(), outcome.metric("average")), (&[0.0][..], Some(0.0)));
    // d cost / d price = price - y, for two rows; the learning rate is 0.1.
    let w = parameters.get::<f32>("w").unwrap();
    assert_eq!(w, array![[0.1], [0.1 * 3.0], [0.1 * 2.0]].into_dyn());
    assert_eq!(parameters.get::<f32>("b").unwrap(), array![0.1 * 4.0].into_dyn());
}

/// Reductions over no rows are 0, and so are the gradients.
#[test]
fn a_batch_without_rows_changes_nothing() {
    let (net, mut parameters, mut trainer) = line();
    let outcome = trainer.step(&net, &mut parameters, Vec::<Sample>::new()).unwrap();
    assert_eq!((outcome.cost(), outcome.rows(), outcome.metric("average")), (0.0, 0, Some(0.0)));
    assert_eq!(parameters.get::<f32>("b").unwrap()[0], 0.0);
}

#[test]
fn training_finds_the_line_and_inference_sees_it() {
    let (net, predict) = (network::<Sample>(LINE), network::<[f32; 3]>(LINE_PRICE));
    let mut parameters = Parameters::create((&net, &predict)).unwrap();
    assert_eq!(parameters.names().collect::<Vec<_>>(), ["w", "b"]);
    let mut trainer = Trainer::new(Sgd::new(0.3));
    let rows = samples(60);
    let mut prices = Vec::new();
    trainer
        .train(&net, &mut parameters, rows.iter().passes(60).batch(16), Options::default(), |event| {
            if let EventKind::EndPass { .. } = event.kind() {
                let outputs = infer(&predict, event.parameters(), [[1.0, 1.0, 1.0]])?;
                prices.push(outputs.get::<f32>("price")?[[0, 0]]);
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(prices.len(), 60);
    assert!((prices[0] - 2.5).abs() > 0.01 && (prices[59] - 2.5).abs() < 1e-3, "{prices:?}");
    let w = parameters.get::<f32>("w").unwrap();
    assert!((w - array![[1.0], [-2.0], [0.5]].into_dyn()).iter().all(|x: &f32| x.abs() < 1e-3));
}

#[test]
fn outputs_by_number_and_by_name() {
    let (net, parameters, _) = line();
    let outputs = infer(&net, &parameters, samples(2)).unwrap();
    assert_eq!(outputs.names().collect::<Vec<_>>(), ["cost", "average"]);
    assert_eq!(outputs.at::<f32>(0).unwrap(), outputs.get::<f32>("cost").unwrap());
    assert_eq!(outputs.at::<f32>(0).unwrap().shape(), [0usize; 0]);
    assert_eq!(
        outputs.get::<f32>("price").unwrap_err().to_string(),
        "there is no output `price`; the outputs are `cost`, `average`"
    );
    assert_eq!(
        outputs.at::<i64>(1).unwrap_err().to_string(),
        "output `average` is f32[], but was asked for as i64"
    );
}

#[test]
fn parameters_are_set_and_read() {
    let (net, mut parameters, mut trainer) = line();
    // The transpose of a row: a layout that is not the standard one, of one that is the same in memory.
    let w = Array2::from_shape_fn((3, 2), |(i, j)| (3 * j + i) as f32);
    parameters.set("w", &w.slice(ndarray::s![.., 1..])).unwrap();
    assert_eq!(parameters.get::<f32>("w").unwrap(), array![[3.0f32], [4.0], [5.0]].into_dyn());
    let outcome = trainer.step(&net, &mut parameters, [([1.0, 1.0, 1.0], 12.0)]).unwrap();
    assert_eq!(outcome.cost(), 0.0);

    let message = |result: Result<(), Error>| result.unwrap_err().to_string();
    assert_eq!(message(parameters.set("v", &array![0.0f32])), "there is no parameter `v`");
    assert_eq!(message(parameters.set("w", &array![0.0f32])), "parameter `w`: found [1], expected [3, 1]");
    assert_eq!(
        message(parameters.get::<i64>("b").map(|_: ArrayD<i64>| ())),
        "parameter `b`: found elements of type i64, expected f32"
    );
}

#[test]
fn what_a_parameter_begins_with_depends_on_its_name_and_the_seed() {
    let text = |first: &str| {
        format!(
            "program {{ {first} parameter w: f32[5] = uniform_random(min=-0.5, max=0.5) \
             block 0 (x: f32[5]) {{ y: f32[5] = elementwise_add(x, w) return y }} }}"
        )
    };
    let alone: Network<Dynamic> = network(&text(""));
    let other: Network<Dynamic> = network(&text("parameter v: f32[3] = uniform_random(min=-0.5, max=0.5)"));
    let w = |parameters: Result<Parameters, Error>| parameters.unwrap().get::<f32>("w").unwrap();
    let first = w(Parameters::create(&alone));
    assert_eq!(first, w(Parameters::create((&other, &alone))));
    assert_ne!(first, w(Parameters::create_with_seed(&alone, 1)));
    let both = Parameters::create((&other, &alone)).unwrap();
    assert_ne!(both.get::<f32>("v").unwrap().as_slice(), first.as_slice().map(|w| &w[..3]));
}

#[test]
fn networks_that_disagree_on_a_parameter() {
    let (net, other) =
        (network::<Sample>(LINE), network::<Sample>(&LINE.replace("w: f32[3, 1]", "w: f32[3, 1] ")));
    Parameters::create((&net, &other)).unwrap();
    let wide = LINE.replace("[3, 1]", "[4, 1]").replace("[_, 3]", "[_, 4]");
    let wide: Line = network(&wide);
    let error = Parameters::create((&net, &wide)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter `w` is [3, 1], but [4, 1]\n  one name is one parameter: give one of them another name with \
         `param = \"..\"`"
    );
}

#[test]
fn parameters_of_another_network() {
    let (net, _, mut trainer) = line();
    let none: Network<Dynamic> = network("program { block 0 (x: f32[]) { return x } }");
    let mut parameters = Parameters::create(&none).unwrap();
    assert!(parameters.is_empty());
    let error = trainer.step(&net, &mut parameters, samples(2)).unwrap_err();
    assert!(error.to_string().starts_with("the parameters have no `w`"), "{error}");
    let error = infer(&net, &parameters, samples(2)).unwrap_err();
    assert!(error.to_string().starts_with("the parameters have no `w`"), "{error}");
}

#[test]
fn a_cost_without_a_gradient() {
    let net: Network<Dynamic<[f32; 1]>> = network(
        "program {
           rows _
           parameter w: f32[1] = fill_constant(value=0.0)
           block 0 (x: f32[_, 1]) {
             sum: f32[_, 1] = elementwise_add(x, w)
             mean: f32[] = reduce_mean(sum)
             below: bool[] = less_than(mean, mean)
             return below
           }
         }",
    );
    let mut parameters = Parameters::create(&net).unwrap();
    let error = Trainer::new(Sgd::new(0.1)).step(&net, &mut parameters, [[1.0]]).unwrap_err();
    assert!(matches!(error, Error::Gradient(_)));
    assert!(error.to_string().contains("training needs a floating-point scalar"), "{error}");
    // It may be computed all the same.
    let outputs = infer(&net, &parameters, [[1.0]]).unwrap();
    assert!(!outputs.at::<bool>(0).unwrap()[[]]);
}

#[test]
fn a_class_id_without_a_class() {
    let net = mlp();
    let row = |y| net.row([0.5; 37], y);
    let mut parameters = Parameters::create(&net).unwrap();
    let before = parameters.get::<f32>("deep.w").unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    for id in [-1, 7, i64::MAX] {
        let error = trainer.step(&net, &mut parameters, [row(0), row(id)]).unwrap_err();
        assert!(matches!(error, Error::Run(_)));
        assert!(error.to_string().contains(&id.to_string()), "{error}");
    }
    assert_eq!(before, parameters.get::<f32>("deep.w").unwrap());
    trainer.step(&net, &mut parameters, [row(6)]).unwrap();
    assert_ne!(before, parameters.get::<f32>("deep.w").unwrap());
}

/// Parameters may be shared between threads, which then infer in turn; everything may be sent to another one.
#[test]
fn inference_from_several_threads() {
    fn assert_send<T: Send>(_: &T) {}
    let (net, mut parameters, mut trainer) = line();
    trainer.step(&net, &mut parameters, samples(8)).unwrap();
    assert_send(&trainer);
    let batch = net.batch(samples(50)).unwrap();
    let cost = || infer(&net, &parameters, &batch).unwrap().at::<f32>(0).unwrap()[[]].to_bits();
    let expected = cost();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| (0..50).all(|_| cost() == expected))).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
}

/// A trainer serves several networks and several sets of parameters; each pair has its own plan, each network its own
/// count of passes.
#[test]
fn one_trainer_for_several_networks_and_parameters() {
    let (net, mut first, mut trainer) = line();
    let other: Line = network(LINE);
    let mut second = Parameters::create((&net, &other)).unwrap();
    let rows = samples(4);
    let cost = |outcome: paddle::Outcome<'_>| outcome.cost();
    let begin = cost(trainer.step(&net, &mut first, &rows).unwrap());
    let next = cost(trainer.step(&net, &mut first, &rows).unwrap());
    assert!(next < begin);
    assert_eq!(cost(trainer.step(&net, &mut second, &rows).unwrap()), begin);
    assert_eq!(cost(trainer.step(&other, &mut second, &rows).unwrap()), next);

    let mut passes = Vec::new();
    for net in [&net, &other, &net] {
        let reader = [&rows[..]];
        trainer
            .train(net, &mut second, reader, Options::default(), |event| {
                if let EventKind::BeginPass { pass } = event.kind() {
                    passes.push(pass);
                }
                Ok(())
            })
            .unwrap();
    }
    assert_eq!(passes, [0, 0, 1]);
}

/// A macro's network is decoded once, however often it is made, so its plans and counts are found again.
#[test]
fn a_network_that_is_made_again_is_the_same() {
    let batch = mlp().batch([mlp().row([0.5; 37], 1)]).unwrap();
    let mut parameters = Parameters::create(&mlp()).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    trainer.step(&mlp(), &mut parameters, &batch).unwrap();
    let mut last = None;
    for _ in 0..2 {
        trainer
            .train(&mlp(), &mut parameters, [&batch], Options::default(), |event| {
                if let EventKind::BeginPass { pass } = event.kind() {
                    last = Some(pass);
                }
                Ok(())
            })
            .unwrap();
    }
    assert_eq!(last, Some(1));
}
