//! What a run of a network gives: outputs under the names of their bindings, and taps.

use paddle::reader::Reader;
use paddle::{Error, Options, OutputError, Parameters, Sgd, Trainer, infer, infer_with, network};

#[test]
fn outputs_have_the_names_of_their_bindings() {
    let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
        let cost = fc(x, 1);
        let error_rate = mean(cost - y);
        let cost = mean(square(cost - y));
        let (again, input, number) = (cost, x, 3.0);
        (cost, error_rate, again, cost, input, number, sum(x))
    });
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, [([1.0, 2.0], 0.5), ([3.0, 4.0], 0.5)]).unwrap();
    let names: Vec<&str> = outputs.names().collect();
    assert_eq!(names, ["cost", "error_rate", "again", "cost", "input", "number", "reduce_sum"]);
    let scalar = |name: &str| outputs.get::<f32>(name).unwrap()[[]];
    assert_eq!(scalar("again"), scalar("cost"));
    assert_eq!(scalar("cost"), outputs.at::<f32>(3).unwrap()[[]]);
    assert_eq!(scalar("number"), 3.0);
    assert_eq!(outputs.get::<f32>("input").unwrap()[[1, 0]], 3.0);
    assert_eq!(outputs.at::<f32>(6).unwrap()[[]], 10.0);
}

#[test]
fn metrics_have_the_names_of_their_bindings() {
    let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
        let error = square(fc(x, 1) - y);
        let average = mean(error);
        let total = sum(error);
        (average, total)
    });
    let mut parameters = Parameters::create(&net).unwrap();
    let mut seen = Vec::new();
    let batches = [([1.0f32, 2.0], 0.5f32), ([3.0, 4.0], 0.5)].into_iter().batch(2);
    let mut trainer = Trainer::new(Sgd::new(0.0));
    trainer
        .train(&net, &mut parameters, batches, Options::default(), |event| {
            seen.extend(event.metric("total").zip(event.cost()));
            assert_eq!(event.metric("average"), None);
            Ok(())
        })
        .unwrap();
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|(total, average)| (total - 2.0 * average).abs() < 1e-5 * total.abs()));
}

#[test]
fn taps_are_fetched_when_they_are_asked_for() {
    let net = network!(|x: Tensor<f32, _, 2>| {
        const NAME: &str = "twice";
        let hidden = tap(tanh(x), "hidden");
        tap(hidden * 2.0, "{NAME}");
        tap(sum(hidden), "result")
    });
    let program = net.program().unwrap();
    assert!(program.to_string().contains("tap hidden -> "), "{program}");
    let parameters = Parameters::create(&net).unwrap();
    let rows = [[0.0, 1.0], [2.0, 3.0]];
    let plain = infer(&net, &parameters, rows).unwrap();
    assert_eq!(plain.len(), 1);
    for _ in 0..2 {
        let outputs = infer_with(&net, &parameters, rows, &["twice", "hidden", "result"]).unwrap();
        assert_eq!(outputs.names().skip(1).collect::<Vec<_>>(), ["twice", "hidden", "result"]);
        let (hidden, twice) = (outputs.get::<f32>("hidden").unwrap(), outputs.get::<f32>("twice").unwrap());
        assert_eq!(hidden[[1, 1]], 3.0f32.tanh());
        assert_eq!(twice[[1, 1]], 2.0 * hidden[[1, 1]]);
        assert_eq!(outputs.get::<f32>("result").unwrap(), plain.at::<f32>(0).unwrap());
    }
}

#[test]
fn an_unknown_tap_is_an_error() {
    let net = network!(|x: Tensor<f32, _, 2>| tap(tanh(x), "hidden"));
    let parameters = Parameters::create(&net).unwrap();
    let error = infer_with(&net, &parameters, [[0.0, 1.0]], &["hiden"]).unwrap_err();
    assert_eq!(error.to_string(), "there is no tap `hiden`; the taps are `hidden`");
    assert!(matches!(error, Error::Output(OutputError::NoSuchTap { .. })));
}
