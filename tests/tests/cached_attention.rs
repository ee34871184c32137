//! `cached_attention`: step by step what the causal `multi_head_attention` gives at once, of texts of any length.

use ndarray::{Array3, ArrayD, Axis, s};
use paddle::testing::check_gradients;
use paddle::{Batch, Network, Parameters, Spec, infer, network};

const PLACES: usize = 5;
const SIZE: usize = 4;

fn texts() -> Array3<f32> {
    Array3::from_shape_fn((3, PLACES, SIZE), |(n, t, d)| {
        ((n * 71 + t * 37 + d * 13) % 29) as f32 / 14.5 - 1.0
    })
}

/// The first result, of parameters that are no multiples of each other.
fn result<S: Spec>(net: &Network<S>, batch: Batch<S>) -> ArrayD<f32> {
    let mut parameters = Parameters::create(net).unwrap();
    let names: Vec<String> = parameters.names().map(str::to_string).collect();
    let layers = ["query", "key", "value", "out"];
    let expected: Vec<String> =
        layers.iter().flat_map(|layer| ["w", "b"].map(|role| format!("attend.{layer}.{role}"))).collect();
    assert_eq!(names, expected);
    for (seed, name) in names.iter().enumerate() {
        let mut value = parameters.get::<f32>(name).unwrap().to_owned();
        value
            .iter_mut()
            .enumerate()
            .for_each(|(at, value)| *value = ((at * 17 + seed * 5) % 23) as f32 / 12.0 - 0.9);
        parameters.set(name, &value).unwrap();
    }
    infer(net, &parameters, batch).unwrap().at::<f32>(0).unwrap().to_owned()
}

fn assert_near(found: &ArrayD<f32>, expected: &ArrayD<f32>) {
    assert_eq!(found.shape(), expected.shape());
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found} is not {expected}");
}

/// All places of whole texts at once.
fn at_once(texts: &Array3<f32>) -> ArrayD<f32> {
    let net =
        network!(|x: Tensor<f32, _, T, 4>| multi_head_attention(x, x, x, 2, causal = true, param = "attend"));
    let batch = Batch::new(&net).unwrap().with("x", texts).unwrap();
    result(&net, batch)
}

/// All rows are at one place.
#[test]
fn of_one_place_for_all_rows() {
    let net = network!(|x: Tensor<f32, _, 5, 4>| {
        let (mut keys, mut values, mut all) = (x * 0.0, x * 0.0, x * 0.0);
        let mut place = 0;
        while place < 5 {
            let is_here = unsqueeze(arange(5) == place, 1);
            let here = sum(select(is_here, x, 0.0), axis = 1);
            let (seen, k, v) = cached_attention(here, keys, values, place, 2, param = "attend");
            (keys, values) = (k, v);
            all = select(is_here, unsqueeze(seen, 1), all);
            place += 1;
        }
        all
    });
    let batch = Batch::new(&net).unwrap().with("x", &texts()).unwrap();
    assert_near(&result(&net, batch), &at_once(&texts()));
}

/// Rows are at places of their own: each text leaves the loop when it has ended, and each is what it is alone.
#[test]
fn of_texts_of_different_lengths() {
    let net = network!(|x: Seq<Tensor<f32, 4>>| {
        let (mut keys, mut values) = (zeros([5, 4]), zeros([5, 4]));
        let mut place = 0;
        let all = for here in x {
            let (seen, k, v) = cached_attention(here, keys, values, place, 2, param = "attend");
            (keys, values) = (k, v);
            place += 1;
            seen
        };
        all
    });
    let lengths = [3, 5, 1];
    let all = texts();
    let parts: Vec<Array3<f32>> =
        (0..3).map(|row| all.slice(s![row..row + 1, ..lengths[row], ..]).to_owned()).collect();
    let flat = |arrays: Vec<ArrayD<f32>>| {
        let tokens: Vec<_> = arrays.iter().map(|array| array.index_axis(Axis(0), 0)).collect();
        ndarray::concatenate(Axis(0), &tokens).unwrap()
    };
    let tokens = flat(parts.iter().map(|part| part.clone().into_dyn()).collect());
    let mut batch = Batch::new(&net).unwrap();
    batch.set_sequences("x", &tokens, &[0, 3, 8, 9]).unwrap();
    assert_near(&result(&net, batch), &flat(parts.iter().map(at_once).collect()));
}

#[test]
fn gradients_are_those_of_differences() {
    let net = network!(|x: Tensor<f32, _, 4>, kept: Tensor<f32, _, 3, 4>, place: Tensor<i64, _>| {
        let (seen, keys, values) = cached_attention(x, kept, 0.5 * kept, place, 2, param = "attend");
        mean(square(seen)) + mean(square(keys - values))
    });
    let kept = [[0.5, -0.5, 1.0, 0.25], [0.0, 0.75, -1.0, 0.5], [1.0, 0.0, 0.25, -0.75]];
    let rows = [([1.0, -1.0, 0.5, 0.25], kept, 1), ([0.25, 0.5, -0.5, 1.0], kept, 2)];
    check_gradients(&net, rows).unwrap();
}
