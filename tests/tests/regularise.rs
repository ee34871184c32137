//! Layers that do something else in training than otherwise.

use paddle::{Parameters, Sgd, Trainer, infer, network};

/// The statistics of the parameters `normal.mean` and `normal.variance`.
fn statistics(parameters: &Parameters) -> [f32; 2] {
    ["normal.mean", "normal.variance"].map(|name| parameters.get::<f32>(name).unwrap()[[0]])
}

#[test]
fn batch_norm_normalises_by_the_batch_and_then_by_what_it_saw() {
    let cost = network!(|x: Tensor<f32, _, 1>| {
        let normal = batch_norm(x, momentum = 0.5);
        let cost = mean(square(normal - 1.0));
        (cost, normal)
    });
    let mut parameters = Parameters::create(&cost).unwrap();
    let names = ["normal.scale", "normal.shift", "normal.mean", "normal.variance"];
    assert_eq!(parameters.names().collect::<Vec<_>>(), names);
    let mut trainer = Trainer::new(Sgd::new(0.0));
    let rows = [1.0_f32, 3.0];
    let step = trainer.step(&cost, &mut parameters, rows).unwrap();
    // -1 and 1 are 2 and 0 away from 1.
    assert!((step.cost() - 2.0).abs() < 1e-4, "{}", step.cost());
    assert_eq!(statistics(&parameters), [1.0, 1.0]);
    // Nothing moves over no rows, or in use.
    trainer.step(&cost, &mut parameters, &[] as &[f32]).unwrap();
    let outputs = infer(&cost, &parameters, rows).unwrap();
    assert_eq!(statistics(&parameters), [1.0, 1.0]);
    let normal = outputs.get::<f32>("normal").unwrap();
    assert!(normal[[0, 0]].abs() < 1e-4 && (normal[[1, 0]] - 2.0).abs() < 1e-4, "{normal}");
}

/// The cost of each of some steps on ones, most of which is what `dropout` keeps.
fn costs(seed: u64, steps: usize) -> Vec<f32> {
    let net = network!(|x: Tensor<f32, _, 50>| {
        let kept = dropout(x, 0.25);
        sum(kept * fc(x, 1, init = constant(1.0)))
    });
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.0)).seed(seed);
    let rows = vec![[1.0 / 50.0; 50]; 20];
    (0..steps).map(|_| trainer.step(&net, &mut parameters, &rows).unwrap().cost()).collect()
}

#[test]
fn each_step_drops_other_elements_and_a_seed_the_same() {
    let (first, again, other) = (costs(7, 3), costs(7, 3), costs(8, 3));
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert!(first[0] != first[1] && first[1] != first[2], "{first:?}");
    // Three quarters are kept, and scaled up to the whole.
    assert!(first.iter().all(|cost| (cost - 20.0).abs() < 2.0), "{first:?}");
}

#[test]
fn nothing_is_dropped_in_use() {
    let net = network!(|x: Tensor<f32, _, 4>| {
        let up = dropout(x, 0.5);
        let down = dropout(x, 0.25, mode = downgrade_in_infer);
        (up, down)
    });
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, [[1.0; 4]; 3]).unwrap();
    assert!(outputs.get::<f32>("up").unwrap().iter().all(|&x| x == 1.0));
    assert!(outputs.get::<f32>("down").unwrap().iter().all(|&x| x == 0.75));
}

/// Under a condition per row, a row loses the elements that it would lose among other rows.
#[test]
fn what_a_row_loses_depends_on_its_number() {
    let net = network!(|x: Tensor<f32, _, 8>, chosen: Tensor<bool, _>, w: Tensor<f32, 8>| {
        let y = if chosen { dropout(x, 0.5, mode = downgrade_in_infer) } else { x };
        let b = fc(x, 1, init = constant(0.0));
        sum(y * w) + sum(b)
    });
    let mut parameters = Parameters::create(&net).unwrap();
    let mut run = |chosen: [bool; 3]| {
        // Powers of two in each row: the sum says what was dropped.
        let images: Vec<[f32; 8]> = (0..3).map(|row| [if row == 2 { 1.0 } else { 0.0 }; 8]).collect();
        let x = ndarray::Array2::from(images);
        let w = ndarray::Array1::from_iter((0..8).map(|bit| f32::from(1_u8 << bit)));
        let batch = paddle::Batch::new(&net).unwrap();
        let batch = batch.with("x", &x).unwrap().with("chosen", &ndarray::arr1(&chosen)).unwrap();
        let batch = batch.with("w", &w).unwrap();
        Trainer::new(Sgd::new(0.0)).step(&net, &mut parameters, &batch).unwrap().cost()
    };
    let all = run([true, true, true]);
    assert_eq!(run([false, false, true]), all);
    assert_eq!(run([false, true, true]), all);
    assert_eq!(run([true, true, false]), 255.0);
    assert_ne!(all, 255.0);
}
