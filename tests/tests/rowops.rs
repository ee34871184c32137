//! Layers that look up, join, turn, reduce and compare, in networks.

use paddle::{Network, Parameters, Sgd, Spec, Trainer, infer, network};

/// What words mean, learnt from which of two sequences is nearer to a third.
#[paddle::attribute::network]
mod ranking {
    const VOCABULARY: usize = 20;

    /// One branch. Every call shares the parameters that it names.
    fn semantic(words: Seq<i64>) -> Tensor<f32, _, 8> {
        let word = embedding(words, [VOCABULARY, 8], param = "embedding");
        softmax(fc(sequence_pool(word, average), 8, param = "semantic"))
    }

    /// `a` is to be nearer to `q` than `b` is.
    pub fn cost(a: Seq<i64>, q: Seq<i64>, b: Seq<i64>) -> Tensor<f32> {
        let (near, far) = (
            cross_entropy(semantic(a), semantic(q), soft_label = true),
            cross_entropy(semantic(b), semantic(q), soft_label = true),
        );
        mean(rank_loss(1.0, far, near))
    }

    pub fn vector(words: Seq<i64>) -> Tensor<f32, _, 8> {
        semantic(words)
    }
}

#[test]
fn a_ranking_model_learns() {
    let (cost, vector) = (ranking::cost(), ranking::vector());
    let mut parameters = Parameters::create((&cost, &vector)).unwrap();
    let names: Vec<&str> = parameters.names().collect();
    assert_eq!(names, ["embedding.w", "semantic.w", "semantic.b"]);
    // Even words belong together, and so do odd ones.
    let words = |first: i64, count: i64| (0..count).map(|i| (first + 2 * i) % 20).collect::<Vec<_>>();
    let row = |i: i64| ranking::cost::Row { a: words(i, 3), q: words(i + 4, 2 + i % 3), b: words(i + 1, 4) };
    let rows: Vec<_> = (0..20).map(row).collect();
    let mut trainer = Trainer::new(Sgd::new(2.0));
    let mut step = || trainer.step(&cost, &mut parameters, &rows).unwrap().cost();
    let (first, last) = (step(), (0..150).map(|_| step()).last().unwrap());
    assert!((first - 0.69).abs() < 0.05 && last < 0.4, "{first} to {last}");
    let outputs = infer(&vector, &parameters, [vec![2, 4], vec![6], vec![3]]).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().shape(), [3, 8]);
}

/// The only output, on these rows.
fn output<S: Spec, const N: usize>(net: &Network<S>, rows: [S::Row; N]) -> Vec<f32>
where
    S::Row: Clone,
{
    let parameters = Parameters::create(net).unwrap();
    let outputs = infer(net, &parameters, rows.to_vec()).unwrap();
    outputs.at::<f32>(0).unwrap().iter().copied().collect()
}

fn shape<S: Spec>(net: &Network<S>) -> String {
    let program = net.program().unwrap();
    program.show(program.ty(program.outputs()[0]))
}

#[test]
fn values_in_other_shapes() {
    let net = network!(|x: Tensor<f32, _, 2, 3>, y: Tensor<f32, _, 2, 1>| {
        let wide = concat([x, y], axis = 2);
        let turned = transpose(wide, [0, 2, 1]);
        reshape(slice(turned, [1, -1], [1, 0], [4, 1]), [-1])
    });
    assert_eq!(shape(&net), "f32[_, 3]");
    let x = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(output(&net, [(x, [[7.0], [8.0]])]), [2.0, 3.0, 7.0]);
}

#[test]
fn reductions_along_axes() {
    let net = network!(|x: Tensor<f32, _, 2, 3>| {
        let (mean, sum) = (mean(x, axis = 2), sum(x, axis = -1));
        let (max, min) = (max(x, axis = [2], keep_dim = true), min(x, axis = [1, 2], keep_dim = true));
        concat([mean, sum, reshape(max, [2]), reshape(min, [1])])
    });
    let x = [[1.0, 2.0, 6.0], [4.0, 5.0, 0.0]];
    assert_eq!(output(&net, [x]), [3.0, 3.0, 9.0, 9.0, 6.0, 5.0, 0.0]);
}

#[test]
fn embeddings_keep_the_shape_of_ids() {
    let flat = network!(|ids: Tensor<i64, _>| embedding(ids, [5, 3], init = constant(2.0)));
    assert_eq!(shape(&flat), "f32[_, 3]");
    let column =
        network!(|ids: Tensor<i64, _, 1>| embedding(ids, [5, 3], padding_idx = 4, init = constant(2.0)));
    assert_eq!(shape(&column), "f32[_, 1, 3]");
    assert_eq!(output(&column, [3, 4]), [2.0, 2.0, 2.0, 0.0, 0.0, 0.0]);
    let parameters = Parameters::create(&flat).unwrap();
    let error = infer(&flat, &parameters, [1, 5]).unwrap_err().to_string();
    assert!(error.contains("id number 1 is 5, but the table has 5 entries"), "{error}");
    assert!(error.contains("tests/rowops.rs"), "{error}");
}

#[test]
fn metrics_and_losses_of_classes() {
    let net = network!(|x: Tensor<f32, _, 3>, label: Tensor<i64, _, 1>| {
        let (first, second) = (accuracy(x, label), accuracy(x, label, k = 2));
        let none = sum(softmax_with_cross_entropy(x, label, ignore_index = 2)) * 0.0;
        (first, second, none)
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = [([0.1, 0.7, 0.2], 1), ([0.5, 0.4, 0.1], 1), ([0.5, 0.3, 0.2], 2), ([0.1, 0.2, 0.7], 2)];
    let outputs = infer(&net, &parameters, rows).unwrap();
    let found = [0, 1, 2].map(|k| outputs.at::<f32>(k).unwrap().first().copied().unwrap());
    assert_eq!(found, [0.5, 0.75, 0.0]);
    let empty: [([f32; 3], i64); 0] = [];
    assert_eq!(infer(&net, &parameters, empty).unwrap().at::<f32>(0).unwrap().first(), Some(&0.0));
}

#[test]
fn soft_labels() {
    let net = network!(|x: Tensor<f32, _, 2>, label: Tensor<f32, _, 2>| {
        concat([
            softmax_with_cross_entropy(x, label, soft_label = true),
            cross_entropy(softmax(x), label, soft_label = true),
        ])
    });
    let found = output(&net, [([0.0, 0.0], [0.25, 0.75])]);
    assert!(found.iter().all(|loss| (loss - std::f32::consts::LN_2).abs() < 1e-6), "{found:?}");
}
