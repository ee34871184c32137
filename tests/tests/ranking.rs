//! The ranking program that the project began with, whose topology compares two cross entropies, and the sub-network that is
//! used by itself.

use paddle::attribute::network;
use paddle::{Adam, Error, Outputs, Parameters, Trainer, infer, infer_with};

#[network]
mod ranking {
    const VOCABULARY: usize = 30;

    fn semantic(words: Seq<i64>) -> Tensor<f32, _, 6> {
        let word = embedding(words, [VOCABULARY, 6], param = "embedding");
        fc(sequence_pool(word, average), 6, act = softmax, param = "semantic")
    }

    /// Whether `a` is nearer to `q` than `b` is: that can be run, though not trained.
    pub fn nearer(a: Seq<i64>, q: Seq<i64>, b: Seq<i64>) -> Tensor<bool, _, 1> {
        let (a, q, b) = (semantic(a), semantic(q), semantic(b));
        cross_entropy(a, q, soft_label = true) < cross_entropy(b, q, soft_label = true)
    }

    /// `a` is to be nearer to `q` than `b` is.
    pub fn cost(a: Seq<i64>, q: Seq<i64>, b: Seq<i64>) -> Tensor<f32> {
        let (a, q, b) = (tap(semantic(a), "a"), tap(semantic(q), "q"), tap(semantic(b), "b"));
        let near = cross_entropy(a, q, soft_label = true);
        let far = cross_entropy(b, q, soft_label = true);
        mean(rank_loss(1.0, far, near))
    }

    /// The branch by itself.
    pub fn vector(words: Seq<i64>) -> Tensor<f32, _, 6> {
        semantic(words)
    }

    /// Parameters of no other network.
    pub fn apart(x: Tensor<f32, _, 2>) -> Tensor<f32, _, 3> {
        fc(x, 3, param = "apart")
    }
}

/// Texts `a`, `q` and `b`.
fn texts() -> [[Vec<i64>; 3]; 4] {
    [
        [vec![1, 2, 3], vec![4], vec![5, 6]],
        [vec![7], vec![8, 9, 7], vec![10, 11]],
        [vec![12, 13], vec![14, 12], vec![15, 29, 0, 16]],
        [vec![], vec![17, 17], vec![18]],
    ]
}

fn bits(outputs: &Outputs, name: &str) -> Vec<u32> {
    outputs.get::<f32>(name).unwrap().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn the_topology_that_compares_builds_and_infers() {
    let net = ranking::nearer();
    let text = net.program().unwrap().to_string();
    let count = |operator: &str| text.matches(&format!(" = {operator}(")).count();
    assert_eq!(["less_than", "cross_entropy", "lookup_table_v2"].map(count), [1, 2, 3], "{text}");
    // The parameters of three branches are one set of them.
    let parameters = Parameters::create(&net).unwrap();
    assert_eq!(parameters.names().collect::<Vec<_>>(), ["embedding.w", "semantic.w", "semantic.b"]);
    let rows = texts().map(|[a, q, b]| net.row(a, q, b));
    let outputs = infer(&net, &parameters, &rows).unwrap();
    let nearer: Vec<bool> = outputs.at(0).unwrap().iter().copied().collect();

    // What the branches say, compared by hand.
    let vectors = |k: usize| {
        let rows = texts().map(|texts| ranking::vector().row(texts[k].clone()));
        infer(&ranking::vector(), &parameters, rows).unwrap().at::<f32>(0).unwrap().into_owned()
    };
    let [a, q, b] = [0, 1, 2].map(vectors);
    let entropy = |x: &ndarray::ArrayD<f32>| {
        (q.clone() * x.mapv(|x| -f64::from(x).ln() as f32)).sum_axis(ndarray::Axis(1))
    };
    let expected: Vec<bool> = entropy(&a).iter().zip(entropy(&b)).map(|(near, far)| *near < far).collect();
    assert_eq!(nearer, expected);
    assert!(nearer.contains(&true) && nearer.contains(&false), "{nearer:?}");
}

/// The set has more than each network needs; after a training, the branch by itself gives the bits that it has within the
/// trained network.
#[test]
fn the_branch_is_used_by_itself_after_the_training() {
    let (cost, vector, apart) = (ranking::cost(), ranking::vector(), ranking::apart());
    let mut parameters = Parameters::create((&cost, &apart)).unwrap();
    let mut trainer = Trainer::new(Adam::new(0.05));
    let rows = texts().map(|[a, q, b]| cost.row(a, q, b));
    let before = infer(&apart, &parameters, [[0.5, -1.0]]).unwrap();
    let mut step = || trainer.step(&cost, &mut parameters, &rows).unwrap().cost();
    let first = step();
    let last = (0..200).fold(first, |_, _| step());
    assert!(last < 0.5 * first, "{first} to {last}");

    let outputs = infer_with(&cost, &parameters, &rows, &["q", "b", "a"]).unwrap();
    for (k, name) in ["a", "q", "b"].into_iter().enumerate() {
        let rows = texts().map(|texts| vector.row(texts[k].clone()));
        let alone = infer(&vector, &parameters, &rows).unwrap();
        assert_eq!(bits(&alone, alone.names().next().unwrap()), bits(&outputs, name), "{name}");
    }
    // Of another network, nothing has moved; and the one that only compares sees what was learned.
    let after = infer(&apart, &parameters, [[0.5, -1.0]]).unwrap();
    assert_eq!(before.at::<f32>(0).unwrap(), after.at::<f32>(0).unwrap());
    let nearer =
        infer(&ranking::nearer(), &parameters, texts().map(|[a, q, b]| ranking::nearer().row(a, q, b)));
    assert!(nearer.unwrap().at::<bool>(0).unwrap().iter().all(|&nearer| nearer));
}

#[test]
fn parameters_that_lack_one_are_refused() {
    let parameters = Parameters::create(&ranking::apart()).unwrap();
    let error = infer(&ranking::vector(), &parameters, [ranking::vector().row(vec![1])]).unwrap_err();
    assert!(matches!(error, Error::Plan(_) | Error::Storage(_)), "{error:?}");
    assert!(error.to_string().starts_with("the parameters have no `embedding.w`"), "{error}");
}
