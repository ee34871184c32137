//! What fits a batch and what does not, and how that is said.

mod networks;

use ndarray::{Array1, Array2, Array3, array};
use networks::{LINE, network};
use paddle::{Batch, BatchError, Dynamic, Error, Network, Parameters, Sgd, Trainer, infer};

type Line = Network<Dynamic<([f32; 3], f32)>>;

/// Gives `Network` inputs of these types and one output, the first input.
fn inputs<R: paddle::Row + 'static>(inputs: &str) -> Network<Dynamic<R>> {
    let first = inputs.split(':').next().unwrap();
    network(&format!("program {{ rows _ size T block 0 ({inputs}) {{ return {first} }} }}"))
}

/// The message of a batch of rows.
fn message<R: paddle::Row + 'static>(net: &Network<Dynamic<R>>, rows: Vec<R>) -> String {
    net.batch(rows).unwrap_err().to_string()
}

/// The first output of rows, flat, and its shape.
fn echo<R: paddle::Row + 'static>(types: &str, rows: Vec<R>) -> (Vec<usize>, Vec<f32>) {
    let net = inputs(types);
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), rows).unwrap();
    let output = outputs.at::<f32>(0).unwrap();
    (output.shape().to_vec(), output.iter().copied().collect())
}

#[test]
fn columns_of_every_kind() {
    assert_eq!(echo("x: f32[_, 2]", vec![[1.0f32, 2.0], [3.0, 4.0]]), (vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]));
    // An element stands for [_, 1], and [1] for [_].
    assert_eq!(echo("x: f32[_, 1]", vec![5.0f32, 6.0]), (vec![2, 1], vec![5.0, 6.0]));
    assert_eq!(echo("x: f32[_]", vec![[5.0f32], [6.0]]), (vec![2], vec![5.0, 6.0]));
    let image = [[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(echo("x: f32[_, 2, 3]", vec![image]), (vec![1, 2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    // A size that is bound at run time.
    let rows = vec![vec![[1.0f32, 2.0]; 3], vec![[3.0, 4.0]; 3]];
    assert_eq!(echo("x: f32[_, T, 2]", rows).0, [2, 3, 2]);
    // An input without rows.
    let rows = vec![([7.0f32, 8.0], 1.0f32), ([7.0, 8.0], 2.0)];
    assert_eq!(echo("w: f32[2], x: f32[_]", rows), (vec![2], vec![7.0, 8.0]));
    assert_eq!(echo("w: f32[], x: f32[_]", vec![(f32::NAN, 1.0f32); 2]).0, [0usize; 0]);
}

#[test]
fn no_rows() {
    assert_eq!(echo("x: f32[_, 2]", Vec::<[f32; 2]>::new()), (vec![0, 2], vec![]));
    // Nothing tells the value of an input without rows, or a size.
    let net = inputs::<(f32, f32)>("w: f32[], x: f32[_]");
    let error = net.batch(Vec::<(f32, f32)>::new()).unwrap().rows().unwrap_err();
    assert_eq!(error.to_string(), "the batch has no value for input `w`, which is f32[]");
    let net = inputs::<Vec<f32>>("x: f32[_, T]");
    let error = net.batch(Vec::<Vec<f32>>::new()).unwrap().rows().unwrap_err();
    assert_eq!(error.to_string(), "the batch has no value for input `x`, which is f32[_, T]");
}

#[test]
fn rows_of_the_wrong_shape() {
    let net = inputs::<Vec<f32>>("x: f32[_, 3]");
    assert_eq!(
        message(&net, vec![vec![0.0; 3], vec![0.0; 2]]),
        "input `x`, row 1: found [2], expected one row of f32[_, 3] (`_` left out)"
    );
    let net = inputs::<[[f32; 2]; 3]>("x: f32[_, 3]");
    assert!(message(&net, vec![[[0.0; 2]; 3]]).contains("found [3, 2]"));
    let net = inputs::<f32>("x: f32[_, 3]");
    assert!(message(&net, vec![0.0]).contains("found [], expected one row of f32[_, 3]"));
    let net = inputs::<Vec<Vec<f32>>>("x: f32[_, 2, 2]");
    assert!(net.batch(vec![vec![vec![0.0; 2], vec![0.0; 1]]]).is_err());
}

#[test]
fn rows_of_the_wrong_type() {
    let net = inputs::<f64>("x: f32[_]");
    assert_eq!(message(&net, vec![0.0]), "input `x`: found elements of type f64, expected f32");
    let net = inputs::<[bool; 2]>("x: i64[_, 2]");
    assert_eq!(message(&net, vec![[true; 2]]), "input `x`: found elements of type bool, expected i64");
}

#[test]
fn rows_with_too_few_or_too_many_columns() {
    let text = "x: f32[_], y: f32[_]";
    assert_eq!(
        message(&inputs::<f32>(text), vec![0.0]),
        "a row has 1 columns, but the network has 2 inputs (`x`, `y`)"
    );
    assert_eq!(
        message(&inputs::<(f32, f32, f32)>(text), vec![(0.0, 0.0, 0.0)]),
        "a row has 3 columns, but the network has 2 inputs (`x`, `y`)"
    );
}

#[test]
fn ragged_rows() {
    let net = inputs::<Vec<f32>>("x: f32[_, T]");
    assert_eq!(
        message(&net, vec![vec![0.0; 3], vec![0.0; 3], vec![0.0; 4]]),
        "input `x`: row 2 is [4], but row 0 is [3]; all rows of one batch have the same sizes"
    );
}

#[test]
fn one_size_given_twice() {
    let net = inputs::<(Vec<f32>, Vec<f32>)>("x: f32[_, T], y: f32[_, T]");
    let parameters = Parameters::create(&net).unwrap();
    let error = infer(&net, &parameters, [(vec![0.0; 3], vec![0.0; 4])]).unwrap_err();
    assert_eq!(error.to_string(), "input `y` takes f32[_, T], but [1, 4] was fed; `T` is 3 by another input");
}

#[test]
fn a_value_for_all_rows_that_differs() {
    let net = inputs::<(f32, f32)>("x: f32[_], rate: f32[]");
    let error = net.batch([(1.0, 0.5), (2.0, 0.5), (3.0, 0.25)]).unwrap_err();
    assert!(matches!(error, Error::Batch(BatchError::RowsDiffer { first: 0, second: 2, .. })));
    assert_eq!(
        error.to_string(),
        "input `rate` has one value for all rows of a batch, but rows 0 and 2 differ"
    );
}

#[test]
fn arrays_of_any_layout() {
    let net = network::<()>("program { rows _ block 0 (x: f32[_, 2, 3]) { return x } }");
    let parameters = Parameters::create(&net).unwrap();
    let x = Array3::from_shape_fn((4, 2, 3), |(i, j, k)| (100 * i + 10 * j + k) as f32);
    let mut turned = x.clone().reversed_axes();
    turned.swap_axes(0, 2);
    let every_second = x.slice(ndarray::s![..;2, .., ..]);
    for (array, rows) in [(x.view(), 4), (turned.view(), 4), (every_second, 2)] {
        let batch = Batch::new(&net).unwrap().with("x", &array).unwrap();
        assert_eq!(batch.rows(), Ok(rows));
        let outputs = infer(&net, &parameters, &batch).unwrap();
        assert_eq!(outputs.at::<f32>(0).unwrap(), array.into_dyn());
    }
}

#[test]
fn arrays_that_do_not_fit() {
    let net: Line = network(LINE);
    let mut batch = Batch::new(&net).unwrap();
    let mut message = |input: &str, array: &Array2<f32>| batch.set(input, array).unwrap_err().to_string();
    assert_eq!(message("z", &array![[0.0]]), "the network has no input `z`; its inputs are `x`, `y`");
    assert_eq!(message("x", &array![[0.0]]), "input `x`: found [1, 1], expected f32[_, 3]");
    let error = batch.set("x", &Array2::<f64>::zeros((1, 3))).unwrap_err();
    assert_eq!(error.to_string(), "input `x`: found elements of type f64, expected f32");
    let error = batch.set("x", &array![0.0f32, 0.0, 0.0]).unwrap_err();
    assert_eq!(error.to_string(), "input `x`: found [3], expected f32[_, 3]");
}

#[test]
fn arrays_that_are_missing_or_disagree() {
    let net: Line = network(LINE);
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let mut batch = Batch::new(&net).unwrap().with("x", &Array2::<f32>::zeros((5, 3))).unwrap();
    let error = trainer.step(&net, &mut parameters, &batch).unwrap_err();
    assert_eq!(error.to_string(), "the batch has no value for input `y`, which is f32[_, 1]");
    batch.set("y", &Array2::<f32>::zeros((4, 1))).unwrap();
    let error = trainer.step(&net, &mut parameters, &batch).unwrap_err();
    assert_eq!(error.to_string(), "input `y` has 4 rows, but input `x` has 5");
    // One number per row, without the dimension of 1.
    batch.set("y", &Array1::<f32>::zeros(5)).unwrap();
    assert_eq!(trainer.step(&net, &mut parameters, &batch).unwrap().rows(), 5);
    // A failed `set` leaves nothing behind.
    assert!(batch.set("y", &Array2::<f32>::zeros((5, 2))).is_err());
    assert!(batch.rows().is_err());
}

#[test]
fn a_batch_of_another_network() {
    let (net, other): (Line, Line) = (network(LINE), network(LINE));
    let mut parameters = Parameters::create(&net).unwrap();
    let batch = other.batch([([0.0; 3], 0.0)]).unwrap();
    let error = Trainer::new(Sgd::new(0.1)).step(&net, &mut parameters, &batch).unwrap_err();
    assert!(matches!(error, Error::Batch(BatchError::OtherNetwork { .. })), "{error}");
}

#[test]
fn a_batch_is_filled_again() {
    let net: Line = network(LINE);
    let mut batch = net.batch([([1.0; 3], 0.0); 4]).unwrap();
    batch.fill([([2.0; 3], 0.0); 2]).unwrap();
    assert_eq!(batch.rows(), Ok(2));
    let parameters = Parameters::create(&net).unwrap();
    assert_eq!(infer(&net, &parameters, &batch).unwrap().at::<f32>(1).unwrap().sum(), 0.0);
}
