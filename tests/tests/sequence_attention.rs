//! Attention between sequences of any lengths, beside attention over rows of equally many places.

use paddle::testing::check_gradients;
use paddle::{Parameters, infer, network};

type Tokens = Vec<[f32; 4]>;

/// So many tokens.
fn tokens(count: usize, from: usize) -> Tokens {
    let number = |i: usize| ((i * 7919 + i * i * 13) % 401) as f32 / 200.0 - 1.0;
    (0..count).map(|token| std::array::from_fn(|k| number(from + 4 * token + k))).collect()
}

#[test]
fn it_gives_what_padded_attention_gives_each_row_by_itself() {
    let ragged = network!(|x: Seq<Tensor<f32, 4>>, y: Seq<Tensor<f32, 4>>| {
        (
            sequence_attention(x, y, y, 2, param = "a"),
            sequence_attention(x, x, x, 2, causal = true, param = "a"),
        )
    });
    let padded = network!(|x: Tensor<f32, _, T, 4>, y: Tensor<f32, _, S, 4>| {
        (
            multi_head_attention(x, y, y, 2, param = "a"),
            multi_head_attention(x, x, x, 2, causal = true, param = "a"),
        )
    });
    let parameters = Parameters::create((&ragged, &padded)).unwrap();
    let rows = [(3, 5), (1, 2), (0, 1), (7, 7), (2, 1)].map(|(x, y)| (tokens(x, x), tokens(y, 50 * y)));
    let all = infer(&ragged, &parameters, rows.to_vec()).unwrap();
    for output in 0..2 {
        let (found, ends) = (all.at::<f32>(output).unwrap(), all.offsets(output).unwrap().to_vec());
        for (row, (x, y)) in rows.iter().enumerate().filter(|(_, (x, _))| !x.is_empty()) {
            let alone = infer(&padded, &parameters, [padded.row(x.clone(), y.clone())]).unwrap();
            let alone = alone.at::<f32>(output).unwrap();
            let found = found.slice(ndarray::s![ends[row]..ends[row + 1], ..]);
            assert_eq!(found.len(), alone.len());
            let near = found.iter().zip(alone.iter()).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(near, "row {row}: {found} is not {alone}");
        }
    }
}

#[test]
fn it_has_the_gradients_that_differences_give() {
    let net = network!(|x: Seq<Tensor<f32, 4>>, y: Seq<Tensor<f32, 4>>| {
        let seen = sequence_attention(x, y, y, 2);
        let own = sequence_attention(seen, x, x, 1, causal = true);
        mean(square(sequence_pool(own, sum)))
    });
    let rows = [(3, 2), (0, 1), (2, 4)].map(|(x, y)| (tokens(x, x), tokens(y, 50 * y)));
    check_gradients(&net, &rows).unwrap();
}

#[test]
fn pairs_may_be_any_positions() {
    // Each token with the one before it and the one behind it, of tokens that only some rows have.
    let net = network!(|x: Seq<Tensor<f32, 4>>, chosen: Tensor<bool, _>| {
        let x = x * parameter(4, init = constant(1.0));
        let near = if chosen {
            let place = sequence_positions(x);
            let first = maximum(place - 1, 0);
            let last = minimum(place + 1, sequence_expand(x.len(), x) - 1);
            let pairs = sequence_range(last - first + 1);
            let pairs = pairs + sequence_expand(first, pairs);
            let fits = sequence_products(x, x, pairs);
            sequence_pool(sequence_sums(fits, x, pairs), sum)
        } else {
            sequence_pool(x, sum)
        };
        (mean(square(near)), near)
    });
    let rows = [(3, true), (2, false), (1, true)].map(|(count, chosen)| (tokens(count, count), chosen));
    let near = infer(&net, &Parameters::create(&net).unwrap(), rows.to_vec()).unwrap();
    let near = near.at::<f32>(1).unwrap();
    let mut expected = [0.0; 4];
    let x = &rows[0].0;
    for (i, token) in x.iter().enumerate() {
        for other in &x[i.saturating_sub(1)..(i + 2).min(3)] {
            let fit: f32 = token.iter().zip(other).map(|(a, b)| a * b).sum();
            (0..4).for_each(|k| expected[k] += fit * other[k]);
        }
    }
    assert!((0..4).all(|k| (near[[0, k]] - expected[k]).abs() < 1e-5), "{near} {expected:?}");
    check_gradients(&net, &rows).unwrap();
}

#[test]
fn a_position_that_there_is_not_is_an_error_with_its_place() {
    let net = network!(|x: Seq<Tensor<f32, 4>>, y: Seq<Tensor<f32, 4>>| sequence_attention(
        x,
        y,
        y,
        2,
        causal = true
    ));
    let rows = [(1, 1), (3, 2)].map(|(x, y)| (tokens(x, x), tokens(y, y)));
    let error = infer(&net, &Parameters::create(&net).unwrap(), rows.to_vec()).unwrap_err().to_string();
    assert!(error.contains("sequence_attention") && error.contains("sequence 1"), "{error}");
}
